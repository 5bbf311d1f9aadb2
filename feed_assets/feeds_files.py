"""Lists of feeds as files: OPML, which every reader knows, and YAML with the columns of the `feeds` table. Knows nothing of a database.

A group is a path: `news/world` is the folder "world" in the folder "news"; a slash inside a folder's name is written twice.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import yaml

from feed_assets.errors import UsageError
from feed_assets.model import Feed
from feed_assets.urls import domain_of, without_credentials

_OWN = "https://github.com/feed-assets/feed_assets"  # the namespace of what OPML has no attribute for
_NOT_IN_FILES = ("feed_id", "url", "created_at", "updated_at", "deleted_at")
_USUAL = {each.name: each.default for each in fields(Feed) if each.default is not MISSING and each.name not in _NOT_IN_FILES}
_BETWEEN_FOLDERS = re.compile(r"(?<!/)/(?!/)")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")

Row = Mapping[str, Any]


def is_opml(path: Path) -> bool:
    """Whether a file is XML, by how it begins."""
    try:
        with path.open("rb") as file:
            return _is_xml(file.read(100))
    except OSError:
        return False


def read_feeds_file(path: Path) -> list[Row]:
    """The rows of a feeds file: YAML, or OPML."""
    try:
        content = path.read_bytes()
        if _is_xml(content[:100]):
            return read_opml(content)
        document = yaml.load(content.decode("utf-8-sig"), _YamlLoader)
    except (OSError, ValueError, LookupError, yaml.YAMLError, ElementTree.ParseError) as error:
        raise UsageError(f"cannot read {path}: {' '.join(str(error).split())}") from None
    except RecursionError:
        raise UsageError(f"cannot read {path}: it is nested too deeply") from None
    rows = document.get("feeds") if isinstance(document, dict) else None
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise UsageError(f"{path} should have `feeds:` with a list of `id` and `url`")
    return rows


def read_opml(content: bytes) -> list[Row]:
    """The feeds of an OPML list, 1.0 or 2.0; the outlines around them are their groups."""
    rows: list[Row] = []
    todo = [(outline, "") for outline in reversed(ElementTree.fromstring(content).findall("./body/outline"))]
    while todo:
        outline, group = todo.pop()
        named = {name.lower(): " ".join(_CONTROL.sub(" ", value).split()) for name, value in outline.attrib.items()}
        name = named.get("title") or named.get("text") or ""
        if "xmlurl" in named:
            rows.append(_opml_row(named, name, group))
        inner = group if "xmlurl" in named or not name else _joined(group, name)
        todo += [(each, inner) for each in reversed(outline.findall("outline"))]
    if not rows:
        raise UsageError("there is no feed in this file; an OPML list has <outline xmlUrl=...> in its <body>")
    return rows


def to_opml(feeds: Iterable[Feed], *, private: bool = True) -> str:
    """The feeds as OPML 2.0, in their order, with their groups. What is only ours, passwords too, goes only into a private list."""
    ElementTree.register_namespace("feed_assets", _OWN)
    root = ElementTree.Element("opml", version="2.0")
    ElementTree.SubElement(ElementTree.SubElement(root, "head"), "title").text = "Feeds of feed_assets"
    outlines: dict[tuple[str, ...], ElementTree.Element] = {(): ElementTree.SubElement(root, "body")}

    def folder(path: tuple[str, ...]) -> ElementTree.Element:
        if path not in outlines:
            outlines[path] = ElementTree.SubElement(folder(path[:-1]), "outline", text=path[-1], title=path[-1])
        return outlines[path]

    for feed in feeds:
        about = {"type": "rss", "text": feed.source_name, "title": feed.source_name}
        about["xmlUrl"] = feed.url if private else without_credentials(feed.url)
        if private:
            about[f"{{{_OWN}}}id"] = feed.feed_id
            about |= {f"{{{_OWN}}}{name}": _spelled(value) for name, value in _unusual(feed).items() if name != "feed_group"}
        ElementTree.SubElement(folder(tuple(folders(feed.feed_group))), "outline", about)
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=False).join(('<?xml version="1.0" encoding="UTF-8"?>\n', "\n"))


def to_yaml(feeds: Iterable[Feed]) -> str:
    """The feeds with every column that is not as usual: importing it anywhere gives the same feeds."""
    rows = [{"id": feed.feed_id, "url": feed.url, "source_name": feed.source_name} | _unusual(feed) for feed in feeds]
    return yaml.safe_dump({"feeds": rows}, sort_keys=False, allow_unicode=True, width=1000)


def _is_xml(beginning: bytes) -> bool:
    return beginning.replace(b"\x00", b"").lstrip(b"\xef\xbb\xbf\xff\xfe \t\r\n").startswith(b"<")


def folders(group: str | None) -> list[str]:
    """The names of the folders that a group is in, the outermost first."""
    return [name.replace("//", "/") for name in _BETWEEN_FOLDERS.split(group or "") if name]


def _opml_row(named: Mapping[str, str], name: str, group: str) -> Row:
    category = named.get("category", "").split(",")[0].strip().strip("/")
    row: dict[str, Any] = {"url": named["xmlurl"]}
    options = {"source_name": name, "feed_group": group or category}
    row |= {column: value for column, value in options.items() if value}
    own = {key.rpartition("}")[2]: value for key, value in named.items() if key.startswith(f"{{{_OWN}}}")}
    return row | {column: _read(value) for column, value in own.items()}


def _joined(group: str, name: str) -> str:
    name = re.sub("/+", "//", name.strip("/"))
    return f"{group}/{name}" if group and name else group or name


def _unusual(feed: Feed) -> dict[str, Any]:
    """The columns in which a feed differs from one that was added with nothing but its URL."""
    usual = _USUAL | {"root_domain": domain_of(feed.url)}
    return {name: value for name in usual if (value := getattr(feed, name)) != usual[name]}


def _spelled(value: Any) -> str:
    return str(yaml.safe_dump(value, default_flow_style=True, allow_unicode=True, width=1000)).removesuffix("\n").removesuffix("\n...")


def _read(value: str) -> Any:
    try:
        return yaml.load(value, _YamlLoader)
    except yaml.YAMLError:
        return value


class _YamlLoader(yaml.SafeLoader):
    """Dates stay the texts that they are: no column of a feed is a date, and an id may look like one."""


_YamlLoader.yaml_implicit_resolvers = {
    start: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
    for start, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
