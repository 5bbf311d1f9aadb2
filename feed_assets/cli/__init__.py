"""The command line, `feed-assets`: an edge. Says what happened in plain words; exit codes are those of errors.py."""
