"""Stories: the same in any script, order and portion; no rubric of one house, no accident."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.grouping import FEEDS, halves, judge, labelled
from feed_assets.decide.grouping import Grouping, Told, group, group_id_of

NOW = datetime(2026, 3, 2, 12, tzinfo=UTC)
CORPUS = Path(__file__).parents[3] / "shared" / "corpus"

STORIES = {
    "English": (
        ("Orcas can imitate human speech, research reveals", "Killer whales copy words such as hello and bye bye, a study of Wikie shows."),
        ("Killer whale Wikie learns to say hello", "Researchers taught the orca to imitate human speech at a French marine park."),
    ),
    "Russian": (
        ("Вулкан Шивелуч выбросил пепел на высоту 10 километров", "На Камчатке произошло извержение вулкана Шивелуч."),
        ("Пеплопад накрыл Ключи после извержения Шивелуча", "Столб пепла поднялся на 10 километров над вулканом на Камчатке."),
    ),
    "Chinese": (
        ("沪苏湖高铁正式通车运营", "上海至湖州最快五十五分钟可达,沪苏湖高铁今天开通运营。"),
        ("沪苏湖高铁今日开通 上海到湖州55分钟", "全长一百六十四公里的沪苏湖高铁投入运营。"),
    ),
    "Japanese": (
        ("ノーベル平和賞に日本被団協", "ノーベル委員会は平和賞を日本原水爆被害者団体協議会に授与すると発表した。"),
        ("日本被団協にノーベル平和賞 被爆者の訴え評価", "日本原水爆被害者団体協議会がノーベル平和賞に選ばれた。"),
    ),
    "Korean": (
        ("서울 지하철 노조 6일 총파업 예고", "서울교통공사 노조가 임금 협상 결렬로 총파업에 들어간다고 예고했다."),
        ("서울교통공사 노조, 6일부터 총파업 돌입하기로", "임금 협상이 결렬되면서 서울 지하철 노조가 총파업을 선언했다."),
    ),
    "Arabic": (
        ("قناة السويس تعلن تعويم ناقلة نفط جنحت في المجرى الملاحي", "أعلنت هيئة قناة السويس نجاح تعويم ناقلة النفط."),
        ("تعويم ناقلة جانحة في قناة السويس وانتظام الملاحة", "قال رئيس هيئة قناة السويس إن القاطرات نجحت في تعويم ناقلة النفط."),
    ),
    "Hebrew": (
        ("קו הרכבת המהיר לחיפה ייפתח רק ב-2027", "משרד התחבורה הודיע על עיכוב נוסף בקו הרכבת המהיר בין תל אביב לחיפה."),
        ("עיכוב נוסף: הרכבת המהירה לחיפה תידחה ל-2027", "הקו המהיר בין תל אביב לחיפה לא ייפתח בזמן, הודיע משרד התחבורה."),
    ),
    "Hindi": (
        ("प्याज के निर्यात पर लगी रोक हटी", "केंद्र सरकार ने प्याज के निर्यात पर प्रतिबंध हटाकर न्यूनतम मूल्य तय किया।"),
        ("सरकार ने प्याज निर्यात से प्रतिबंध हटाया", "किसानों की मांग पर प्याज के निर्यात की अनुमति दी गई, न्यूनतम मूल्य तय।"),
    ),
}


def told(name: str, headline: str, lead: str = "", *, source: str = "", hours: float = 0, **values: object) -> Told:
    return replace(Told(name, headline, lead, source or f"Source of {name}", None, NOW - timedelta(hours=hours)), **values)  # type: ignore[arg-type]


def everything() -> list[Told]:
    return [
        told(f"{language}-{place}", *telling, hours=place)
        for language, tellings in STORIES.items()
        for place, telling in enumerate(tellings)
    ]


def groups(found: Grouping | Mapping[str, str]) -> set[frozenset[str]]:
    members: dict[str, set[str]] = defaultdict(set)
    for article_id, group_id in (found.joined if isinstance(found, Grouping) else found).items():
        members[group_id].add(article_id)
    return {frozenset(each) for each in members.values()}


def in_portions(portions: Sequence[Sequence[Told]]) -> dict[str, str]:
    """The groups after a run for each portion, as the store would hand them on."""
    known: dict[str, Told] = {}
    founded: dict[str, datetime] = {}
    for number, portion in enumerate(portions):
        found = group([*known.values(), *portion], founded)
        known |= {each.article_id: replace(each, examined=True) for each in portion}
        known |= {article_id: replace(known[article_id], group_id=group_id) for article_id, group_id in found.joined.items()}
        founded |= {group_id: NOW + timedelta(minutes=number) for group_id in found.founded}
    return {article_id: each.group_id for article_id, each in known.items() if each.group_id}


@pytest.mark.parametrize("language", STORIES)
def test_two_publishers_tell_a_story_in_any_language(language: str) -> None:
    found = group(everything(), {})
    assert frozenset({f"{language}-0", f"{language}-1"}) in groups(found)


def test_nothing_at_all_and_empty_texts_make_no_group() -> None:
    assert group([], {}) == Grouping({}, {}, frozenset())
    assert group([told("a", ""), told("b", "", "!?"), told("c", "\x00 ...")], {}).joined == {}


def test_a_group_is_called_after_its_first_article() -> None:
    found = group(everything(), {})
    assert found.joined["Korean-0"] == found.joined["Korean-1"] == group_id_of("Korean-1")
    assert group_id_of("Korean-1") in found.founded


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Freight train derails in Ohio, no injuries reported", "Train carrying dozens of lawmakers hits truck in Virginia"),
        ("花蓮外海發生規模6.2地震 全台有感", "日本能登半島發生規模5.1地震 未發布海嘯警報"),
        ("The First Item", "The Second Item"),
        ("Weekly links", "Weekly links"),
        ("Доллар впервые с августа стоит меньше 90 рублей", "Центробанк поднял ключевую ставку до 16 процентов"),
    ],
)
def test_what_is_only_of_one_kind_is_no_story(one: str, other: str) -> None:
    assert groups(group([*everything(), told("one", one), told("other", other)], {})) == groups(group(everything(), {}))


def test_rubrics_of_one_house_are_no_story_but_join_what_others_tell() -> None:
    rubric = ("Market report: shares fall", "Shares in Frankfurt fell on Monday as chip makers lost ground after a warning from Qorvane.")
    house = [told(f"h{n}", *rubric, source=f"Bourse Letter - Part {n}", hours=n, domain="bourse.example") for n in range(3)]
    assert group([*everything(), *house], {}).joined.keys() == group(everything(), {}).joined.keys()
    other = told("paper", "Shares in Frankfurt fall after Qorvane warning", "Chip makers lost ground on Monday.")
    assert frozenset({"h0", "h1", "h2", "paper"}) in groups(group([*everything(), *house, other], {}))


def test_of_two_groups_that_become_one_the_older_gives_its_id() -> None:
    first, second = STORIES["Russian"]
    old = [told("a1", *first, group_id="zzz", examined=True), told("a2", *first, group_id="zzz", examined=True)]
    young = [told("b1", *second, group_id="aaa", examined=True), told("b2", *second, group_id="aaa", examined=True)]
    bridge = told("c", f"{first[0]}: {second[0]}", f"{first[1]} {second[1]}")
    found = group([*old, *young, bridge, *everything()[:2]], {"zzz": NOW - timedelta(days=1), "aaa": NOW})
    assert found.merged == {"aaa": "zzz"}
    assert found.joined == {"b1": "zzz", "b2": "zzz", "c": "zzz"} | {
        name: group_id for name, group_id in found.joined.items() if name.startswith("English")
    }


def test_a_chain_of_neighbours_is_not_one_story() -> None:
    """a is like b, b like c and so on, but the ends have nothing in common."""
    dice = random.Random(1)
    words = ["".join(dice.choices("abcdefghijklmnoprstuvz", k=7)) for _ in range(36)]
    links = [told(f"link-{n}", " ".join(words[n : n + 6])) for n in range(30)]
    assert 2 <= max(map(len, groups(group([*links, *everything()], {})))) <= len(links) / 2


@settings(max_examples=40, deadline=None, derandomize=True)
@given(st.randoms(use_true_random=False), st.integers(1, 5))
def test_the_same_articles_give_the_same_groups_in_any_order_and_in_any_portions(dice: random.Random, portions: int) -> None:
    articles = everything()
    at_once = group(articles, {})
    dice.shuffle(articles)
    assert group(articles, {}) == at_once
    cuts = sorted(dice.randrange(len(articles) + 1) for _ in range(portions - 1))
    parts = [articles[begin:end] for begin, end in zip([0, *cuts], [*cuts, len(articles)], strict=True)]
    assert groups(in_portions(parts)) == groups(at_once)


TEXTS = st.text(alphabet="ab cd\u0416\u6c34\u0e01\uac00\u05d0\u0301\x00\ud800 9", max_size=40)


@settings(max_examples=150, deadline=None, derandomize=True)
@given(st.lists(st.tuples(TEXTS, TEXTS, st.sampled_from("XYZ"), st.booleans(), st.sampled_from([None, "g1", "g2"])), max_size=12))
def test_whatever_is_told_groups_are_whole_and_of_several_articles(rows: list[tuple[str, str, str, bool, str | None]]) -> None:
    articles = [
        told(str(n), headline, lead, source=source, examined=examined or bool(group_id), group_id=group_id)
        for n, (headline, lead, source, examined, group_id) in enumerate(rows)
    ]
    founded = {"g1": NOW - timedelta(days=2), "g2": NOW - timedelta(days=1)}
    found = group(articles, founded)
    after = {each.article_id: found.joined.get(each.article_id, each.group_id) for each in articles}
    for gone, kept in found.merged.items():
        assert (gone, kept) == ("g2", "g1") and gone not in after.values()
    for group_id in found.founded:
        members = [each for each in articles if after[each.article_id] == group_id]
        assert len({each.source for each in members}) > 1
        assert not all(each.examined for each in members)
    assert found.founded.isdisjoint(founded)


@pytest.mark.skipif(not (CORPUS / FEEDS[0]).is_file(), reason="there is no shared/corpus beside the repository")
def test_labelled_headlines_are_grouped_precisely_and_mostly() -> None:
    set_ = labelled(CORPUS)
    for half in halves(set_):
        right, wrong, missed = judge(set_, half)
        assert right / (right + wrong) >= 0.95
        assert right / (right + missed) >= 0.85
