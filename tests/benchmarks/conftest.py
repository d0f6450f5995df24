"""Makes the top-level folder `benchmarks` importable, here and in the harness's child processes."""

import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parents[2]), str(Path(__file__).resolve().parent)]
