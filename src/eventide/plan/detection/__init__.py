"""Patterns of the builder: steps, their automaton, their conditions, and what an engine runs."""
