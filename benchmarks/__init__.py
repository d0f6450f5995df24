"""Benchmarks of Eventide against its limits and its peers: `python -m benchmarks --help`."""
