"""`feed-assets root-domain ...` on both engines."""

from __future__ import annotations

import pytest

from feed_assets_tests.support.command_line import Run, assert_failed


@pytest.fixture
def sites(both: Run) -> Run:
    for number, url in enumerate(("https://news.bbc.co.uk/feed", "https://feeds.bbc.co.uk/sport", "https://blog.example.org/feed")):
        assert both("feed", "add", url, "--id", f"feed-{number}", "--no-fetch").code == 0
    return both


def domains(run: Run) -> dict[str | None, int]:
    return {row["root_domain"]: row["feeds"] for row in run("root-domain", "list", "--json").json()}


def test_sites_are_listed_with_the_number_of_their_feeds(sites: Run) -> None:
    assert domains(sites) == {"bbc.co.uk": 2, "example.org": 1}
    lines = [line.split() for line in sites("root-domain", "list").out.splitlines()]
    assert lines == [["root", "domain", "feeds"], ["bbc.co.uk", "2"], ["example.org", "1"]]


def test_a_site_is_set_and_cleared_by_id_or_url(sites: Run) -> None:
    assert sites("root-domain", "set", "feed-2", "Other.org").out == "feed-2 belongs to other.org\n"
    assert sites("root-domain", "clear", "http://NEWS.bbc.co.uk/feed/").code == 1  # another scheme is another URL
    assert sites("root-domain", "clear", "https://NEWS.bbc.co.uk/feed/").out == "feed-0 belongs to no site\n"
    assert domains(sites) == {"bbc.co.uk": 1, "other.org": 1, None: 1}
    assert "(none)" in sites("root-domain", "list").out


@pytest.mark.parametrize(
    ("domain", "word"), [("www.bbc.co.uk", "did you mean bbc.co.uk?"), ("co.uk", "such as"), ("https://a.org/x", "a.org"), ("", "such as")]
)
def test_what_is_no_site_is_bad_usage(sites: Run, domain: str, word: str) -> None:
    assert_failed(sites("root-domain", "set", "feed-2", domain), 2, word)


def test_an_unknown_feed_fails(both: Run) -> None:
    assert_failed(both("root-domain", "set", "nowhere", "bbc.co.uk"), 1, "nowhere")
    assert_failed(both("root-domain", "clear", "https://nowhere.example/"), 1, "nowhere")
    assert both("root-domain", "list", "--json").json() == []


def test_edit_takes_no_site_that_is_none(news: Run) -> None:
    assert_failed(news("feed", "edit", "news", "--root-domain", "not a domain"), 2, "not a registrable domain")
    assert news("feed", "edit", "news", "--root-domain", "").code == 0
