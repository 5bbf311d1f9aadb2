"""Decisions: pure functions over data. What is new, what is the same story, when to come back. No clock, no I/O."""
