from __future__ import annotations

import re

import pytest

from eventide.errors import QueryError
from eventide.lang import tokens
from eventide.lang.tokens import Kind, match_brackets, tokenize


def texts(query: str) -> list[str]:
    return [token.text for token in tokenize(query)[:-1]]


def kinds(query: str) -> list[Kind]:
    return [token.kind for token in tokenize(query)[:-1]]


def test_tokens_point_to_their_text() -> None:
    query = "FROM `a b`\r\n\tWHERE x>=1.5 AND größe = 'it\\'s' -- done"
    assert all(query[token.start : token.end] == token.text for token in tokenize(query))
    assert texts(query) == ["FROM", "`a b`", "WHERE", "x", ">", "=", "1.5", "AND", "größe", "=", r"'it\'s'"]


def test_each_kind_is_told_apart() -> None:
    assert kinds("A 1 'b' `c` (") == [Kind.WORD, Kind.NUMBER, Kind.STRING, Kind.QUOTED, Kind.PUNCTUATION]


@pytest.mark.parametrize("number", ["1", "1.5", ".5", "1.", "1e9", "1.5E-3"])
def test_numbers_are_one_token(number: str) -> None:
    assert texts(f"x {number} y") == ["x", number, "y"]


def test_a_unit_may_touch_its_number() -> None:
    assert texts("5min 1.5h") == ["5", "min", "1.5", "h"]


def test_a_dot_behind_a_name_starts_no_number() -> None:
    assert texts("A.5 f(x).5 a[0].5") == ["A", ".", "5", "f", "(", "x", ")", ".", "5", "a", "[", "0", "]", ".", "5"]


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_a_comment_ends_with_its_line(newline: str) -> None:
    assert texts(f"A -- b ' ({newline}C --") == ["A", "C"]


def test_a_block_comment_may_span_lines_and_hold_quotes() -> None:
    assert texts("A /* it's\n -- */ B") == ["A", "B"]


def test_comment_signs_inside_quotes_are_text() -> None:
    assert texts("'a -- b' `c /* d`") == ["'a -- b'", "`c /* d`"]


def test_words_may_be_of_any_script() -> None:
    assert kinds("größe 温度 हिन्दी _x") == [Kind.WORD] * 4


def test_a_byte_order_mark_and_odd_blanks_are_skipped() -> None:
    assert texts("\ufeffA\u00a0B\u2003C\x0bD") == ["A", "B", "C", "D"]


@pytest.mark.parametrize(
    ("written", "value"),
    [("'a'", "a"), ('"a\'b"', "a'b"), (r"'\\n\n'", "\\n\n"), (r"r'\d'", r"\d"), ("`a``b`", "a`b"), ("C", "C")],
)
def test_values_are_free_of_quotes_and_escapes(written: str, value: str) -> None:
    assert tokenize(written)[0].value == value


@pytest.mark.parametrize(
    ("query", "column", "message"),
    [
        ("A 'b", 3, "the string is never closed"),
        ("A 'b\\'", 3, "the string is never closed"),
        ('A "b', 3, "the string is never closed"),
        ("A `b", 3, "the quoted name is never closed"),
        ("A ``", 3, "the quoted name is empty"),
        ("A /* b", 3, "the comment is never closed"),
        ("A @ b", 3, "the character '@' has no meaning here"),
        ("A \x00", 3, "the character U+0000 has no meaning here"),
    ],
)
def test_what_is_no_token_is_an_error_at_its_place(query: str, column: int, message: str) -> None:
    with pytest.raises(QueryError) as caught:
        tokenize(query)
    assert (caught.value.message, caught.value.column) == (message, column)
    assert caught.value.hint


def test_the_end_stands_behind_the_last_word() -> None:
    assert tokenize("A  -- done\n\n")[-1].start == 1


def test_brackets_are_paired() -> None:
    query = "( [ ] { } )"
    partner = match_brackets(query, tokenize(query))
    assert partner == {0: 5, 5: 0, 1: 2, 2: 1, 3: 4, 4: 3}


@pytest.mark.parametrize("query", ["(", ")", "(]", "([)]", "{(", "]"])
def test_unpaired_brackets_are_an_error(query: str) -> None:
    with pytest.raises(QueryError):
        match_brackets(query, tokenize(query))


def test_any_character_may_stand_in_sql_around_a_query() -> None:
    assert [token.text for token in tokenize("t@v1 $", any_character=True)] == ["t", "@", "v1", "$", ""]
    with pytest.raises(QueryError, match="the character '@' has no meaning here"):
        tokenize("t@v1")


@pytest.mark.parametrize("query", ["PATTERN A WHERE a.s = '\ud800'", "SELECT '\udfff' FROM t"])
def test_half_a_character_is_an_error_that_can_be_printed(query: str) -> None:
    with pytest.raises(QueryError, match="half a character") as caught:
        tokenize(query, any_character=True)
    assert str(caught.value).encode()


@pytest.mark.parametrize(
    "text",
    [
        "a.x=1 OR b1.y<>22",
        "r'x' R\"y\" r x'",
        "é aé a1é 1é",
        "1 12 1.5 .5 a.5 1. 1e5 2x 1L (1.5)",
        "a--c\n-b - - /*c*/ / x/*d*/y",
        "INTERVAL'5' `q`x ||<= ;{}[]",
        " \x1c a\u00a0b ",
        "a \u20ac b",
    ],
)
def test_simple_tokens_are_those_that_the_long_way_finds(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def split() -> object:
        try:
            return tokenize(text)
        except QueryError as error:
            return error.message, error.start, error.end

    quick = split()
    monkeypatch.setattr(tokens, "_SIMPLE", re.compile("(?!)"))
    assert split() == quick
