"""Names for the array types that kernels take."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

IntArray: TypeAlias = NDArray[np.int64]
IndexArray: TypeAlias = NDArray[np.int32]  # row numbers of one block
BoolArray: TypeAlias = NDArray[np.bool_]
ShortArray: TypeAlias = NDArray[np.int16]
ByteArray: TypeAlias = NDArray[np.uint8]
HashArray: TypeAlias = NDArray[np.uint64]
