"""Functions that say much: of lines, of inlined calls, of either at random."""

from __future__ import annotations

import itertools
import random

from tests import oracle
from tests.handmade import (
    A_C,
    END,
    HEAD,
    MAIN,
    ONE,
    SIZE,
    START,
    TWO,
    file_of,
    function_of,
    info,
)
from tests.inputs.encoding import uleb

NAMES = (ONE, TWO, A_C)


def random_rows(rng: random.Random, count: int) -> tuple[oracle.LineRow, ...]:
    """Ascending, several at one address, now and then without a file."""
    steps = rng.choices([0, 1, 2, 7], k=count)
    addresses = itertools.accumulate(steps, initial=START + rng.randrange(4))
    return tuple(
        oracle.LineRow(address, rng.choice([0, 1, 1, 1, 9]), rng.randrange(1, 5_000))
        for address in itertools.islice(addresses, count)
    )


def random_call(
    rng: random.Random, base: int, end: int, depth: int
) -> oracle.InlineInfo:
    """A call whose ranges need not ascend, nor keep to those of its caller."""
    ranges = []
    for _ in range(rng.choice([1, 1, 1, 2, 5])):
        start = rng.randrange(base, end + 8)
        size = rng.choice([0, 1, 4, 30, 100]) if rng.randrange(200) else 1 << 20
        ranges.append((start, start + size))
    low = ranges[0][0]
    children = [
        random_call(rng, low, max(low + 1, end), depth + 1)
        for _ in range(rng.randrange(6) if depth < 5 else 0)
    ]
    file, line = rng.choice([0, 1, 1, 9]), rng.randrange(100)
    return oracle.InlineInfo(
        tuple(ranges), rng.choice(NAMES), file, line, tuple(children)
    )


def random_function(seed: int) -> oracle.FunctionInfo:
    rng = random.Random(seed)  # noqa: S311 - no secret
    children = tuple(
        random_call(rng, START, START + SIZE, 0) for _ in range(rng.randrange(1, 40))
    )
    root_file = rng.choice([0, 0, 1])
    root = oracle.InlineInfo(((START, START + SIZE - 9),), MAIN, root_file, 3, children)
    rows = random_rows(rng, rng.randrange(20, 300))
    return function_of(rows if rng.randrange(8) else None, root)


def large_file() -> bytes:
    rows = tuple(oracle.LineRow(START + n, 1, 5 + n % 90) for n in range(SIZE))
    calls = tuple(
        oracle.InlineInfo(((START + n, START + n + 2),), ONE, 1, n)
        for n in range(0, 100, 3)
    )
    root = oracle.InlineInfo(((START, START + SIZE),), MAIN, 0, 0, calls)
    return oracle.encode_file(file_of(function_of(rows, root)))


def chain_of_calls(depth: int, ranges: int) -> bytes:
    """A file of one function: calls in one another, the innermost in many pieces."""
    fields = b"\1" + ONE.to_bytes(4, "little") + uleb(1) + uleb(7)
    whole = uleb(1) + uleb(0) + uleb(2 * ranges) + fields
    pieces = b"".join(uleb(2 * n) + uleb(1) for n in range(ranges))
    tree = whole * (depth - 1) + uleb(ranges) + pieces + fields + bytes(depth)
    record = HEAD + info(2, tree) + END
    return oracle.encode_file(file_of(function_of()), [record])
