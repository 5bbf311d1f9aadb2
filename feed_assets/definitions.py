"""Dagster's entry point: `dagster dev`, workspace.yaml and the code server load this."""

from feed_assets.defs import build_definitions

defs = build_definitions()
