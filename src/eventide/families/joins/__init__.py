"""Pairs of rows of two inputs that are near each other in time."""
