from __future__ import annotations

import pickle

import pytest

from eventide.errors import QueryError
from tests.lang.rows.corpus import INVALID, read


@pytest.mark.parametrize(("text", "message"), INVALID, ids=[text[:60] for text, _ in INVALID])
def test_the_whole_message(text: str, message: str) -> None:
    with pytest.raises(QueryError) as caught:
        read(text)
    assert str(caught.value) == message
    assert str(pickle.loads(pickle.dumps(caught.value))) == message
