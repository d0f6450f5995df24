"""From a MATCH_RECOGNIZE clause and a schema to what an engine runs."""
