"""Columns into another order."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from eventide.runtime.rearrange import rearrange_integers
from eventide.runtime.threads import share_among_threads


@pytest.mark.parametrize("n_values", [3, 300])
@pytest.mark.parametrize("n_threads", [1, 2])
def test_codes_give_what_they_stand_for(n_values: int, n_threads: int) -> None:
    random = np.random.default_rng(0)
    n = 200_000
    values = random.integers(0, n_values, n) << 40
    order = random.permutation(n)
    parts = [pa.array(values[:70]).dictionary_encode(), pa.array(values[70:]).dictionary_encode()]
    for column in (pa.chunked_array(parts), pa.chunked_array([values])):
        out = np.empty(n, np.int64)
        rearrange_integers(column, order, out, n_threads)
        assert (out == values[order]).all()


def test_nothing() -> None:
    out = np.empty(0, np.int64)
    rearrange_integers(pa.chunked_array([], pa.dictionary(pa.int32(), pa.int64())), np.empty(0, np.int64), out)
    rearrange_integers(pa.chunked_array([], pa.int64()), np.empty(0, np.int64), out)


def test_an_error_in_a_thread_is_an_error() -> None:
    def fail_at_two(share: int) -> int:
        if share == 2:
            raise OverflowError("two")
        return share

    with pytest.raises(OverflowError, match="two"):
        share_among_threads(fail_at_two, [1, 2, 3])
    assert share_among_threads(fail_at_two, [1, 3]) == [1, 3]
    assert share_among_threads(fail_at_two, []) == []
