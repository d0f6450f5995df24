"""Numba functions on NumPy arrays, nothing else."""
