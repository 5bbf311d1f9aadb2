"""Which articles are about one story, in any language: told by the rare pieces of words that their headlines and beginnings share.

A word counts by its pieces of a few letters, so that an ending more or less takes only part of it, and the more the fewer articles of
the window have it: no list of words is needed. An article is added to the group that it is like on the average, not to one that has a
single article like it; two articles of one house alone are no group, for what they share is often only a rubric.

The same articles give the same groups, whatever their order.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from hashlib import blake2b

import numpy as np
import numpy.typing as npt

from feed_assets.decide.headlines import Headline, related
from feed_assets.decide.wording import DIGIT, UNSPACED_CHARACTER, words_of

LEAD_CHARACTERS = 400  # of a text that are looked at
_PIECE = 5  # letters
_HEADLINE_WEIGHT = 2.0  # a word of the headline, beside one of the text
_ALIKE = 0.26  # the cosine from which two articles tell one story
_ON_AVERAGE = 0.18  # between all articles of two groups that become one
_SHARED_WORDS = 3.0  # at least: "First item" and "Second item" are alike, too
_COMMON = 0.1  # of the articles; what more of them have tells nothing
_FEW = 200  # articles; in so few, words that tell nothing are not yet to be told from others
_LONGEST = 1000  # characters; what is longer is no headline

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Told:
    """An article, as far as its story goes. `moment` is when it was told; `examined` says whether an earlier run has seen it."""

    article_id: str
    headline: str
    lead: str
    source: str
    domain: str | None
    moment: datetime
    group_id: str | None = None
    examined: bool = False


@dataclass(frozen=True, slots=True)
class Grouping:
    """What a run found: the group of each article that joined one, and which groups went into which."""

    joined: Mapping[str, str]
    merged: Mapping[str, str]
    founded: frozenset[str]


def group(articles: Iterable[Told], founded_at: Mapping[str, datetime]) -> Grouping:
    """Find the stories of the articles that were not examined before, among all of the window.

    `founded_at` are the groups there are: the older one gives its id to what becomes one.
    """
    window = sorted(articles, key=lambda each: (each.moment, each.article_id))
    vectors = _Vectors(window)
    clusters = _Clusters(window, vectors, founded_at)
    for _, one, other in vectors.alike():
        clusters.join(one, other)
    return clusters.outcome()


def group_id_of(article_id: str) -> str:
    """The id of a group that this article, the first of it, founds."""
    return blake2b(article_id.encode("utf-8", "surrogatepass"), digest_size=10).hexdigest()


class _Vectors:
    """Articles as weighted pieces of words, each of length 1; and the postings by which similar ones are found."""

    def __init__(self, window: Sequence[Told]) -> None:
        self._window = window
        self._stems = _telling_stems(window)
        numbers: dict[str, int] = {}
        rows = [_weights(article, numbers) for article in window]
        sizes = np.array([len(row) for row in rows], dtype=np.int64)
        self._starts: Integers = np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)])
        self._pieces: Integers = np.array([number for row in rows for number in row], dtype=np.int64)
        weights: Floats = np.array([weight for row in rows for weight in row.values()], dtype=np.float64)
        owners: Integers = np.repeat(np.arange(len(rows)), sizes)
        spread: Integers = np.bincount(self._pieces, minlength=len(numbers))
        weights = weights * _rarity(spread, len(rows))[self._pieces]
        lengths = np.sqrt(np.bincount(owners, weights * weights, minlength=len(rows)))
        self._weights: Floats = weights / np.where(lengths > 0, lengths, 1.0)[owners]
        order = np.argsort(self._pieces, kind="stable")
        self._having, self._having_weights = owners[order], self._weights[order]
        self._ends: Integers = np.cumsum(spread)
        self._spread = spread

    def alike(self) -> list[tuple[float, int, int]]:
        """Pairs of which one was not examined before, the most alike first: (-likeness, place, place)."""
        pairs: set[tuple[float, int, int]] = set()
        for place, article in enumerate(self._window):
            if not article.examined:
                likeness = self._likeness(place)
                for other in np.flatnonzero(likeness >= _ALIKE).tolist():
                    if other != place and self._tells(place, other):
                        pairs.add((-round(float(likeness[other]), 9), min(place, other), max(place, other)))
        return sorted(pairs)

    def of(self, place: int) -> dict[int, float]:
        span = slice(self._starts[place], self._starts[place + 1])
        return dict(zip(self._pieces[span].tolist(), self._weights[span].tolist(), strict=True))

    def _likeness(self, place: int) -> Floats:
        """The cosine with each article of the window."""
        span = slice(self._starts[place], self._starts[place + 1])
        pieces, weights = self._pieces[span], self._weights[span]
        telling = (self._spread[pieces] > 1) & (weights > 0)
        pieces, weights = pieces[telling], weights[telling]
        counts = self._spread[pieces]
        if not len(pieces):
            return np.zeros(len(self._window))
        # The postings of all its pieces, one after the other.
        firsts = np.repeat(self._ends[pieces] - counts - (np.cumsum(counts) - counts), counts) + np.arange(counts.sum())
        products = self._having_weights[firsts] * np.repeat(weights, counts)
        likeness: Floats = np.bincount(self._having[firsts], products, minlength=len(self._window)).astype(np.float64, copy=False)
        return likeness

    def _tells(self, place: int, other: int) -> bool:
        """Whether it is no accident, and no rubric of one house."""
        one, two = self._window[place], self._window[other]
        if one.group_id is not None and one.group_id == two.group_id:
            return False
        shared = self._stems[place] & self._stems[other]
        if sum(0.5 if UNSPACED_CHARACTER.match(stem) else 1.0 for stem in shared) < _SHARED_WORDS:
            return False
        return not related(_as_headline(one), _as_headline(two))


class _Clusters:
    """Articles as they are put together: each begins in its group, or alone."""

    def __init__(self, window: Sequence[Told], vectors: _Vectors, founded_at: Mapping[str, datetime]) -> None:
        self._window, self._vectors, self._founded_at = window, vectors, founded_at
        members: dict[str, list[int]] = defaultdict(list)
        for place, article in enumerate(window):
            members[article.group_id or f"\x00{place}"].append(place)
        self._members = {places[0]: places for places in members.values()}
        self._home = {place: places[0] for places in members.values() for place in places}
        self._groups = {places[0]: window[places[0]].group_id for places in members.values()}
        self._sums: dict[int, dict[int, float]] = {}
        self._merged: dict[str, str] = {}
        self._founded: set[str] = set()

    def join(self, one: int, other: int) -> None:
        """Make one of the clusters of these two, if they are alike as a whole."""
        a, b = self._home[one], self._home[other]
        if a == b or self._on_average(a, b) < _ON_AVERAGE:
            return
        kept, gone = self._group_of_both(a, b)
        if len(self._members[a]) < len(self._members[b]):
            a, b = b, a
        total = self._sum(a)
        for piece, weight in self._sum(b).items():
            total[piece] = total.get(piece, 0.0) + weight
        for place in self._members.pop(b):
            self._home[place] = a
            self._members[a].append(place)
        del self._sums[b]
        self._groups[a] = kept
        if gone is not None:
            self._merged = {old: kept if new == gone else new for old, new in self._merged.items()} | {gone: kept}

    def outcome(self) -> Grouping:
        joined = {}
        for place, article in enumerate(self._window):
            group_id = self._groups[self._home[place]]
            if group_id is not None and group_id != article.group_id:
                joined[article.article_id] = group_id
        return Grouping(joined, {old: new for old, new in self._merged.items() if old in self._founded_at}, frozenset(self._founded))

    def _group_of_both(self, a: int, b: int) -> tuple[str, str | None]:
        """The group that two clusters become, and the one that is no more."""
        groups = sorted(filter(None, (self._groups[a], self._groups[b])), key=self._age)
        if groups:
            return groups[0], groups[1] if len(groups) > 1 else None
        first = min(min(self._members[a]), min(self._members[b]))
        group_id = group_id_of(self._window[first].article_id)
        self._founded.add(group_id)
        return group_id, None

    def _age(self, group_id: str) -> tuple[bool, float, str]:
        """Groups that were there before come first, the oldest of them before all."""
        founded_at = self._founded_at.get(group_id)
        return founded_at is None, founded_at.timestamp() if founded_at else 0.0, group_id

    def _on_average(self, a: int, b: int) -> float:
        small, large = sorted((self._sum(a), self._sum(b)), key=len)
        product = sum(weight * large[piece] for piece, weight in small.items() if piece in large)
        return product / (len(self._members[a]) * len(self._members[b]))

    def _sum(self, home: int) -> dict[int, float]:
        if home not in self._sums:
            total: dict[int, float] = {}
            for place in self._members[home]:
                for piece, weight in self._vectors.of(place).items():
                    total[piece] = total.get(piece, 0.0) + weight
            self._sums[home] = total
        return self._sums[home]


def _weights(article: Told, numbers: dict[str, int]) -> dict[int, float]:
    """Each piece of the article's words with its weight; pieces are numbered as they come."""
    weights: dict[int, float] = {}
    for text, weight in ((article.headline[:_LONGEST], _HEADLINE_WEIGHT), (article.lead[:LEAD_CHARACTERS], 1.0)):
        for word in words_of(text):
            pieces, share = _pieces(word)
            for piece in pieces:
                number = numbers.setdefault(piece, len(numbers))
                weights[number] = max(weights.get(number, 0.0), weight * share)
    return weights


def _rarity(spread: Integers, articles: int) -> Floats:
    """What a piece tells that so many of the articles have: nothing when it is common."""
    rarity = np.log(max(articles, _FEW) / np.maximum(spread, 1))
    return np.where(spread > _common(articles), 0.0, rarity)


def _common(articles: int) -> float:
    """What more of so many articles have tells nothing."""
    return _COMMON * max(articles, _FEW)


@lru_cache(maxsize=2**16)
def _pieces(word: str) -> tuple[tuple[str, ...], float]:
    """Its overlapping pieces, and what each counts so that together they count as one word."""
    size = 2 if "\uac00" <= word[0] <= "\ud7a3" else _PIECE  # a Korean syllable is a letter to others, and particles follow words
    if len(word) <= size or DIGIT.search(word) or UNSPACED_CHARACTER.match(word):
        return (word,), 1.0
    pieces = tuple(dict.fromkeys(word[start : start + size] for start in range(len(word) - size + 1)))
    return pieces, 1 / math.sqrt(len(pieces))


def _telling_stems(window: Sequence[Told]) -> list[set[str]]:
    """How the words of each article begin, without what stands in so many of them that it tells nothing."""
    stems = [{word[:_PIECE] for word in words_of(f"{each.headline[:_LONGEST]} {each.lead[:LEAD_CHARACTERS]}")} for each in window]
    spread = Counter(stem for each in stems for stem in each)
    return [{stem for stem in each if spread[stem] <= _common(len(window))} for each in stems]


def _as_headline(article: Told) -> Headline:
    return Headline((), article.source, article.domain, article.moment)
