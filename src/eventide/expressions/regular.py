"""Regular expressions that mean the same in Java and in RE2: those of RLIKE that the local engine takes.

Goes in: a pattern as Java reads it. Comes out: the same for RE2, with what RE2 would take otherwise written out; None
where the pattern leaves the common part. Only whether a text holds a match is asked, so what is greedy does not matter.
"""

from __future__ import annotations

import re

# What ends a line in Java, and what `.` therefore leaves out.
_LINE_ENDS = r"\n\r\x{85}\x{2028}\x{2029}"
_SPACES = r"\t\n\x{0B}\f\r "
_CLASSES = {
    "d": "[0-9]",
    "D": "[^0-9]",
    "w": "[a-zA-Z0-9_]",
    "W": "[^a-zA-Z0-9_]",
    "s": f"[{_SPACES}]",
    "S": f"[^{_SPACES}]",
}
# `$` in Java also stands before the last line end.
_END = r"(?:\r?\n|[\r\x{85}\x{2028}\x{2029}])?\z"
_TOKEN = re.compile(
    r"""
      (?P<plain>[A-Za-z0-9 _,:;/@\#%&=<>!'"~`-])
    | (?P<other>[^\x00-\x7f])
    | (?P<escaped>\\[.\[\]{}()*+?^$|\\/-])
    | (?P<kind>\\[dDwWsS])
    | (?P<any>\.)
    | (?P<set>\[\^?(?:[A-Za-z0-9]-[A-Za-z0-9]|[A-Za-z0-9 _.,:;/@\#%=!])+\])
    | (?P<times>[*+?]|\{[0-9]{1,3}(?:,[0-9]{0,3})?\})
    | (?P<start>\^)
    | (?P<end>\$)
    | (?P<open>\((?:\?:)?)
    | (?P<close>\))
    | (?P<or>\|)
    """,
    re.VERBOSE,
)


def as_re2(pattern: str) -> str | None:
    """The pattern for RE2, None where nothing says that it means the same there.

    >>> as_re2("^a.c"), as_re2("(?<=a)b"), as_re2(r"\\bword")
    ('^a[^\\\\n\\\\r\\\\x{85}\\\\x{2028}\\\\x{2029}]c', None, None)
    """
    made: list[str] = []
    at = depth = 0
    before = "start"
    while at < len(pattern):
        token = _TOKEN.match(pattern, at)
        if token is None or not _may_follow(str(token.lastgroup), before):
            return None
        name, text, at = str(token.lastgroup), token[0], token.end()
        depth += (name == "open") - (name == "close")
        if depth < 0 or (name == "end" and pattern[at : at + 1] not in ("", "|", ")")):
            return None
        made.append(_written(name, text))
        before = name
    return None if depth or before in ("open", "or", "start") or not _is_sound(pattern) else "".join(made)


def _is_sound(pattern: str) -> bool:
    """Whether sets and counts have their bounds in order; Python reads these as Java does."""
    try:
        re.compile(pattern)
    except re.error:
        return False
    return True


def _may_follow(name: str, before: str) -> bool:
    """A count stands behind what can be repeated; neither side of an alternative is empty."""
    if name == "times":
        return before not in ("start", "open", "or", "times", "end")
    if name in ("close", "or"):
        return before not in ("start", "open", "or")
    return name != "start" or before in ("start", "open", "or")


def _written(name: str, text: str) -> str:
    match name:
        case "any":
            return f"[^{_LINE_ENDS}]"
        case "kind":
            return _CLASSES[text[1]]
        case "end":
            return _END
        case "other":
            return re.escape(text)
    return text
