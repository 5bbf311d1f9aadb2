"""Parsing: bytes in, a `ParsedFeed` out, or `NotAFeed` with what the document seems to be. Knows neither HTTP nor the store."""

from feed_assets.parse.discovery import FeedLink, feed_links
from feed_assets.parse.document import parse_document
from feed_assets.parse.page import main_text
from feed_assets.parse.sanitize import headline, plain_text, sanitize_html

__all__ = ["FeedLink", "feed_links", "headline", "main_text", "parse_document", "plain_text", "sanitize_html"]
