"""Derived intervals."""
