"""Scalar expressions: types, the allow-list of both SQL engines, their texts, and the split by event."""
