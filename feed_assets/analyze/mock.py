"""An analyzer that understands nothing: the same article always gets the same analysis. To see everything work without a model."""

from __future__ import annotations

import hashlib
import re
import time

from feed_assets.analyze.analyzer import ArticleText
from feed_assets.analyze.answer import plain
from feed_assets.analyze.prompts import Prompt
from feed_assets.model import Analysis

_SENTENCE = re.compile(r"[^.!?]{3,300}[.!?]")


class MockAnalyzer:
    name = "mock"

    def __init__(self, prompt: Prompt, latency: float = 0.02) -> None:
        self.prompt_version = prompt.version
        self._latency = latency  # seconds that an answer takes

    def analyze(self, article: ArticleText, *, complaint: str | None = None) -> Analysis:
        time.sleep(self._latency)
        said = "\0".join((self.prompt_version, article.headline, article.source, article.text))
        number = int.from_bytes(hashlib.sha256(said.encode("utf-8", "surrogatepass")).digest()[:4], "big")
        sentences = [plain(each, 300) for each in _SENTENCE.findall(article.text[:10_000])]
        summary = sentences[0] if sentences else plain(article.headline, 300) or "Untitled"
        facts = (f"It has {len(article.text.split())} words.", *sentences[1:3])
        return Analysis(number % 101, summary, facts, self.name, self.prompt_version)
