"""Profiles of the Firefox Profiler, of Firefox and of samply, answered in place.

Without symbols, functions are called by their addresses: `"0x1a2b"` in the table of
strings. Only these strings are replaced, so that all else stays as it is.
"""

from __future__ import annotations

import json
import re

from gsym.symbolication.stacks.parts import (
    StackFrame,
    module_of_debug_id,
    module_of_path,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    from gsym.symbolication.stacks.parts import StackBuilder

FORM = "Firefox profile"

_DECODER = json.JSONDecoder()
_ARRAY = re.compile(r'"stringArray"\s*:\s*\[')
_NEXT = re.compile(r"[\s,]*")
_ADDRESS_NAME = re.compile(r"0x[0-9a-f]{1,16}")


def is_browser_profile(profile: Any) -> bool:
    """Whether decoded JSON is a profile in the processed format."""
    return (
        isinstance(profile, dict)
        and isinstance(profile.get("libs"), list)
        and isinstance(profile.get("threads"), list)
        and isinstance(profile.get("meta"), dict)
    )


def add_browser_profile(
    profile: Mapping[str, Any], text: str, stack: StackBuilder
) -> None:
    """Parse a decoded profile and its text."""
    modules = [_module_number(_object(each), stack) for each in profile["libs"]]
    threads = [_object(each) for each in profile["threads"]]
    shared = _object(profile.get("shared"))
    if isinstance(shared.get("stringArray"), list):
        named: dict[int, set[tuple[int, int]]] = {}
        for thread in threads:
            _name_places({**shared, **thread}, modules, named)
        owners = [("", named)]
    else:
        owners = []
        for thread in threads:
            own: dict[int, set[tuple[int, int]]] = {}
            _name_places(thread, modules, own)
            owners.append((str(thread.get("name", "")), own))
    at = 0
    for (name, places), array in zip(owners, _ARRAY.finditer(text), strict=False):
        stack.begin(name)
        at = _add_strings(text, at, array.end(), places, stack)
    stack.add_text(text[at:])


def answer_name(name: str) -> str:
    """A function as it stands within a string of the profile."""
    return json.dumps(name, ensure_ascii=False)[1:-1]


def _add_strings(
    text: str,
    at: int,
    start: int,
    places: Mapping[int, set[tuple[int, int]]],
    stack: StackBuilder,
) -> int:
    """Add an array of strings, and the text before it; returns where it ended."""
    for index, (begin, end, value) in enumerate(_strings(text, start)):
        known = places.get(index, ())
        if len(known) != 1 or not _ADDRESS_NAME.fullmatch(value):
            continue
        ((module, address),) = known
        stack.add_text(text[at:begin])
        stack.add_frame(StackFrame(text[begin:end], module, address))
        at = end
    return at


def _strings(text: str, at: int) -> Iterator[tuple[int, int, str]]:
    """Start, end and value of the strings of an array, without their quotes."""
    while True:
        found = _NEXT.match(text, at)
        at = found.end() if found else at
        if text[at : at + 1] != '"':
            return
        value, end = _DECODER.raw_decode(text, at)
        yield at + 1, end - 1, value
        at = end


def _name_places(
    tables: Mapping[str, Any],
    modules: list[int],
    found: dict[int, set[tuple[int, int]]],
) -> None:
    """Add the modules and addresses of functions, by the index of their names."""
    frames, functions = (
        _object(tables.get("frameTable")),
        _object(tables.get("funcTable")),
    )
    names, resources = _list(functions.get("name")), _list(functions.get("resource"))
    libraries = _list(_object(tables.get("resourceTable")).get("lib"))
    of_frames = zip(
        _list(frames.get("address")), _list(frames.get("func")), strict=False
    )
    for address, function in of_frames:
        resource = _item(resources, function)
        module = _item(modules, _item(libraries, resource))
        name = _item(names, function)
        if name is not None and module is not None and type(address) is int:
            found.setdefault(name, set()).add((module, address))


def _item(values: list[Any], index: Any) -> int | None:
    """A number in a table; None if there is none."""
    if type(index) is not int or not 0 <= index < len(values):
        return None
    return values[index] if type(values[index]) is int else None


def _module_number(library: Mapping[str, Any], stack: StackBuilder) -> int:
    names = [library.get(key) for key in ("debugName", "name", "path")]
    name = next((each for each in names if isinstance(each, str) and each), "unknown")
    debug_id = library.get("breakpadId")
    if isinstance(debug_id, str) and debug_id:
        return stack.number(module_of_debug_id(name, debug_id))
    return stack.number(module_of_path(name))


def _object(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
