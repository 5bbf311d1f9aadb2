"""How well and how fast stories are found: precision and recall over labelled headlines, and ten thousand articles at once.

    python -m benchmarks.grouping [--corpus ../shared/corpus] [--articles 10000]

The labels (grouping_labels.jsonl) name real headlines of the corpus by document and entry, and have other publishers' wordings of
them, written for this purpose; some stories have only those. What feeds of the corpus tell besides is there to be mistaken for them.
Every second story was there to tune the thresholds by; the others are held out.
"""

from __future__ import annotations

import argparse
import json
import random
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from itertools import combinations
from pathlib import Path

from feed_assets.decide.grouping import Told, group
from feed_assets.parse import headline, parse_document, plain_text

LABELS = Path(__file__).with_name("grouping_labels.jsonl")
NOW = datetime(2026, 3, 2, 12, tzinfo=UTC)
# Newspapers, magazines and blogs of the corpus; its other documents are examples of formats.
FEEDS = (
    "rss-parser/test/input/guardian.rss",
    "rss-parser/test/input/encoding.rss",
    "rss-parser/test/input/uolNoticias.rss",
    "rss-parser/test/input/heise.atom",
    "rss-parser/test/input/customfields.rss",
    "rss-parser/test/input/itunes-href.rss",
    "rss-parser/test/input/rss-1.rss",
    "rss-parser/test/input/reddit.rss",
    "rss-parser/test/input/reddit-home.rss",
    "rss-parser/test/input/many-links.rss",
    "rss-parser/test/input/feedburner.atom",
    "rss-parser/test/input/craigslist.rss",
    "rss-parser/test/input/giantbomb-podcast.rss",
    "feed-rs/feed-rs/fixture/atom/atom_example_2.xml",
    "feed-rs/feed-rs/fixture/atom/atom_mediarss_reddit_1.xml",
    "miniflux/internal/reader/parser/testdata/rdf_UTF8.xml",
    "miniflux/internal/reader/parser/testdata/encoding_ISO-8859-1.xml",
    "miniflux/internal/reader/parser/testdata/encoding_WINDOWS-1251.xml",
    "miniflux/internal/reader/parser/testdata/no_encoding_ISO-8859-1.xml",
    "miniflux/internal/reader/parser/testdata/urdu_UTF8.xml",
    "miniflux/internal/reader/parser/testdata/large_rss.xml",
)


@dataclass(frozen=True)
class Labelled:
    """Articles, the story of those that are labelled, and sets of stories of which nobody can say whether they are one."""

    articles: Mapping[str, Told]
    story: Mapping[str, str]
    undecided: Sequence[frozenset[str]]


def from_corpus(corpus: Path) -> Iterator[Told]:
    """What the feeds tell, with the document and the place of the entry in it as id."""
    for path in FEEDS:
        feed = parse_document((corpus / path).read_bytes(), url="https://news.example/feed", headers={}, max_entries=100)
        for place, entry in enumerate(feed.entries):
            lead = plain_text(entry.content[:3000])
            yield Told(f"{path}#{place}", headline(entry), lead, feed.title or path, None, NOW - timedelta(minutes=place))


def labelled(corpus: Path) -> Labelled:
    articles = {article.article_id: article for article in from_corpus(corpus)}
    story: dict[str, str] = {}
    undecided = []
    for row in map(json.loads, LABELS.read_text("utf-8").splitlines()):
        if "undecided" in row:
            undecided.append(frozenset(story.get(each, each) for each in row["undecided"]))
            continue
        story |= dict.fromkeys(row["corpus"], row["story"])
        for place, told in enumerate(row["told"]):
            article_id = f"{row['story']}/{place}"
            articles[article_id] = Told(
                article_id, told["headline"], told["lead"], told["source"], None, NOW - timedelta(hours=5 * place + 1)
            )
            story[article_id] = row["story"]
    return Labelled(articles, story, undecided)


def judge(set_: Labelled, stories: frozenset[str], *, among: int | None = None) -> tuple[int, int, int]:
    """Pairs found and right, found and wrong, missed; of these stories among what else was told (so much of it, or all)."""
    others = sorted(article_id for article_id in set_.articles if article_id not in set_.story)
    if among is not None:
        others = random.Random(1).sample(others, min(among, len(others)))
    ours = [article_id for article_id, story in set_.story.items() if story in stories]
    told = [set_.articles[article_id] for article_id in (*ours, *others)]
    groups: dict[str, list[str]] = defaultdict(list)
    for article_id, group_id in group(told, {}).joined.items():
        groups[group_id].append(article_id)
    found = {frozenset(pair) for members in groups.values() for pair in combinations(members, 2)}
    wanted = {frozenset(pair) for pair in combinations(ours, 2) if set_.story[pair[0]] == set_.story[pair[1]]}
    wrong = [pair for pair in found - wanted if not _open(set_, pair)]
    return len(found & wanted), len(wrong), len(wanted - found)


def _open(set_: Labelled, pair: frozenset[str]) -> bool:
    stories = {set_.story.get(each, each) for each in pair}
    return any(stories <= each for each in set_.undecided)


def halves(set_: Labelled) -> tuple[frozenset[str], frozenset[str]]:
    stories = list(dict.fromkeys(set_.story.values()))
    return frozenset(stories[::2]), frozenset(stories[1::2])


def crowd(corpus: Sequence[Told], articles: int) -> list[Told]:
    """The corpus among made-up articles: words as frequent as in a language, a third of the articles in stories of three."""
    dice = random.Random(7)
    syllables = [a + b for a in "bcdfghklmnprstvz" for b in ("a", "e", "i", "o", "u", "an", "er", "ion")]
    words = ["".join(dice.choices(syllables, k=dice.choice((1, 2, 2, 3, 3, 4)))) for _ in range(60_000)]
    chances = [1 / (rank + 3) for rank in range(len(words))]  # Zipf's law
    told: list[Told] = list(corpus)
    for number in range(articles - len(told)):
        text = dice.choices(words, chances, k=70)
        if number % 9 < 3 and number % 9:  # another publisher tells what the last one told, half of it in words of its own
            before = told[-1]
            kept = [word for word in f"{before.headline} {before.lead}".split() if dice.random() < 0.5]
            text = kept[:5] + text[:5] + kept[5:] + text[5:40]
        at = NOW - timedelta(seconds=dice.randrange(48 * 3600))
        told.append(Told(f"made-{number}", " ".join(text[:10]), " ".join(text[10:]), f"Paper {number % 211}", None, at))
    return told


def measured(told: Sequence[Told]) -> None:
    began = time.process_time()
    found = group(told, {})
    seconds = time.process_time() - began
    groups = len(set(found.joined.values()))
    print(f"{len(told)} articles at once: {seconds:.1f} s of CPU, {len(found.joined)} of them in {groups} groups")
    known = [replace(each, group_id=found.joined.get(each.article_id), examined=True) for each in told[:-100]]
    founded = {each.group_id: each.moment for each in known if each.group_id}
    began = time.process_time()
    group([*known, *told[-100:]], founded)
    print(f"100 more among {len(known)} known: {time.process_time() - began:.1f} s of CPU")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpus", type=Path, default=Path(__file__).resolve().parents[2] / "shared" / "corpus")
    parser.add_argument("--articles", type=int, default=10_000)
    options = parser.parse_args()
    if not (options.corpus / FEEDS[0]).is_file():
        raise SystemExit(f"there are no feeds in {options.corpus}; name the folder with --corpus")
    set_ = labelled(options.corpus)
    print(f"{len(set_.articles)} articles, {len(set_.story)} of them in {len(set(set_.story.values()))} labelled stories")
    print("stories    among    precision  recall  right  wrong  missed")
    for name, stories in zip(("tuned on", "held out"), halves(set_), strict=True):
        for among in (None, 50):
            right, wrong, missed = judge(set_, stories, among=among)
            precision, recall = right / max(right + wrong, 1), right / max(right + missed, 1)
            told = "all" if among is None else f"{among}"
            print(f"{name:<10} {told:<8} {precision:>9.3f}  {recall:>6.3f}  {right:>5}  {wrong:>5}  {missed:>6}")
    measured(crowd(list(from_corpus(options.corpus)), options.articles))


if __name__ == "__main__":
    main()
