"""Whether two headlines tell one story: the copies of an agency's report that papers print under URLs of their own.

A headline becomes a set of telling words. `block_keys` find the few headlines that may be near it without comparing all with all, and
`same_story` decides. It errs towards "different": a copy that goes unnoticed costs less than two stories that become one.
"""

from __future__ import annotations

import re
import struct
from bisect import bisect_left
from collections.abc import Sequence, Set
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import lru_cache
from hashlib import blake2b
from itertools import pairwise
from operator import itemgetter

from feed_assets.decide.wording import DIGIT, UNSPACED_CHARACTER, words_of

_WINDOW = timedelta(hours=48)
_SIMILAR = 0.85
_SPECIFIC = 5  # words; with fewer a headline ("Weekly links", "Press release") may stand over anything
_SPECIFIC_IN_ONE_HOUSE = 3
_UNMISTAKABLE = 8  # words that are no rubric, however different the texts below are
_IN_ORDER = 0.8  # of the words that two headlines share: "Russia attacks Ukraine" is not "Ukraine attacks Russia"
_LONGEST = 1000  # characters; what is longer is no headline
LEAD_CHARACTERS = 300  # of a text, by which copies are told from rubrics with the same headline
_LEAD_WORDS = 60
_TELLING_LEAD = 12  # pairs of words; a shorter text says too little to tell copies from others
_SAME_LEAD = 0.15
_BY_RANK = tuple(itemgetter(order) for order in range(4))

# Short lists, a paragraph per language. Words that tell something in another one are missing: no "die", "war", "son" or "no".
_STOP_WORDS = frozenset({
    "a", "an", "the", "and", "or", "of", "in", "on", "at", "to", "for", "from", "by", "with", "as", "is", "are", "was", "were", "be",
    "what", "you", "your", "need", "know", "how", "here", "today", "daily", "weekly",
    "been", "it", "its", "this", "that", "these", "those", "he", "she", "his", "her", "they", "their", "has", "have", "had", "will",
    "would",
    "der", "das", "den", "dem", "des", "ein", "eine", "einer", "einem", "einen", "und", "oder", "im", "am", "zu", "zum", "zur", "mit",
    "von", "vom", "auf", "aus", "bei", "fur", "nach", "uber", "ist", "sind", "sich",
    "le", "la", "les", "l", "d", "un", "une", "du", "de", "et", "ou", "au", "aux", "dans", "en", "sur", "pour", "par", "avec", "est",
    "sont", "que", "qui", "qu", "ce", "cette", "se",
    "el", "los", "las", "del", "al", "y", "o", "con", "por", "para", "es", "su", "sus", "lo", "una", "uno",
    "il", "gli", "i", "dei", "della", "delle", "degli", "nel", "nella", "alla", "di", "da", "che", "e", "per", "tra",
    "os", "do", "dos", "na", "nos", "nas", "ao", "em", "um", "uma", "com",
    "het", "een", "van", "op", "te", "voor", "bij", "naar", "zijn", "wordt",
})  # fmt: skip
# With another one of these it is another story, as with another number: the next day, the next part, the denial.
_COUNTING = frozenset({
    "no", "not", "never", "nicht", "kein", "keine", "pas", "niet", "nao", "monday", "tuesday", "wednesday", "thursday", "friday",
    "saturday", "sunday", "january", "february", "march", "april", "june", "july", "august", "september", "october", "november",
    "december", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "first", "second", "third", "fourth", "fifth",
})  # fmt: skip
# What stands before a story, not what it is: "Opinion:" and "Review:" are missing, for they head other texts than the news.
_LABELS = (
    r"breaking(?: news)?|updated?|live(?: updates?| blog)?|watch(?: live)?|video|exclusive|just in|developing|(?:news )?alert|eilmeldung|"
    r"exklusiv|live-?ticker|(?:en )?direct|vid[eé]o|exclusif|urgente?|[uú]ltima hora|en vivo|directo|ao vivo|diretta"
)
_AGENCY_LABELS = r"(?:UPDATE|WRAPUP) ?\d+|UPDATE|REFILE|CORRECTED|BRIEF|EXCLUSIVE|FACTBOX"  # "UPDATE 2-Oil falls"; "live-action" is none
_LABEL = re.compile(rf"\s*(?:(?i:[\[(](?:{_LABELS})[\])]\s*[:|–—-]?|(?:{_LABELS})(?:\s*[:|]|\s+[–—-]\s))|(?:{_AGENCY_LABELS})\s*-)\s*")
_BREAK = re.compile(r"\s+(?:[-–—|·•»]|::)\s+")
_PREFIX_BREAK = re.compile(r"\s*:\s+|\s+(?:[-–—|]|::)\s+")
_AGENCIES = frozenset({"ap", "afp", "reuters", "dpa", "ansa", "efe", "upi", "bloomberg"})
_OUTLET_WORDS = frozenset({
    "news", "times", "post", "herald", "journal", "gazette", "tribune", "telegraph", "magazine", "today", "tv", "radio", "press",
})  # fmt: skip
_SITE = re.compile(r"(?i)[\w-]+\.(?:com|org|net|co\.uk|[a-z]{2})")
_SECTIONS = frozenset({
    "the", "news", "rss", "feed", "feeds", "online", "latest", "headlines", "top", "stories", "story", "all", "home", "page", "articles",
    "posts", "blog", "blogs", "podcast", "podcasts", "video", "videos", "world", "international", "national", "local", "politics",
    "business", "money", "economy", "markets", "tech", "technology", "science", "environment", "health", "sport", "sports", "football",
    "culture", "arts", "entertainment", "opinion", "lifestyle", "travel", "us", "uk", "europe", "asia", "africa",
})  # fmt: skip
# Anybody may publish there: that a domain is shared says nothing.
_SHARED_DOMAINS = frozenset({
    "blogspot.com", "wordpress.com", "medium.com", "substack.com", "tumblr.com", "github.io", "gitlab.io", "github.com", "youtube.com",
    "youtu.be", "reddit.com", "google.com", "msn.com", "yahoo.com", "feedburner.com", "livejournal.com", "prnewswire.com",
    "globenewswire.com", "businesswire.com",
})  # fmt: skip


@dataclass(frozen=True, slots=True)
class Headline:
    """What is compared. `domain` is the registrable domain of the article's URL; `published_at` knows its time zone; `lead` is how its
    text begins."""

    words: tuple[str, ...]
    source: str
    domain: str | None
    published_at: datetime
    lead: str = ""

    @property
    def tokens(self) -> frozenset[str]:
        return frozenset(self.words)


def telling_words(headline: str, source: str = "") -> tuple[str, ...]:
    """The telling words of a headline in their order, without labels ("BREAKING:") and the name of its source, in any case and accent."""
    text = headline[:_LONGEST]
    while label := _LABEL.match(text):
        text = text[label.end() :]
    return tuple(dict.fromkeys(word for word in words_of(_without_source(text, source)) if word not in _STOP_WORDS))


def tokens(headline: str, source: str = "") -> frozenset[str]:
    return frozenset(telling_words(headline, source))


@lru_cache(maxsize=1024)
def _pairs_of(lead: str) -> frozenset[tuple[str, str]]:
    """The pairs of neighbouring words. Worked out only when two headlines are alike, which few are."""
    return frozenset(pairwise(words_of(lead)[:_LEAD_WORDS]))


def block_keys(words: Set[str]) -> tuple[str, ...]:
    """Up to four keys of which similar headlines share at least one.

    Each has the three words that come first in an order of its own: one word more or less seldom changes all four.
    """
    if len(words) <= 3:
        return (_digest(words),) if words else ()
    ranked = [(*_ranks(word), word) for word in words]
    firsts = [frozenset([str(each[-1]) for each in sorted(ranked, key=rank)[:3]]) for rank in _BY_RANK]
    return tuple(map(_digest, dict.fromkeys(firsts)))


def same_story(a: Headline, b: Headline) -> bool:
    """Within two days, with the same numbers and nearly the same words in the same order; and enough that this is no accident."""
    if abs(a.published_at - b.published_at) > _WINDOW:
        return False
    ours, theirs = a.tokens, b.tokens
    differing = ours ^ theirs
    together = (len(ours) + len(theirs) + len(differing)) / 2
    if not together or (together - len(differing)) / together < _SIMILAR:
        return False
    if any(word in _COUNTING or DIGIT.search(word) for word in differing) or not _in_one_order(a.words, b.words):
        return False
    specific = min(_specificity(ours), _specificity(theirs))
    if specific >= _SPECIFIC_IN_ONE_HOUSE and not differing and related(a, b):
        return True
    if _texts_differ(a.lead, b.lead):  # "Morning briefing" stands over another text in each paper
        return not differing and specific >= _UNMISTAKABLE
    return specific >= _SPECIFIC


def _in_one_order(a: Sequence[str], b: Sequence[str]) -> bool:
    """Whether the words that both have come in the same order but for a few."""
    places = {word: place for place, word in enumerate(b)}
    order = [places[word] for word in a if word in places]
    ends: list[int] = []  # of the shortest rising sequences, by length: the longest is what is in order
    for place in order:
        at = bisect_left(ends, place)
        ends[at : at + 1] = [place]
    return len(ends) >= _IN_ORDER * len(order)


def _texts_differ(a: str, b: str) -> bool:
    ours, theirs = _pairs_of(a), _pairs_of(b)
    shorter = min(len(ours), len(theirs))
    return shorter >= _TELLING_LEAD and len(ours & theirs) < _SAME_LEAD * shorter


def related(a: Headline, b: Headline) -> bool:
    """Whether two sources belong to one house: by domain, or by names like "BBC News" and "BBC News - World"."""
    if a.domain and a.domain == b.domain and a.domain not in _SHARED_DOMAINS:
        return True
    return _starts(a.source, b.source) or _starts(b.source, a.source)


def _specificity(words: Set[str]) -> int:
    """How many words; two pairs of characters count as one, or "press release" would be specific in Japanese."""
    pairs = sum(1 for word in words if not word.isascii() and UNSPACED_CHARACTER.match(word))
    return len(words) - (pairs + 1) // 2


def _without_source(text: str, source: str) -> str:
    """Without the name of the source at either end.

    Known by being like `source`. Else a last part counts as a name when it has at most four words, all capitalised, no digits, at least
    four words before it, and either a newspaper's word in it ("Times"), or only the name of a section, or a headline before it that is
    not capitalised throughout (where capitals say nothing). A wrong guess is cheap: it takes the "- Kremlin" from a headline, not what
    sets it apart.
    """
    for _ in range(2):  # "... | World news | The Guardian"
        breaks = list(_BREAK.finditer(text))
        if not breaks:
            break
        rest, part = text[: breaks[-1].start()], text[breaks[-1].end() :]
        if not (_is_source(part, source) or _is_name(part.split(), rest.split())):
            break
        text = rest
    first = _PREFIX_BREAK.search(text)
    if first and (text[: first.start()].lower() in _AGENCIES or _is_source(text[: first.start()], source)):
        return text[first.end() :]
    return text


def _is_source(part: str, source: str) -> bool:
    return bool(source) and (part.casefold() == source.casefold() or _starts(part, source))


def _is_name(words: list[str], before: list[str]) -> bool:
    if not 1 <= len(words) <= 4 or len(before) < 4 or any(map(DIGIT.search, words)):
        return False
    if len(words) == 1 and _SITE.fullmatch(words[0]):
        return True
    if not all(word[0].isupper() or word in ("of", "the", "and", "&", "de", "di", "la", "le") for word in words):
        return False
    if any(word.lower() in _OUTLET_WORDS for word in words) or all(word.lower() in _SECTIONS for word in words):
        return True
    return sum(word[0].islower() for word in before if len(word) > 3) >= 2


def _starts(name: str, longer: str) -> bool:
    """Whether a house's name starts another one, as in the names of its feeds. Not in the midst: "The Times" is no "New York Times"."""
    return any(b[: len(a)] == a for a in _house(name) for b in _house(longer))


@lru_cache(maxsize=4096)
def _house(name: str) -> tuple[tuple[str, ...], ...]:
    """The parts of a source's name without the words that all sources use: "Football | The Guardian" is (("guardian",),)."""
    parts = (tuple(word for word in words_of(part) if word not in _SECTIONS) for part in re.split(r"\s+[-–—|:»>·]+\s+|:\s+", name[:200]))
    return tuple(part for part in parts if part)


@lru_cache(maxsize=65536)
def _ranks(word: str) -> tuple[int, ...]:
    """The word's place in each of the four orders. Not by hash(), which differs from process to process."""
    return struct.unpack(">4Q", blake2b(word.encode("utf-8", "surrogatepass"), digest_size=32).digest())


def _digest(words: Set[str]) -> str:
    return blake2b("\x00".join(sorted(words)).encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
