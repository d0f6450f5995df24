"""The embedded engine: DuckDB evaluates what concerns one event, operators run on all cores."""
