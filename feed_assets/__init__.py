"""feed_assets: polls RSS, Atom and JSON feeds politely and shows each feed as a Dagster partition."""

from importlib.metadata import PackageNotFoundError, version

try:
    __version__ = version("feed-assets")
except PackageNotFoundError:  # a source tree that was never installed
    __version__ = "0.0.0"
