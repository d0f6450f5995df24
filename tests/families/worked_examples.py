"""The worked examples of the semantics: how many matches, and as many trends, a pattern has."""

from __future__ import annotations

NEGATED = "a1 b2 c2 a3 e3 a4 c5 d6 b7 a8 b9"
# The pattern, the strategy, the events (a letter is the type, the number the time), how many there are.
WORKED_EXAMPLES = [
    ("(SEQ(A+, B))+", "any", "a1 b2 a3 a4 c5 b6 a7 b8", 43),
    ("(SEQ(A+, B))+", "next", "a1 b2 a3 a4 c5 b6 a7 b8", 8),
    ("(SEQ(A+, B))+", "contiguous", "a1 b2 a3 a4 c5 b6 a7 b8", 2),
    ("(SEQ(A+, B))+", "any", "a1 b2 a3 a4 b7", 11),
    ("SEQ(A, B*, C)", "contiguous", "a1 b2 a3 c4 b5 c6", 1),
    ("SEQ(A, B*, C)", "next", "a1 b2 a3 c4 b5 c6", 2),
    ("SEQ(A, B*, C)", "any", "a1 b2 a3 c4 b5 c6", 9),
    ("(SEQ(A+, NOT SEQ(C, NOT E, D), B))+", "any", NEGATED, 13),
    ("SEQ(A+, NOT E)", "any", NEGATED, 14),
    ("SEQ(NOT E, A+)", "any", NEGATED, 12),
    ("SEQ(A, B, C, D)", "any", "a1 b2 a3 c3 b4 b5 d5 c7 d8", 7),
]
