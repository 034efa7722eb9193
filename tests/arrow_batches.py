"""A store of small modules, and batches of addresses in them."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import gsym
from gsym.model import InlineInfo, LineEntry, Range
from gsym.store.entries import Quality
from tests.store_modules import build_id, identity

if TYPE_CHECKING:
    from gsym.store.directory import Store

FUNCTIONS = 20
START, STEP, SIZE = 0x1000, 0x100, 0xE0


def function(number: int, index: int) -> gsym.FunctionInfo:
    """A function with lines; every other one has an inlined call."""
    start = START + STEP * index
    name, path = f"f{number}_{index}", f"/src/m{number}/f{index % 3}.c"
    lines = tuple(
        LineEntry(start + offset, path, offset) for offset in range(1, SIZE, 16)
    )
    inline = None
    if index % 2:
        call = Range(start + 0x10, start + 0x60)
        child = InlineInfo("helper", path, 700 + index, (call,))
        inline = InlineInfo(name, "", 0, (Range(start, start + SIZE),), (child,))
    return gsym.FunctionInfo(start, SIZE, name, lines, inline)


def put(store: Store, number: int, *more: gsym.FunctionInfo) -> None:
    """Publish the module *number* with its functions and some more."""
    with store.temporary_folder() as folder:
        path = f"{folder}/new.gsym"
        with gsym.Creator(uuid=build_id(number)) as creator:
            for index in range(FUNCTIONS):
                creator.add(function(number, index))
            for each in more:
                creator.add(each)
            creator.save(path)
        quality = Quality(2, FUNCTIONS)
        store.publish(path, identity(number), uuid=build_id(number), quality=quality)


def rows(count: int, modules: int, seed: int = 1) -> dict[str, list[Any]]:
    """Columns of *count* rows: some addresses are in no function, some are null."""
    draw = random.Random(seed)  # noqa: S311 - not a secret
    end = START + STEP * (FUNCTIONS + 1)
    numbers = [draw.randrange(modules + 1) for _ in range(count)]
    return {
        "id": list(range(count)),
        "build_id": [
            None if draw.random() < 0.02 else build_id(number) for number in numbers
        ],
        "address": [
            None if draw.random() < 0.02 else draw.randrange(START - 16, end)
            for _ in range(count)
        ],
    }


def expected(
    readers: dict[bytes, gsym.Reader], module: bytes | None, address: int | None
) -> list[dict[str, Any]] | None:
    """The stack of a row, by single lookups."""
    if module not in readers or address is None:
        return None
    found = readers[module].lookup(address)
    if found is None:
        return None
    return [
        {
            "name": frame.name,
            "path": frame.path or None,
            "line": frame.line or None,
            "inlined": frame.inlined,
            "offset": frame.offset,
        }
        for frame in found.frames
    ]
