"""What the queries of every poll and of every reader cost on Postgres with 100,000 feeds and 10 million articles.

    python -m benchmarks.plans [--feeds 100000] [--articles 10000000]

Fills a database with rows that are as large as real ones where it matters (keys), one feed having brought a twentieth of all articles,
and runs each query with what a batch of 200 feeds or a reader asks for. A query that reads a large table from end to end is named.
Takes some minutes and about 2 kB of disk for each article.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import time
from collections.abc import Iterator, Mapping
from typing import Any

import psycopg

from feed_assets.refresh import utc_now
from feed_assets.store import open_store
from feed_assets.store.queries import load_queries
from feed_assets_tests.support.databases import drop_postgres_database, new_postgres_database

_LARGE = {"raw_items", "deduped_articles", "article_sources", "dedup_cache", "fetch_history"}
_BATCH = 200

_FILL = (
    """INSERT INTO feeds (feed_id, url, source_name, root_domain, created_at, updated_at)
       SELECT 'feed-' || n, 'https://site-' || n || '.example/feed', 'Site ' || n, 'site-' || n %% 20000 || '.example', now(), now()
       FROM generate_series(0, %(feeds)s - 1) n""",
    """INSERT INTO feed_schedules (feed_id, next_run_at, last_fetched_at, last_success_at, last_status, interval_seconds)
       SELECT 'feed-' || n, now() + (n %% 900 - 15) * INTERVAL '1 second', now(), now(), 'success', 900
       FROM generate_series(0, %(feeds)s - 1) n""",
    """CREATE TEMPORARY TABLE story AS
       SELECT n, CASE WHEN n %% 20 = 0 THEN 'feed-0' ELSE 'feed-' || (n::bigint * 7919) %% %(feeds)s END AS feed_id,
              now() - n * INTERVAL '3 seconds' AS at, encode(sha256(n::text::bytea), 'hex') AS key
       FROM generate_series(1, %(articles)s) n""",
    """INSERT INTO raw_items (feed_id, item_hash, guid, url, title, published_at, content, raw, content_hash, fetch_id, first_seen_at,
                              last_seen_at, id_key, link_key, title_key, text_key, public_id)
       SELECT feed_id, key, 'guid-' || n, 'https://site.example/' || n, 'Title ' || n, at, 'Text', '{}', left(key, 32), 'fetch', at, at,
              key, left(key, 40), left(key, 41), left(key, 42), 'guid-' || n FROM story""",
    """INSERT INTO deduped_articles (article_id, url, canonical_url, headline, source, feed_id, published_at, content, fetched_at)
       SELECT left(key, 32), 'https://site.example/' || n, 'site.example/' || n, 'Title ' || n, feed_id, feed_id, at, 'Text',
              at FROM story""",
    """INSERT INTO article_sources (article_id, feed_id, item_hash, moment_at) SELECT left(key, 32), feed_id, key, at FROM story""",
    """INSERT INTO dedup_cache (content_hash, feed_id, article_id, created_at, expires_at)
       SELECT key, feed_id, left(key, 32), at, at + INTERVAL '1 year' FROM story""",
    """INSERT INTO fetch_history (fetch_id, feed_id, fetch_time, outcome)
       SELECT 'f' || n, feed_id, at, 'success' FROM story WHERE n %% 4 = 0""",
)


def fill(connection: psycopg.Connection[Any], feeds: int, articles: int) -> None:
    """Rows first, indexes after: a fifth of the time."""
    found = connection.execute(
        "SELECT indexname, indexdef FROM pg_indexes i WHERE schemaname = 'public' AND tablename = ANY(%s) "
        "AND NOT EXISTS (SELECT 1 FROM pg_constraint c WHERE c.conname = i.indexname)",
        [sorted(_LARGE)],
    ).fetchall()
    for name, _ in found:
        connection.execute(f'DROP INDEX "{name}"'.encode())
    for statement in _FILL:
        connection.execute(statement.encode(), {"feeds": feeds, "articles": articles})
        connection.commit()
    for _, definition in found:
        connection.execute(definition.encode())
    connection.commit()
    connection.autocommit = True
    connection.execute("VACUUM (ANALYZE)")
    connection.autocommit = False


def key(number: int) -> str:
    return hashlib.sha256(str(number).encode()).hexdigest()


def questions(feeds: int, articles: int) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    """What is asked, by which query, with what."""
    batch = [f"feed-{number}" for number in range(1, _BATCH + 1)]
    items = [(batch[number % _BATCH], key(number)) for number in range(_BATCH * 30)]
    pairs = {"feed_ids": [feed_id for feed_id, _ in items], "keys": [found for _, found in items]}
    page: dict[str, Any] = {"source": None, "group_id": None, "since": None, "fetched_since": None, "after_at": None, "after_id": ""}
    page |= {f"word_{place}": None for place in range(1, 5)} | {"articles": 50}
    now = utc_now()
    yield "claim a batch of what is due", "claim_due", {"now": now, "until": now, "token": "t", "batch": _BATCH}
    yield "count the queue", "queue_counts", {"now": now}
    yield "find the items of 200 documents", "known_by_id", pairs
    yield "find them by link, title or text", "known_alike", pairs
    yield "look 6,000 items up in the memory", "remembered", {"hashes": [found for _, found in items]}
    yield "who else carried 6,000 stories", "sources_of", {"article_ids": [found[:32] for _, found in items]}
    yield "the newest items of 200 feeds", "latest_items", {"feed_ids": batch, "items": 50}
    yield "the newest items of the busiest feed", "latest_items", {"feed_ids": ["feed-0"], "items": 50}
    yield "count the items of 200 feeds", "item_counts", {"feed_ids": batch}
    yield "API: the newest articles", "articles_page", page
    yield "API: those of a quiet feed", "articles_page_of_feed", page | {"feed_id": f"feed-{feeds - 1}"}
    yield "API: those of the busiest feed", "articles_page_of_feed", page | {"feed_id": "feed-0"}
    yield "API: a frequent word", "articles_page", page | {"word_1": "%title 1%"}
    yield "API: the article at a URL", "article_at_url", {"canonical_url": f"site.example/{articles // 2}"}
    yield "API: a feed's history", "feed_history", {"feed_id": "feed-7", "rows": 50}
    yield "API: one feed", "overview", {"feed_id": "feed-7"}
    yield "recovery: feeds that are overdue", "stale_feeds", {"now": now, "usual": 900}


def scans(plan: Mapping[str, Any]) -> set[str]:
    """Large tables that the plan reads from end to end."""
    own = {plan["Relation Name"]} if plan["Node Type"] == "Seq Scan" and plan.get("Relation Name") in _LARGE else set()
    return own.union(*(scans(each) for each in plan.get("Plans", ())))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--feeds", type=int, default=100_000)
    parser.add_argument("--articles", type=int, default=10_000_000)
    options = parser.parse_args()
    url = new_postgres_database()
    open_store(url).close()
    queries = load_queries("postgres", "%({})s")
    try:
        with psycopg.connect(url) as connection:
            began = time.monotonic()
            fill(connection, options.feeds, options.articles)
            (size,) = connection.execute("SELECT pg_database_size(current_database())").fetchone() or (0,)
            took = time.monotonic() - began
            print(f"{options.feeds:,} feeds, {options.articles:,} articles: {size / 1e9:.1f} GB, filled in {took:.0f} s\n")
            print("| | query | milliseconds | rows | reads a large table whole |\n|---|---|---|---|---|")
            for what, name, parameters in questions(options.feeds, options.articles):
                text = re.sub(r"(?m)^--.*$", "", queries[name])
                for _ in range(2):  # the second time, as it is when the database is in use
                    row = connection.execute(f"EXPLAIN (ANALYZE, FORMAT JSON) {text}".encode(), parameters).fetchone()
                    connection.rollback()
                assert row is not None
                found = row[0] if isinstance(row[0], list) else json.loads(row[0])
                plan = found[0]["Plan"]
                spent = found[0]["Planning Time"] + found[0]["Execution Time"]
                print(f"| {what} | `{name}` | {spent:.1f} | {plan['Actual Rows']:,.0f} | {', '.join(sorted(scans(plan)))} |", flush=True)
    finally:
        drop_postgres_database(url)


if __name__ == "__main__":
    main()
