"""Names of functions without scope and parameters, as debug information has them.

A GSYM file holds the names that the linker knows; what stands in `DW_AT_name` is found
again in their readable form: `int geo::area<int>(int) const` is `area<int>`.
"""

from __future__ import annotations

import re

_SCOPE = b"::"
_OPENING, _CLOSING = b"<([{", b">)]}"
_ANONYMOUS = b"(anonymous namespace)"
# Its own signs are no brackets. A conversion has a type up to its parameters.
_OPERATOR = re.compile(rb'operator(?:\(\)|\[\]|"" ?\w+|[^\w\s(]+(?: (?=<))?| [^(]+)')
_BEHIND_SCOPE = re.compile(rb"(?: const| volatile| &&?)*::")


def short_name(readable: bytes) -> bytes:
    """The last part of a readable name; all of it where nothing stands round that.

    Args:
        readable: A name as people write it, of C++ or Rust; one of another language
            that has no `::` and no `(` is short already.
    """
    start, end = _last_part(readable)
    # Rust writes `::` in front of types that a function is made for.
    return readable[start:end].replace(b"::<", b"<") or readable


def _last_part(readable: bytes) -> tuple[int, int]:
    """Where a name begins after its scope, and where it ends."""
    start = at = depth = 0
    while at < len(readable):
        here = readable[at : at + 1]
        if not depth:
            if readable.startswith(_ANONYMOUS, at):
                at += len(_ANONYMOUS)
                continue
            if at == start and (operator := _OPERATOR.match(readable, at)):
                at = operator.end()
                continue
            if readable.startswith(_SCOPE, at) and readable[at + 2 : at + 3] != b"<":
                start = at = at + len(_SCOPE)
                continue
            if here == b" ":  # behind the type of what it returns
                start = at = at + 1
                continue
            if here == b"(" and at > start:
                scope = _BEHIND_SCOPE.match(readable, _behind_bracket(readable, at))
                if scope is None:
                    break
                start = at = scope.end()
                continue
        depth = _depth_behind(readable, at, depth)
        at += 1
    return start, at


def _behind_bracket(text: bytes, at: int) -> int:
    """The offset behind what the bracket at *at* encloses."""
    depth = 0
    while at < len(text):
        depth = _depth_behind(text, at, depth)
        at += 1
        if not depth:
            break
    return at


def _depth_behind(text: bytes, at: int, depth: int) -> int:
    """How many brackets are open behind the character at *at*."""
    here = text[at : at + 1]
    if here in _OPENING:
        return depth + 1
    is_arrow = here == b">" and text[at - 1 : at] in {b"-", b"="}
    return depth - 1 if here in _CLOSING and depth and not is_arrow else depth
