from __future__ import annotations

import pickle

import pytest

from eventide.errors import QueryError
from eventide.lang import parse
from tests.lang.corpus import INVALID


@pytest.mark.parametrize(("query", "message"), INVALID, ids=[query[:60] for query, _ in INVALID])
def test_the_whole_message(query: str, message: str) -> None:
    with pytest.raises(QueryError) as caught:
        parse(query)
    assert str(caught.value) == message
    assert str(pickle.loads(pickle.dumps(caught.value))) == message
