"""Fuzzing: random queries against the oracle (`queries`), and damage of saved state, query texts and cached code."""
