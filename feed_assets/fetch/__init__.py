"""Fetching: HTTP exchanges, politely, and a verdict on how they went. Knows nothing of feeds' contents or of the store."""

from feed_assets.fetch.client import ACCEPT_PAGES, Fetcher
from feed_assets.fetch.crew import Crew, Postponed
from feed_assets.fetch.hints import with_hints

__all__ = ["ACCEPT_PAGES", "Crew", "Fetcher", "Postponed", "with_hints"]
