"""Event patterns with repetition, NOT, AND and OR, from the logical plan to the operator's spec."""
