"""Pairs of intervals that stand in a relation of Allen."""
