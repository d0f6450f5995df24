"""Situations and the matches of temporal patterns over them."""
