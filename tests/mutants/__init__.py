"""Small faults that the tests must notice: what they are, and the run that tries each."""
