"""What users call, by what they ask for."""
