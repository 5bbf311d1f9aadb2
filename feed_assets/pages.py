"""The pages of articles, fetched with the manners of a feed: one request at a time per host, with rests, hosts shared with the batches.

Composes fetch and parse with the store, which knows whose turn a host is.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta

from feed_assets.fetch import ACCEPT_PAGES, Crew, Fetcher, Postponed
from feed_assets.holding import HOST_LEASE
from feed_assets.model import FetchRequest, FetchResult, Outcome
from feed_assets.parse import main_text
from feed_assets.settings import Settings
from feed_assets.store import Store

_AT_ONCE = 100
_SECONDS = 1.0
_KINDS = ("text/html", "application/xhtml")


def fetch_texts(store: Store, settings: Settings, token: str, urls: Mapping[str, str], clock: Callable[[], datetime]) -> dict[str, str]:
    """name -> the text of the page at its URL. What cannot be had now, or is no page, is left out.

    The caller renews the hosts that are held under `token`.
    """
    texts: dict[str, str] = {}
    with Fetcher(settings, clock, accept=ACCEPT_PAGES) as fetcher:
        crew = Crew(fetcher, settings, clock, _read)
        try:
            for name, url in urls.items():
                crew.add(FetchRequest(name, url))
            asked: float | None = None
            while crew.pending:
                wanted = crew.hosts_wanted()
                if wanted and (asked is None or time.monotonic() - asked > _SECONDS):
                    _open(store, settings, token, crew, wanted, clock())
                    asked = time.monotonic()
                for each in crew.collect(most=_AT_ONCE, seconds=_SECONDS):
                    if not isinstance(each, Postponed) and each[1]:
                        texts[each[0]] = each[1]
                if news := crew.host_news():
                    with store.begin() as tx:
                        tx.hosts.learn(token, news)
        finally:
            crew.stop()
            with store.begin() as tx:
                tx.hosts.release(token, now=clock())
    return texts


def _open(store: Store, settings: Settings, token: str, crew: Crew[tuple[str, str]], wanted: Mapping[str, int], now: datetime) -> None:
    expected = {host: now + timedelta(seconds=pages * settings.domain_delay_seconds) for host, pages in Counter(wanted).items()}
    with store.begin() as tx:
        states = tx.hosts.reserve(token, expected, now=now, lease=HOST_LEASE)
    for state in states:
        crew.open_host(state, ours=state.busy_token == token)


def _read(result: FetchResult) -> tuple[str, str]:
    kind = next((value for name, value in result.headers.items() if name.lower() == "content-type"), "")
    if result.outcome is not Outcome.SUCCESS or result.body is None or not kind.lower().startswith(_KINDS):
        return result.feed_id, ""
    return result.feed_id, main_text(result.body, kind)
