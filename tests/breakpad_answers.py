"""What a GSYM file answers, in the words of a Breakpad symbol file made of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.breakpad_file import Frame
from tests.views import U64_MAX

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import gsym


def mended(name: str) -> str:
    """*name* as it may stand in a line."""
    if not name.strip(" \t"):
        return "<name omitted>"
    return "".join(
        "?" if letter in "\r\n" or "\udc80" <= letter <= "\udcff" else letter
        for letter in name
    )


def boundaries(functions: Iterable[gsym.FunctionInfo]) -> set[int]:
    """Where an answer may change, and the addresses beside."""
    found = set()
    for function in functions:
        found |= {function.start, function.start + function.size}
        found |= {row.address for row in function.line_table or ()}
        pending = [] if function.inline is None else [function.inline]
        while pending:
            node = pending.pop()
            pending += node.children
            found |= {address for extent in node.ranges for address in extent}
    near = {address + step for address in found for step in (-1, 0, 1)}
    return {address for address in near if 0 <= address <= U64_MAX}


def answers(reader: gsym.Reader, addresses: Iterable[int]) -> Iterator[list[Frame]]:
    """What the GSYM file says, in the words of the other one."""
    for address in addresses:
        answer = reader.lookup(address)
        frames = () if answer is None else answer.frames
        yield [
            Frame(
                mended(frame.name), mended(frame.path) if frame.path else "", frame.line
            )
            for frame in frames
        ]
