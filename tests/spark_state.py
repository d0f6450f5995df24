"""Plain objects that play the part of Spark's state and timers of one key."""

from __future__ import annotations

from typing import Any


class Value:
    """`ValueState` of one key."""

    def __init__(self) -> None:
        self.held: Any = None

    def get(self) -> Any:
        return self.held

    def update(self, row: tuple[Any, ...]) -> None:
        self.held = row


class Map(dict[Any, Any]):
    """`MapState` of one key; remembers which keys were written or removed, and counts the bytes written."""

    def __init__(self) -> None:
        super().__init__()
        self.touched: set[Any] = set()
        self.written = 0

    def getValue(self, key: Any) -> Any:  # noqa: N802
        return self.get(key)

    def updateValue(self, key: Any, value: Any) -> None:  # noqa: N802
        self.touched.add(key)
        self.written += len(value[0])
        self[key] = value

    def removeKey(self, key: Any) -> None:  # noqa: N802
        self.touched.add(key)
        del self[key]


class Timers(set[int]):
    """Timers of one key; registering one twice or deleting one that is not there is an error here."""

    def registerTimer(self, ms: int) -> None:  # noqa: N802
        assert ms not in self
        self.add(ms)

    def deleteTimer(self, ms: int) -> None:  # noqa: N802
        self.remove(ms)
