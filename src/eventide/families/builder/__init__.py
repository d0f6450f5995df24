"""Patterns that are built step by step: `ev.Pattern`."""
