"""Situations, which last, and the relations between them."""
