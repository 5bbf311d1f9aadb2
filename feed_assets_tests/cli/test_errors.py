"""Exit codes: 2 for bad usage, 1 for an operation that failed, one line on stderr, never a traceback, never a password."""

from __future__ import annotations

import shutil
from pathlib import Path

import duckdb
import pytest

from feed_assets import catalog
from feed_assets.refresh import utc_now
from feed_assets.store import open_store
from feed_assets_tests.support.command_line import Run, assert_failed, run_as_process

SECRET = "hunter2"


@pytest.mark.parametrize(
    ("url", "word"),
    [
        ("news.example/feed", "no scheme"),
        ("localhost:8000/feed", "http://"),
        ("ftp://news.example/feed", "ftp:"),
        ("file:///etc/hosts", "file:"),
        ("javascript:alert(1)", "http://"),
        ("https://", "not a URL"),
        ("https://news example/feed", "not a URL"),
        ("https://news.example:99999/feed", "not a URL"),
        ("https://[news.example/feed", "not a URL"),
        ("https://news.example/a\nb", "not a URL"),
        ("", "no scheme"),
    ],
)
def test_a_url_that_cannot_be_fetched_is_bad_usage(run: Run, url: str, word: str) -> None:
    assert_failed(run("feed", "add", url), 2, word)


@pytest.mark.parametrize(
    "arguments",
    [
        ["feed", "add", "https://a.example/", "--interval", "0"],
        ["feed", "add", "https://a.example/", "--interval", "10081"],
        ["feed", "add", "https://a.example/", "--priority", "99999999999"],
        ["feed", "add", "https://a.example/", "--id", "Two Words"],
        ["feed", "add", "https://a.example/", "--id", ""],
        ["feed", "edit", "news", "--interval", "-5"],
        ["feed", "edit", "news", "--url", "gopher://news.example"],
        ["feed", "edit", "news", "--name", ""],
        ["feed", "edit", "news", "--adaptive", "--interval", "5"],
        ["feed", "edit", "news"],
        ["feed", "import", "no-such-file.yaml"],
        ["refresh", "--due", "--all"],
        ["refresh", "--all", "news"],
        ["replay"],
        ["replay", "--all", "news"],
    ],
    ids=" ".join,
)
def test_what_makes_no_sense_is_bad_usage_with_a_one_line_reason(news: Run, arguments: list[str]) -> None:
    assert_failed(news(*arguments), 2)


@pytest.mark.parametrize(
    "arguments",
    [
        ["bogus"],
        ["feed", "bogus"],
        ["feed", "add"],
        ["feed", "list", "--bogus"],
        ["feed", "add", "https://a.example/", "--interval", "often"],
        ["feed", "add", "https://a.example/", "--error-policy", "forgive"],
        ["feed", "polling", "news", "maybe"],
        ["feed", "show"],
        ["refresh", "--bogus"],
        ["serve", "--port", "eighty"],
    ],
    ids=" ".join,
)
def test_unknown_commands_options_and_values_are_bad_usage(bare: Run, arguments: list[str]) -> None:
    ran = bare(*arguments)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("Usage: ")
    assert "Error" in ran.err


@pytest.mark.parametrize("content", ["not: a feeds file", "feeds: 5", "feeds: [https://a.example]", "", "{broken", "\x00"])
def test_a_file_that_is_no_feeds_file_is_bad_usage(run: Run, tmp_path: Path, content: str) -> None:
    file = tmp_path / "feeds.yaml"
    file.write_text(content)
    assert_failed(run("feed", "import", str(file)), 2, "feeds.yaml")


@pytest.mark.parametrize(
    ("variables", "word"),
    [
        ({"BATCH_SIZ": "5"}, "FEED_ASSETS_BATCH_SIZE"),
        ({"BATCH_SIZE": "many"}, "FEED_ASSETS_BATCH_SIZE"),
        ({"MIN_INTERVAL_MINUTES": "20", "MAX_INTERVAL_MINUTES": "10"}, "MAX_INTERVAL_MINUTES"),
        ({"PROFILE": "greedy"}, "FEED_ASSETS_PROFILE"),
        ({"DATABASE_URL": f"mysql://reader:{SECRET}@db.example/feeds"}, "DATABASE_URL"),
        ({"DATABASE_URL": "duckdb:///"}, "duckdb:///"),
    ],
)
def test_a_setting_that_is_unknown_or_wrong_is_bad_usage(bare: Run, variables: dict[str, str], word: str) -> None:
    ran = bare("feed", "list", **variables)
    assert_failed(ran, 2, word)
    assert SECRET not in ran.err


def test_a_dotenv_file_that_is_not_text_is_bad_usage(bare: Run) -> None:
    Path(".env").write_bytes(b"FEED_ASSETS_BATCH_SIZE=\xff\xfe\n")
    assert_failed(bare("config"), 2, ".env")


@pytest.mark.parametrize(
    "arguments",
    [
        ["feed", "show", "nowhere"],
        ["feed", "edit", "nowhere", "--priority", "1"],
        ["feed", "enable", "nowhere"],
        ["feed", "disable", "nowhere"],
        ["feed", "delete", "nowhere"],
        ["feed", "polling", "nowhere", "on"],
        ["feed", "sync", "nowhere"],
        ["feed", "show", "nowhere", "--json"],
        ["refresh", "nowhere"],
        ["refresh", "news", "nowhere", "--json"],
        ["replay", "nowhere"],
    ],
    ids=" ".join,
)
def test_an_unknown_feed_fails(news: Run, arguments: list[str]) -> None:
    assert_failed(news(*arguments), 1, "nowhere", "feed list")


def test_a_feed_that_is_there_already_fails(news: Run) -> None:
    news("feed", "add", "https://other.example/feed", "--id", "other")
    assert_failed(news("feed", "add", "https://news.example/feed"), 1, "'news'")
    assert_failed(news("feed", "add", "https://third.example/feed", "--id", "news"), 1, "choose another")
    assert_failed(news("feed", "edit", "other", "--url", "https://news.example/feed"), 1, "'news'")
    assert len(news("feed", "list", "--json").json()) == 2


def test_a_database_that_is_not_one_fails(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "letter.duckdb"
    path.write_text("Dear reader, " * 1000)
    assert_failed(run("feed", "list", DATABASE_URL=f"duckdb:///{path}"), 1, "letter.duckdb")
    assert_failed(run("db", "migrate", DATABASE_URL=f"duckdb:///{path}"), 1, "letter.duckdb")
    assert_failed(run("feed", "list", DATABASE_URL=f"duckdb:///{tmp_path}"), 1, "directory")
    assert_failed(run("feed", "list", DATABASE_URL=f"duckdb:///{path}/below.duckdb"), 1, "letter.duckdb")


def test_a_database_of_a_newer_version_fails(news: Run, tmp_path: Path) -> None:
    with duckdb.connect(str(tmp_path / "home" / "feeds.duckdb")) as database:
        database.execute("INSERT INTO schema_migrations VALUES (999, 'future', now())")
    assert_failed(news("feed", "list"), 1, "999", "newer")


@pytest.fixture(scope="module")
def private_home(news_home: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """`news`, and a feed `private` with a password in its URL."""
    home = tmp_path_factory.mktemp("private")
    shutil.copytree(news_home, home, dirs_exist_ok=True)
    store = open_store(f"duckdb:///{home / 'feeds.duckdb'}")
    catalog.add_feed(store, f"https://reader:{SECRET}@private.example/feed", now=utc_now(), feed_id="private")
    return home


@pytest.mark.parametrize(
    "arguments",
    [
        ["feed", "add", f"https://reader:{SECRET}@private.example/feed"],
        ["feed", "add", "https://other.example/feed", "--id", "private"],
        ["feed", "add", f"ftp://reader:{SECRET}@other.example/feed"],
        ["feed", "add", f"https://reader:{SECRET}@other example/feed"],
        ["feed", "add", f"https://reader:{SECRET}@other.example:port/feed"],
        ["feed", "edit", "news", "--url", f"https://reader:{SECRET}@private.example/feed"],
        ["feed", "import", "secret.yaml"],
    ],
    ids=["url taken", "id taken", "ftp", "space", "port", "edit", "import"],
)
def test_an_error_does_not_repeat_a_password(bare: Run, private_home: Path, arguments: list[str]) -> None:
    Path("secret.yaml").write_text(f"feeds: [{{url: 'ftp://reader:{SECRET}@other.example/feed'}}]")
    ran = bare(*arguments, HOME=str(private_home))
    assert ran.code in (1, 2)
    assert ran.err
    assert SECRET not in ran.out + ran.err


def test_what_works_does_not_print_a_password(run: Run) -> None:
    url = f"https://reader:{SECRET}@news.example/feed"
    said = [
        run("feed", "add", url, "--id", "news"),
        run("feed", "list"),
        run("feed", "list", "--json"),
        run("feed", "show", "news"),
        run("feed", "show", "news", "--json"),
        run("feed", "edit", "news", "--url", url + "2"),
    ]
    assert [ran.code for ran in said] == [0] * 6
    assert not any(SECRET in ran.out + ran.err for ran in said)
    assert said[4].json()["url"] == "https://reader:***@news.example/feed"


def test_a_process_ends_with_the_same_codes_and_no_traceback(tmp_path: Path) -> None:
    assert_failed(run_as_process(tmp_path, "feed", "add", "news.example/feed"), 2, "no scheme")
    assert_failed(run_as_process(tmp_path, "feed", "show", "nowhere"), 1, "nowhere")
