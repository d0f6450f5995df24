"""The operator of MATCH_RECOGNIZE: programs, matching, measures."""
