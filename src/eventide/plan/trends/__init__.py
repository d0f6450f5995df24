"""From a bound query with aggregates over trends to its executable form."""
