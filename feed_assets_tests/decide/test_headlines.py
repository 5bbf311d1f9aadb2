"""Which headlines tell one story, and which only look like it."""

from __future__ import annotations

import random
import subprocess
import sys
import time
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from feed_assets.decide.headlines import Headline, block_keys, related, same_story, telling_words, tokens

NOON = datetime(2024, 5, 1, 12, tzinfo=UTC)


def told(headline: str, source: str = "", domain: str | None = None, *, hours: float = 0, text: str = "") -> Headline:
    return Headline(telling_words(headline, source), source, domain, NOON + timedelta(hours=hours), text)


@pytest.mark.parametrize(
    ("headline", "source", "words"),
    [
        ("Storm hits the coast of Florida", "", "storm hits coast florida"),
        ("BREAKING: Storm hits Florida", "", "storm hits florida"),
        ("Breaking News | LIVE: Storm hits Florida", "", "storm hits florida"),
        ("UPDATE 2-Oil falls as OPEC meets", "", "oil falls opec meets"),
        ("WRAPUP 1-REFILE-Oil falls as OPEC meets", "", "oil falls opec meets"),
        ("[Video] Storm hits Florida", "", "storm hits florida"),
        ("Watch: Storm hits Florida", "", "storm hits florida"),
        ("Exclusive | Storm hits Florida", "", "storm hits florida"),
        ("Live-action remake gets director", "", "live action remake gets director"),
        ("Video games get older", "", "video games get older"),
        ("Opinion: Storm hits Florida", "", "opinion storm hits florida"),
        ("Trump's lawyers ask TRUMP’S judge", "", "trump lawyers ask judge"),
        ("Día de los Muertos: México celebra", "", "dia muertos mexico celebra"),
        ("Der Kanzler und die Krise", "", "kanzler die krise"),
        ("L’Élysée annonce la réforme", "", "elysee annonce reforme"),
        ("Ministers back £1,000,000 fund", "", "ministers back 1000000 fund"),
        ("Arsenal win 3–1 in Q3 of 2024", "", "arsenal win 3-1 q3 2024"),
        ("Firm pays $2.5bn", "", "firm pays 2.5bn"),
        ("Storm hits Florida - BBC News", "BBC News", "storm hits florida"),
        ("Storm hits Florida | World news | The Guardian", "The Guardian", "storm hits florida world news"),
        ("Storm hits the coast of Florida | World News | The Guardian", "The Guardian", "storm hits coast florida"),
        ("BBC News - Storm hits Florida", "BBC News - World", "storm hits florida"),
        ("AP: Storm hits Florida", "Boston Globe", "storm hits florida"),
        ("Thousands flee as storm hits Florida – Miami Herald", "Google News", "thousands flee storm hits florida"),
        ("Thousands Flee As Storm Hits Florida - nytimes.com", "", "thousands flee storm hits florida"),
        ("Thousands Flee As Storm Hits Florida - Two Dead", "", "thousands flee storm hits florida two dead"),
        ("Thousands flee as storm hits Florida - Day 5", "", "thousands flee storm hits florida day 5"),
        ("Thousands flee as storm hits Florida - police", "", "thousands flee storm hits florida police"),
        ("Prince sues - BBC apologises", "BBC", "prince sues bbc apologises"),
        ("Ukraine - Russia", "", "ukraine russia"),
        ("東京で地震", "", "東京 京で で地 地震"),
        ("ข่าว", "", "ข่ ่า าว"),
        ("हिन्दी समाचार", "", "हिन्दी समाचार"),
        ("", "", ""),
        ("LIVE:", "", ""),
        ("!!! — ???", "", ""),
    ],
)
def test_the_telling_words_of_a_headline(headline: str, source: str, words: str) -> None:
    assert tokens(headline, source) == frozenset(words.split())


SAME = [
    ("Oil prices fall sharply as OPEC weighs output increase", "UPDATE 2-Oil prices fall sharply as OPEC weighs output increase"),
    ("Fed holds interest rates steady, signals cuts later", "Fed holds interest rates steady; signals cuts later - The Boston Globe"),
    ("Quake kills dozens in northern Japan, officials say", "BREAKING: Quake kills dozens in northern Japan, officials say | AP News"),
    ("NASA’s Artemis rocket lifts off from Florida on moon mission", "NASA's Artemis rocket lifts off from Florida on Moon mission"),
    ("Bundestag beschließt Haushalt nach Streit der Koalition", "EILMELDUNG: Bundestag beschließt Haushalt nach Streit der Koalition"),
    ("Élections législatives : forte participation attendue dimanche", "Elections législatives: forte participation attendue dimanche"),
    ("Wildfire forces thousands to evacuate homes near Los Angeles", "Wildfire forces thousands to evacuate their homes near Los Angeles"),
    ("Senate passes sweeping bill to fund government through winter", "Senate passes bill to fund government through winter"),
    ("首相が新しい経済対策を発表、物価高に対応へ", "【速報】首相が新しい経済対策を発表、物価高に対応へ"),
    ("Inflation rose 3.2% in March, more than forecast by economists", "Inflation rose 3,2% in March – more than forecast by economists"),
]  # fmt: skip
DIFFERENT = [
    ("Ukraine war: what we know on day 805 of the invasion", "Ukraine war: what we know on day 806 of the invasion"),
    ("Arsenal beat Chelsea 3-1 at Emirates in Premier League", "Arsenal beat Chelsea 2-1 at Emirates in Premier League"),
    ("Apple reports record revenue in Q3 thanks to iPhone sales", "Apple reports record revenue in Q4 thanks to iPhone sales"),
    ("Court lets the government publish the full report after long legal fight",
     "Court does not let the government publish the full report after long legal fight"),
    ("Hints and answers to the daily word puzzle for Monday morning players everywhere this season again",
     "Hints and answers to the daily word puzzle for Tuesday morning players everywhere this season again"),
    ("Firm to pay $2.5m to settle claims over broken hospital pumps", "Firm to pay $2.5bn to settle claims over broken hospital pumps"),
    ("Quake kills dozens in northern Japan", "Quake kills dozens in southern Chile"),
    ("Weekly links", "Weekly links"),
    ("Open thread", "Open Thread"),
    ("Press release", "Press release"),
    ("Photo of the day", "Photo of the day"),
    ("What we are reading this week", "What we are reading this week"),
    ("プレスリリース", "プレスリリース"),
    ("", ""),
]  # fmt: skip


@pytest.mark.parametrize(("one", "other"), SAME)
def test_copies_of_one_story(one: str, other: str) -> None:
    assert same_story(told(one, "Daily Planet"), told(other, "Gotham Gazette", hours=-5))


@pytest.mark.parametrize(("one", "other"), DIFFERENT)
def test_stories_that_only_look_alike(one: str, other: str) -> None:
    assert not same_story(told(one, "Daily Planet"), told(other, "Gotham Gazette"))


@pytest.mark.parametrize(("hours", "same"), [(0, True), (48, True), (-48, True), (48.01, False), (-48.01, False)])
def test_copies_appear_within_two_days(hours: float, same: bool) -> None:
    headline = "Wildfire forces thousands to evacuate homes near Los Angeles"
    assert same_story(told(headline, "A"), told(headline, "B", hours=hours)) is same


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("Markets close higher", "Markets close higher", True),
        ("Markets close higher", "Markets close much higher", False),
        ("Open thread", "Open thread", False),
    ],
)
def test_a_house_may_repeat_a_short_headline_only_word_for_word(one: str, other: str, same: bool) -> None:
    assert same_story(told(one, "BBC News"), told(other, "BBC News - Business")) is same
    assert same_story(told(one, "A", "bbc.co.uk"), told(other, "B", "bbc.co.uk")) is same
    assert not same_story(told(one, "BBC News"), told(other, "Sky News"))


@pytest.mark.parametrize(
    ("one", "other", "kin"),
    [
        (("BBC News", None), ("BBC News - World", None), True),
        (("The Guardian", None), ("Football | The Guardian", None), True),
        (("NYT > Top Stories", None), ("NYT > World News", None), True),
        (("Fox News", None), ("Fox Sports", None), True),
        (("A", "news.example"), ("B", "news.example"), True),
        (("A", "news.example"), ("B", "other.example"), False),
        (("A", "substack.com"), ("B", "substack.com"), False),
        (("BBC News", None), ("Sky News", None), False),
        (("The Times", None), ("The New York Times", None), False),
        (("News", None), ("BBC News", None), False),
        (("World news", None), ("World News", None), False),
        (("Football | The Guardian", None), ("Football - BBC", None), False),
        (("", None), ("", None), False),
    ],
)
def test_which_sources_belong_to_one_house(one: tuple[str, str | None], other: tuple[str, str | None], kin: bool) -> None:
    a, b = told("x", *one), told("x", *other)
    assert related(a, b) is related(b, a) is kin


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Russia attacks Ukraine energy infrastructure overnight", "Ukraine attacks Russia energy infrastructure overnight"),
        ("US warns China over Taiwan military drills", "China warns US over Taiwan military drills"),
        ("Man kills dog in brutal park attack", "Dog kills man in brutal park attack"),
        ("Verstappen beats Leclerc to pole position in Monaco", "Leclerc beats Verstappen to pole position in Monaco"),
    ],
)
def test_who_does_what_to_whom_is_told_by_the_order_of_the_words(one: str, other: str) -> None:
    assert not same_story(told(one), told(other))


BRIEFING = "The prime minister resigned last night after a day of votes that nobody in his own party wanted to lose again"
OTHER_BRIEFING = "Farmers in the north are counting what the hail has left of their apples, and insurers prepare for many claims"


def test_a_rubric_over_different_texts_is_no_story() -> None:
    rubric = "Friday briefing: five stories that matter before breakfast"
    assert not same_story(told(rubric, "A", text=BRIEFING), told(rubric, "B", text=OTHER_BRIEFING))
    assert same_story(told(rubric, "A", text=BRIEFING), told(rubric, "B", text=f"LONDON (AP) - {BRIEFING} and more"))
    assert same_story(told(rubric, "A", text=BRIEFING), told(rubric, "B", text="Read more"))


def test_a_long_headline_is_no_rubric_whatever_stands_below_it() -> None:
    headline = "Quake kills dozens in northern Japan as rescuers search collapsed homes"
    assert same_story(told(headline, "A", text=BRIEFING), told(headline, "B", text=OTHER_BRIEFING))


def test_how_many_keys_a_headline_has() -> None:
    assert block_keys(frozenset()) == ()
    assert [len(block_keys(frozenset("abc"[:many]))) for many in (1, 2, 3)] == [1, 1, 1]
    assert block_keys(frozenset({"a", "b"})) != block_keys(frozenset({"a"}))
    keys = block_keys(tokens(SAME[0][0]))
    assert 2 <= len(keys) <= 4
    assert all(len(key) == 16 and int(key, 16) >= 0 for key in keys)


def test_keys_are_the_same_in_every_process() -> None:
    program = f"from feed_assets.decide.headlines import *; print(*block_keys(tokens({SAME[0][0]!r})))"
    for seed in ("1", "2"):
        ran = subprocess.run([sys.executable, "-c", program], env={"PYTHONHASHSEED": seed}, capture_output=True, text=True, check=True)
        assert tuple(ran.stdout.split()) == block_keys(tokens(SAME[0][0]))


@pytest.mark.parametrize("many", range(8, 16))
def test_near_copies_share_a_key(many: int) -> None:
    chance = random.Random(many)
    shared = 0
    for _ in range(1000):
        words = {f"word{chance.randrange(10**6)}" for _ in range(many)}
        near = words | {"inserted"} if chance.random() < 0.5 else words - {min(words)}
        shared += not set(block_keys(words)).isdisjoint(block_keys(near))
    assert shared >= 950


def test_unlike_headlines_share_no_key() -> None:
    chance = random.Random(0)
    headlines = [{f"word{chance.randrange(2000)}" for _ in range(10)} for _ in range(2000)]
    keys = [key for headline in headlines for key in block_keys(headline)]
    assert len(keys) - len(set(keys)) <= 10


@pytest.mark.parametrize(("one", "other"), SAME)
def test_real_copies_share_a_key(one: str, other: str) -> None:
    assert not set(block_keys(tokens(one))).isdisjoint(block_keys(tokens(other)))


PIECES = st.sampled_from([
    " - ", " | ", " :: ", ": ", "LIVE: ", "UPDATE 2-", "[", "]", "BBC", "News", "3-1", "1,000", "'s", "’", "é", "İ", "ß", "東京", "ข่าว",
    "storm", "hits", "coast", "\u0301", "\ud800", "½", "٣",
])  # fmt: skip
TEXT = st.lists(PIECES | st.text(max_size=5), max_size=12).map("".join)


@settings(max_examples=300, deadline=None, database=None, derandomize=True)
@given(TEXT, TEXT, TEXT, TEXT, st.integers(-60, 60))
def test_no_text_makes_it_fail_and_order_does_not_matter(one: str, source: str, other: str, publisher: str, hours: int) -> None:
    a, b = told(one, source), told(other, publisher, hours=hours)
    assert same_story(a, b) == same_story(b, a)
    assert related(a, b) == related(b, a)
    assert len(block_keys(a.tokens)) <= 4
    assert all(token and not token.isspace() for token in a.tokens)


@settings(max_examples=100, deadline=None, database=None, derandomize=True)
@given(st.sets(st.sampled_from("abcdefghijklmno"), min_size=5), st.sets(st.sampled_from("abcdefghijklmno"), min_size=5))
def test_similar_means_85_percent_in_common(one: set[str], other: set[str]) -> None:
    a, b = (Headline(tuple(sorted(words)), "", None, NOON) for words in (one, other))
    assert same_story(a, b) == (len(one & other) / len(one | other) >= 0.85)


@pytest.mark.parametrize("piece", ["LIVE: ", " - A", " | ", "[", "1,000.", "'s", " ", "東", "é", "1-"])
def test_a_megabyte_takes_no_time(piece: str) -> None:
    started = time.perf_counter()
    block_keys(tokens(piece * (1_000_000 // len(piece)), piece * 100_000))
    assert time.perf_counter() - started < 1
