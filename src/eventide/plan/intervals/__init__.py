"""Intervals that are derived from point events: conditions, values, and what an engine runs."""
