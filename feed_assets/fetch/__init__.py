"""Fetching: one HTTP exchange, politely, and a verdict on how it went. Knows nothing of feeds' contents or of the store."""

from feed_assets.fetch.client import Fetcher
from feed_assets.fetch.turns import Turns

__all__ = ["Fetcher", "Turns"]
