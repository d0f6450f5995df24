"""Compiling with Numba: machine code kept in a folder of the user alone, and loaded only when it is what we wrote."""
