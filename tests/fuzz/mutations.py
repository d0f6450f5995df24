"""Small damage, as disks, programs and hands do it: to bytes and to texts."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from random import Random

PAGE = 512
TOKEN = re.compile(r"\w+|'[^']*'|`[^`]*`|<=|>=|<>|\|\||\s+|.", re.DOTALL)
# Of each kind of token others that may stand in its place.
NUMBERS = ["0", "1", "-1", "0.5", "1e309", "1e-320", "9" * 20, str(2**63 - 1), "1.50", "5L", "1e309D", "NULL", "TRUE"]
STRINGS = ["''", "'A'", "'q1'", "'%'", "'1'", "'2026-01-01'", "'\\''", "'\u00e4\u20ac\U0001f600'", "NULL", "1"]
OPERATORS = ["<", ">", "=", "<=", ">=", "<>", "+", "-", "*", "/", "%", "||", "<=>", "&", "AND", "OR", "LIKE", "IN"]
NAMES = [
    *(
        "A",
        "B",
        "C",
        "a",
        "b",
        "c",
        "x",
        "y",
        "s",
        "k",
        "kind",
        "ts",
        "a.x",
        "b.y",
        "c.s",
        "*",
        "any",
        "next",
        "before",
    ),
    *("NEXT(c).x", "prev(x)", "count(*)", "count(a.*)", "sum(x)", "min(s)", "max(y)", "avg(x)", "first(x)", "last(y)"),
    *(
        "abs(x)",
        "upper(s)",
        "length(s)",
        "concat(s, s)",
        "coalesce(x, y)",
        "round(y, 1)",
        "if(x > 1, y, 2)",
        "hour(ts)",
    ),
    *("CAST(x AS STRING)", "CAST(s AS INT)", "size(x)", "array(x, 1)", "struct(x)", "map(1, 2)", "date_add(ts, 1)"),
    *("start(A)", "end(B)", "DATE '2026-01-01'", "5 seconds", "before", "if(x > 1, y, 2)"),
]


def flip_bits(data: bytes, random: Random) -> bytes:
    changed = bytearray(data)
    for _ in range(random.choice([1, 1, 1, 2, 8])):
        if changed:
            changed[random.randrange(len(changed))] ^= 1 << random.randrange(8)
    return bytes(changed)


def cut_short(data: bytes, random: Random) -> bytes:
    return data[: random.randrange(len(data))] if data else data


def extend(data: bytes, random: Random) -> bytes:
    return data + random.choice([b"\0" * random.randrange(1, 600), random.randbytes(random.randrange(1, 64)), data])


def zero_page(data: bytes, random: Random) -> bytes:
    start = random.randrange(0, max(len(data), 1), PAGE) if random.random() < 0.5 else random.randrange(len(data) + 1)
    size = min(random.choice([8, 64, PAGE]), len(data) - start)
    return data[:start] + b"\0" * size + data[start + size :]


def move_part(data: bytes, random: Random) -> bytes:
    """A stretch of the bytes over another one."""
    if len(data) < 2:
        return data
    size = random.randrange(1, max(2, min(64, len(data) // 2)))
    source, target = (random.randrange(len(data) - size + 1) for _ in range(2))
    return data[:target] + data[source : source + size] + data[target + size :]


BYTES: Sequence[Callable[[bytes, Random], bytes]] = (flip_bits, cut_short, extend, zero_page, move_part)


def damage(data: bytes, random: Random) -> bytes:
    return random.choice(BYTES)(data, random)


def change_text(text: str, pieces: Sequence[str], random: Random) -> str:
    """A few tokens or a few letters altered."""
    return change_tokens(text, random) if random.random() < 0.7 else change_letters(text, pieces, random)


def change_letters(text: str, pieces: Sequence[str], random: Random) -> str:
    """Parts of it taken out, put in, put in the place of others, or repeated."""
    for _ in range(random.choice([1, 1, 2, 3])):
        start = random.randrange(len(text) + 1)
        end = random.randrange(start, min(len(text), start + 12) + 1)
        kind = random.randrange(4)
        if kind == 0:
            new = ""
        elif kind == 1:
            new = random.choice(pieces)
        elif kind == 2:
            new = text[start:end] * 2
        else:
            new = f" {random.choice(pieces)} "
            end = start
        text = text[:start] + new + text[end:]
    return text


def change_tokens(text: str, random: Random) -> str:
    """A few tokens replaced by others of their kind, left out, doubled or exchanged: much of it is still a query."""
    tokens = TOKEN.findall(text)
    places = [i for i, token in enumerate(tokens) if _is_free(token)] or [0]
    for _ in range(random.choice([1, 1, 1, 2, 3])):
        i, kind = random.choice(places), random.random()
        if kind < 0.85:
            tokens[i] = _alike(tokens[i], [tokens[place] for place in places], random)
        elif kind < 0.9:
            tokens[i] = random.choice(["", f"{tokens[i]} {tokens[i]}"])
        else:
            j = random.choice(places)
            tokens[i], tokens[j] = tokens[j], tokens[i]
    return "".join(tokens)


def _is_free(token: str) -> bool:
    """Not white space, a bracket, or a keyword, without which hardly anything is a query."""
    return not token.isspace() and token not in "()[]{},.'`;|" and not (token.isupper() and len(token) > 1)


def _alike(token: str, others: Sequence[str], random: Random) -> str:
    if token[:1].isdigit():
        return random.choice(NUMBERS)
    if token[:1] == "'":
        return random.choice(STRINGS)
    if token[:1].isalpha():
        names = [other for other in others if other[:1].isalpha()]
        return random.choice(names if random.random() < 0.5 else NAMES)
    return random.choice(OPERATORS)
