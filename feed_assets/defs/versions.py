"""Versions of the code behind each asset, made from the code: whoever changes how feeds are read need not remember a number.

Comments, docstrings and layout do not count. The UI then marks what older code has built as out of date, and a replay renews it.
"""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterable
from pathlib import Path

_DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
PACKAGE = Path(__file__).resolve().parents[1]

# A parser that changed is the business of `deduped_articles`, which is built anew from stored responses; `raw_items` would need requests.
CODE: dict[str, tuple[str, ...]] = {
    "raw_items": (),
    "deduped_articles": (
        "parse/*.py",
        "decide/identity.py",
        "decide/dedup.py",
        "decide/canonical.py",
        "decide/headlines.py",
        "decide/wording.py",
        "decide/domain.py",
        "headlines.py",
    ),
    "feed_stats": (),
    "cached_feed_xml": ("publish/*.py",),
    "headline_groups": ("decide/grouping.py", "decide/wording.py"),
}


def code_version(asset: str, package: Path = PACKAGE) -> str:
    """The same for the same code; `1` for an asset whose stored data no code builds anew."""
    files = sorted(path for pattern in CODE[asset] for path in package.glob(pattern))
    return fingerprint(path.read_text("utf-8") for path in files) if files else "1"


def fingerprint(sources: Iterable[str]) -> str:
    digest = hashlib.sha256()
    for source in sources:
        tree = ast.parse(source)
        for node in ast.walk(tree):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and ast.get_docstring(
                node, clean=False
            ):
                node.body = node.body[1:]
        digest.update(ast.dump(tree).encode("utf-8", "surrogatepass"))
    return digest.hexdigest()[:12]
