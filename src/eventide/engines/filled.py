"""A statement's text with other tables put in, which knows where its parts stand in what the user wrote."""

from __future__ import annotations

from dataclasses import dataclass

from eventide.lang.tree import Span


@dataclass(frozen=True, slots=True)
class Part:
    """Where a part of the text begins and ends, and what stands there in the statement: the same, or something else."""

    start: int
    end: int
    place: Span

    @property
    def is_same(self) -> bool:
        return self.end - self.start == self.place.end - self.place.start


@dataclass(frozen=True, slots=True)
class Filled:
    """A text for an engine.

    >>> filled = Filled("SELECT * FROM ") + Filled.of("a JOIN b", Span(7, 8)) + Filled(" AS c")
    >>> filled.text, filled.place(Span(14, 15)), filled.place(Span(19, 20))
    ('SELECT * FROM b AS c', Span(start=7, end=8), None)
    """

    text: str
    parts: tuple[Part, ...] = ()

    @staticmethod
    def of(statement: str, span: Span) -> Filled:
        """A part of the statement, as it is."""
        return Filled(statement[span.start : span.end], (Part(0, span.end - span.start, span),))

    @staticmethod
    def instead(text: str, span: Span) -> Filled:
        """A text that stands for a part of the statement."""
        return Filled(text, (Part(0, len(text), span),))

    def __add__(self, other: Filled) -> Filled:
        n = len(self.text)
        moved = (Part(part.start + n, part.end + n, part.place) for part in other.parts)
        return Filled(self.text + other.text, (*self.parts, *moved))

    def place(self, span: Span) -> Span | None:
        """Where a part of the text stands in the statement; None where only the engine sees it."""
        for part in self.parts:
            if part.start <= span.start and span.end <= part.end:
                if not part.is_same:
                    return part.place
                return Span(span.start - part.start + part.place.start, span.end - part.start + part.place.start)
        return None
