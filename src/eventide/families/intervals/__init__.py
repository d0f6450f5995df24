"""Intervals that are derived from runs of events, and from a start to an end."""
