"""Dagster: the only package that imports it. Translates between runs, partitions, events and the plain functions beside it."""

import warnings

import dagster as dg

# Per-partition asset checks are a preview feature; we know, and our users need not be told at each start.
warnings.filterwarnings("ignore", category=dg.PreviewWarning)
warnings.filterwarnings("ignore", category=dg.BetaWarning)

from feed_assets.defs.build import build_definitions  # noqa: E402

__all__ = ["build_definitions"]
