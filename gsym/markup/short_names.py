"""Names of functions without scope and parameters, as in debug information.

A GSYM file has linkage names; `DW_AT_name` is derived from the demangled name: `int
geo::area<int>(int) const` is `area<int>`.
"""

from __future__ import annotations

from gsym.lazy import regex

_SCOPE = b"::"
_OPENING, _CLOSING = b"<([{", b">)]}"
_ANONYMOUS = b"(anonymous namespace)"
# Characters of an operator are not brackets. A conversion operator has a type.
_OPERATOR = regex(rb'operator(?:\(\)|\[\]|"" ?\w+|[^\w\s(]+(?: (?=<))?| [^(]+)')
_SCOPE_END = regex(rb"(?: const| volatile| &&?)*::")


def short_name(readable: bytes) -> bytes:
    """The last part of a readable name; all of it if there is no other part.

    A name without `::` and `(` is short already.
    """
    start, end = _last_part(readable)
    # Rust writes `::` before type arguments.
    return readable[start:end].replace(b"::<", b"<") or readable


def _last_part(readable: bytes) -> tuple[int, int]:
    """The start of a name after its scope, and its end."""
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
            if here == b" ":  # after the return type
                start = at = at + 1
                continue
            if here == b"(" and at > start:
                scope = _SCOPE_END.match(readable, _bracket_end(readable, at))
                if scope is None:
                    break
                start = at = scope.end()
                continue
        depth = _depth_after(readable, at, depth)
        at += 1
    return start, at


def _bracket_end(text: bytes, at: int) -> int:
    """The offset after the bracket that closes the one at *at*."""
    depth = 0
    while at < len(text):
        depth = _depth_after(text, at, depth)
        at += 1
        if not depth:
            break
    return at


def _depth_after(text: bytes, at: int, depth: int) -> int:
    """Number of brackets that are open after the character at *at*."""
    here = text[at : at + 1]
    if here in _OPENING:
        return depth + 1
    is_arrow = here == b">" and text[at - 1 : at] in {b"-", b"="}
    return depth - 1 if here in _CLOSING and depth and not is_arrow else depth
