"""`feed-assets root-domain ...`: which site a feed belongs to, for /api/site, /rss/site and --enforce-domain."""

from __future__ import annotations

from collections import Counter
from typing import Annotated

import typer

from feed_assets import catalog
from feed_assets.cli.context import opened
from feed_assets.cli.output import print_json, print_table, say
from feed_assets.errors import UnknownFeed, UsageError
from feed_assets.refresh import utc_now
from feed_assets.store import Store
from feed_assets.urls import domain_of, lenient_key

app = typer.Typer(no_args_is_help=True, help="The sites that feeds belong to.")

FeedOrUrl = Annotated[str, typer.Argument(help="A feed's id, or its URL.", show_default=False)]


@app.command("list", epilog="Example: feed-assets root-domain list")
def list_domains(as_json: Annotated[bool, typer.Option("--json", help="For programs.")] = False) -> None:
    """All sites, with the number of their feeds."""
    _, store = opened()
    with store.read() as tx:
        sites = Counter(feed.root_domain for feed in tx.feeds.live())
    rows = sorted(sites.items(), key=lambda each: (each[0] is None, each[0] or ""))
    if as_json:
        print_json([{"root_domain": domain, "feeds": feeds} for domain, feeds in rows])
    else:
        print_table(("root domain", "feeds"), ((domain or "(none)", str(feeds)) for domain, feeds in rows))


@app.command("set", epilog="Example: feed-assets root-domain set bbc-world bbc.co.uk")
def set_domain(feed: FeedOrUrl, domain: Annotated[str, typer.Argument(help="Such as example.com.", show_default=False)]) -> None:
    """Say which site a feed belongs to."""
    _set(feed, checked_domain(domain))


@app.command("clear", epilog="Example: feed-assets root-domain clear bbc-world")
def clear_domain(feed: FeedOrUrl) -> None:
    """Let a feed belong to no site."""
    _set(feed, None)


def checked_domain(domain: str) -> str:
    """A registrable domain, or what is wrong with it."""
    site = domain.strip().lower()
    if "/" in site or domain_of(f"https://{site}") != site:
        known = domain_of(site if "://" in site else f"https://{site}")
        raise UsageError(f"{domain!r} is not a registrable domain" + (f"; did you mean {known}?" if known else ", such as example.com"))
    return site


def _set(feed: str, domain: str | None) -> None:
    settings, store = opened()
    feed_id = _find(store, feed)
    catalog.edit_feed(store, settings, feed_id, now=utc_now(), root_domain=domain)
    say(f"{feed_id} belongs to {domain}" if domain else f"{feed_id} belongs to no site")


def _find(store: Store, feed: str) -> str:
    """The id of the feed with this id, or at this URL."""
    with store.read() as tx:
        live = tx.feeds.live()
    found = [each.feed_id for each in live if each.feed_id == feed or each.url == feed]
    found = found or [each.feed_id for each in live if lenient_key(each.url) == lenient_key(feed)]
    if not found:
        raise UnknownFeed(feed)
    return found[0]
