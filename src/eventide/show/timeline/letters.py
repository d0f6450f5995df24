"""Text in the picture: escaped, as wide as it may be, cut where it is too wide."""

from __future__ import annotations

import html
import re
import unicodedata

_NARROW = set("ijlI1.,:;'|!ft()[] -")
_BROAD = set("mwMW@%&")
# What XML has no place for: control characters, halves of surrogate pairs, two non-characters.
_FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def width(text: str, font_px: float) -> float:
    """About how wide a text is drawn, in a broad sans-serif font, so that what fits here fits anywhere.

    >>> width("will", 10) < width("Wide", 10) < width("\u5e83\u3044\u5b57\u5e45", 10)
    True
    """
    return sum(map(_em, text)) * font_px


def _em(letter: str) -> float:
    if letter in _NARROW:
        return 0.4
    if letter in _BROAD:
        return 1.0
    if unicodedata.combining(letter):
        return 0.0
    if unicodedata.east_asian_width(letter) in "WF" or letter > "\uffff":
        return 1.2
    return 0.72 if letter.isupper() else 0.64


def shorten(text: str, font_px: float, limit_px: float) -> str:
    """The text on one line, with dots where it would be wider than the limit.

    >>> shorten("speed", 10, 100), shorten("a name that does not end", 10, 60)
    ('speed', 'a name t…')
    """
    text = " ".join(text.split())
    if width(text, font_px) <= limit_px:
        return text
    kept, used = [], width("…", font_px)
    for letter in text:
        used += _em(letter) * font_px
        if used > limit_px:
            break
        kept.append(letter)
    return "".join(kept).rstrip() + "…"


def escape(text: str) -> str:
    """Text that cannot be taken for markup, in elements and in attributes.

    >>> escape("<script>'")
    '&lt;script&gt;&#x27;'
    """
    return html.escape(_FORBIDDEN.sub("\ufffd", text))
