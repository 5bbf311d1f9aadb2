"""Publishing: the RSS 2.0 document served for a feed. Knows neither where items come from nor where the text goes."""

from feed_assets.publish.rss import Rendered, compose_rss, is_well_formed, recompose_rss, render_rss

__all__ = ["Rendered", "compose_rss", "is_well_formed", "recompose_rss", "render_rss"]
