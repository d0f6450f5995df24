"""The functions that messages say Spark SQL has are those that it has."""

from __future__ import annotations

from typing import Any

import pytest

from eventide.expressions.spark_names import SPARK_FUNCTIONS


@pytest.mark.spark
def test_the_names_of_functions_are_those_of_spark(spark: Any) -> None:
    names, listed = set(), spark._jsparkSession.sessionState().functionRegistry().listFunction().iterator()
    while listed.hasNext():
        names.add(listed.next().funcName().lower())
    assert {name for name in names if name.isidentifier()} == SPARK_FUNCTIONS
