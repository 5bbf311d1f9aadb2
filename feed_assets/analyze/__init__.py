"""Analyzing: an article in, a score, a summary and facts out. Knows nothing of feeds, of the store or of who asks.

The plug-in point: a package that adds an analyzer names a factory in the entry point group `feed_assets.analyzers`.
"""

from feed_assets.analyze.analyzer import Analyzer, ArticleText, AskAgain, BadAnswer, Refused, Unavailable
from feed_assets.analyze.answer import checked
from feed_assets.analyze.loading import load_analyzer

__all__ = ["Analyzer", "ArticleText", "AskAgain", "BadAnswer", "Refused", "Unavailable", "checked", "load_analyzer"]
