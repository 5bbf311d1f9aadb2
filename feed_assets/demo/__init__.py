"""The demo publisher: a small press of make-believe feeds on loopback that keep publishing. Uses nothing else of feed_assets."""

from feed_assets.demo.feeds import DEMO_FEEDS, DemoFeed
from feed_assets.demo.server import Publisher, demo_urls

__all__ = ["DEMO_FEEDS", "DemoFeed", "Publisher", "demo_urls"]
