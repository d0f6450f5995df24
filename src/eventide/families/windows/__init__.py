"""Aggregates over windows of time, windows of so many events, and sessions."""
