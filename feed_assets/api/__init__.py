"""The HTTP API: read-only, an edge beside Dagster. Serves what is finished; knows nothing of how it was made."""
