"""What Breakpad records say of an address, straight from their meaning."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import gsym
    from tests.inputs.breakpad import Call, Func, Row, Symbols

    Frame = tuple[str, str, int]  # function, path, line
    Answer = tuple[Frame, ...] | None

OMITTED = "<name omitted>"


def answer(symbols: Symbols, address: int) -> Answer:
    """Frames at *address*, innermost first. Functions must not overlap."""
    for function in symbols.functions:
        if function.range.holds(address):
            return _frames(symbols, function, address)
    return _public(symbols, address)


def frames_of(lookup: gsym.Lookup | None) -> Answer:
    """The same of what the package answers."""
    if lookup is None:
        return None
    return tuple((each.name, each.path, each.line) for each in lookup.frames)


def _public(symbols: Symbols, address: int) -> Answer:
    starts = {function.range.start for function in symbols.functions}
    starts |= {public.address for public in symbols.publics}
    below = [start for start in starts if start <= address]
    for public in symbols.publics:
        if below and public.address == max(below):
            inside = any(f.range.holds(public.address) for f in symbols.functions)
            return None if inside else ((public.name, "", 0),)
    return None


def _frames(symbols: Symbols, function: Func, address: int) -> Answer:
    calls = _calls(function, address)
    names = [function.name]
    names += [symbols.origins.get(call.origin, OMITTED) for call in calls]
    # A call stands in the function around it.
    places = [(_path(symbols, call.file), call.line) for call in calls]
    places.append(_place(symbols, function, address))
    return tuple((name, *place) for name, place in zip(names, places, strict=True))[
        ::-1
    ]


def _path(symbols: Symbols, file: int | None) -> str:
    return "" if file is None else symbols.files.get(file, "")


def _calls(function: Func, address: int) -> list[Call]:
    """The call of each level, from the outermost, up to the first level without one."""
    found: list[Call] = []
    while True:
        candidates = [
            (max(each.start, function.range.start), order, call)
            for order, call in enumerate(function.calls)
            if call.level == len(found)
            for each in call.ranges
            if each.holds(address)
        ]
        if not candidates:
            return found
        found.append(min(candidates, key=lambda each: each[:2])[2])


def _row(function: Func, address: int) -> Row | None:
    """Of the records that hold *address* the one that starts first, or stands first.

    What lies in front of the function is cut off.
    """
    candidates = [
        (max(row.range.start, function.range.start), order, row)
        for order, row in enumerate(function.rows)
        if row.range.holds(address)
    ]
    return min(candidates, key=lambda each: each[:2])[2] if candidates else None


def _place(symbols: Symbols, function: Func, address: int) -> tuple[str, int]:
    row = _row(function, address)
    if row is not None:
        return _path(symbols, row.file), row.line
    # A gap: the file of the row before it, or of the first one.
    start, end = function.range.start, function.range.start + function.range.size
    around = [*range(address - 1, start - 1, -1), *range(address + 1, end)]
    for near in around:
        row = _row(function, near)
        if row is not None:
            return _path(symbols, row.file), 0
    return "", 0
