"""Aggregates over trends, which are never built."""
