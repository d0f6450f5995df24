"""Event patterns with repetition, NOT, AND and OR: program, spec and operator."""
