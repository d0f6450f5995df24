"""Queries without PATTERN."""
