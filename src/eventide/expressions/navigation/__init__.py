"""What a condition or a measure reads of other rows of its match."""
