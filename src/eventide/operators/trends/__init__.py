"""Aggregates over all trends of a pattern, without building a trend."""
