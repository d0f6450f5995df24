"""The columns of a block that only intervals have, and the bits of its mask that tell the sides apart."""

from __future__ import annotations

from typing import Final

START: Final = "v0"  # of an interval; its end is the block's time
LEFT: Final = 1  # bits of the mask
RIGHT: Final = 2
