"""What an analyzer is: what it is given, what it gives, and how it says that it cannot."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Protocol

from feed_assets.model import Analysis


@dataclass(frozen=True, slots=True)
class ArticleText:
    """An article in plain text. Whatever stands in it was written by strangers."""

    article_id: str
    headline: str
    source: str
    url: str | None
    published_at: datetime
    text: str


class Analyzer(Protocol):
    """Analyses articles, several at a time: `analyze` is called from threads. One call is one request of the daily budget.

    Analyses are kept by `name` and `prompt_version`; with another of either, articles are analysed anew.
    """

    name: str
    prompt_version: str

    def analyze(self, article: ArticleText, *, complaint: str | None = None) -> Analysis:
        """One try, or one of the exceptions below. `complaint` is what was wrong with the answer before."""


class Unanswered(Exception):
    """No analysis came out; the text is the reason, in one line."""


class BadAnswer(Unanswered):
    """There was an answer, and it is not an analysis. It is asked for once more, with the reason told."""


class AskAgain(Unanswered):
    """The question has to be put in another way, which the analyzer now knows: it is asked again at once."""


class Refused(Unanswered):
    """There will be no answer about this article, however often it is asked for."""


class Unavailable(Unanswered):
    """Nobody answers now; later perhaps."""

    def __init__(self, reason: str, *, retry_after: timedelta | None = None) -> None:
        super().__init__(reason)
        self.retry_after = retry_after
