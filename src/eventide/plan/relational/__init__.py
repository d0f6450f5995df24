"""Event patterns as joins, unions and window functions: a small algebra, the mapping to it, and its SQL."""
