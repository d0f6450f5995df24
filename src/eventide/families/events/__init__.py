"""Event patterns: SEQ, AND, OR, NOT and repetition, under three strategies."""
