"""Profiles of the Firefox Profiler, of Firefox and of samply, answered in place.

Without symbols, functions are called by their addresses: `"0x1a2b"` in the table of
strings. Only these strings are replaced, so that all else stays as it is; where calls
are inlined there, `gsym.reports.stacks.browser_inlining` adds them to the tables.
"""

from __future__ import annotations

import json

from gsym.lazy import regex
from gsym.memory.stack_parts import (
    StackFrame,
    module_of_ids,
)
from gsym.records import NamedTuple
from gsym.reports.stacks.documents import as_list, as_object

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    from gsym.memory.stack_parts import StackBuilder

_DECODER = json.JSONDecoder()
_ARRAY = regex(r'"stringArray"\s*:\s*\[')
_NEXT = regex(r"[\s,]*")
IS_INLINED, HAS_ADDRESS, HAS_LINE = 1, 2, 16
"""Flags of frames, since version 71 of the format."""
_ADDRESS_NAME = regex(r"0x[0-9a-f]{1,16}")


def is_browser_profile(profile: Any) -> bool:
    """Whether decoded JSON is a profile in the processed format."""
    return (
        isinstance(profile, dict)
        and isinstance(profile.get("libs"), list)
        and isinstance(profile.get("threads"), list)
        and isinstance(profile.get("meta"), dict)
    )


class Scope(NamedTuple):
    """A table of strings, and the tables of the threads that use it.

    Attributes:
        name: Of the thread, if it is the table of one.
        strings: The table.
        threads: The tables of each thread by their names, shared ones among them.
    """

    name: str
    strings: list[Any]
    threads: list[dict[str, Any]]


def string_scopes(profile: Mapping[str, Any]) -> list[Scope]:
    """All tables of strings of a decoded profile, in the order of its text."""
    threads = [as_object(each) for each in profile["threads"]]
    shared = as_object(profile.get("shared"))
    strings = shared.get("stringArray")
    if isinstance(strings, list):
        return [Scope("", strings, [{**shared, **thread} for thread in threads])]
    return [
        Scope(str(each.get("name", "")), as_list(each.get("stringArray")), [{**each}])
        for each in threads
    ]


def add_browser_profile(
    profile: Mapping[str, Any], text: str, stack: StackBuilder
) -> None:
    """Parse a decoded profile and its text."""
    modules = library_modules(profile, stack)
    owners = [
        (scope.name, named_places(scope, modules)) for scope in string_scopes(profile)
    ]
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
        if len(known) != 1 or not is_address_name(value):
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


def is_address_name(name: object) -> bool:
    """Whether a string is an address in the place of a name."""
    return isinstance(name, str) and _ADDRESS_NAME.fullmatch(name) is not None


def named_places(scope: Scope, modules: list[int]) -> dict[int, set[tuple[int, int]]]:
    """The modules and addresses of functions, by the index of their names."""
    found: dict[int, set[tuple[int, int]]] = {}
    for tables in scope.threads:
        frames = as_object(tables.get("frameTable"))
        functions = as_object(tables.get("funcTable"))
        names = as_list(functions.get("name"))
        resources = as_list(functions.get("resource"))
        libraries = as_list(as_object(tables.get("resourceTable")).get("lib"))
        # Since version 70 it is frames that have a library, since 71 if a flag says so.
        own, flags = as_list(frames.get("lib")), as_list(frames.get("flags"))
        of_frames = zip(
            as_list(frames.get("address")), as_list(frames.get("func")), strict=False
        )
        for row, (address, function) in enumerate(of_frames):
            library = item_of(own, row)
            if not own:
                library = item_of(libraries, item_of(resources, function))
            elif flags and not (item_of(flags, row) or 0) & HAS_ADDRESS:
                continue
            module = item_of(modules, library)
            name = item_of(names, function)
            if name is not None and module is not None and type(address) is int:
                found.setdefault(name, set()).add((module, address))
    return found


def item_of(values: list[Any], index: Any) -> int | None:
    """A number in a table; None if there is none."""
    if type(index) is not int or not 0 <= index < len(values):
        return None
    return values[index] if type(values[index]) is int else None


def library_modules(profile: Mapping[str, Any], stack: StackBuilder) -> list[int]:
    """The numbers of the modules that the libraries of a profile are."""
    return [_module_number(as_object(each), stack) for each in profile["libs"]]


def _module_number(library: Mapping[str, Any], stack: StackBuilder) -> int:
    path, name, *ids = (
        each if isinstance(each := library.get(key), str) else ""
        for key in ("path", "name", "debugName", "breakpadId", "codeId")
    )
    return stack.number(module_of_ids(path or name or ids[0] or "unknown", *ids))
