"""Why there is no match: how far into its pattern the events of each partition lead."""
