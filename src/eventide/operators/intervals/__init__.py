"""Deriving intervals from point events."""
