"""Relating two interval tables: the relations asked for, and the plan."""
