"""Event generators: a name, a number of events and a seed in; Parquet files or Arrow tables of events out."""

from eventide.generate.registry import GENERATORS, Generator, generate, sample

__all__ = ["GENERATORS", "Generator", "generate", "sample"]
