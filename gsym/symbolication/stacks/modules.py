"""Modules that a pasted report names."""

from __future__ import annotations

from bisect import bisect_right

from gsym.conversion.identity import read_debug_id
from gsym.records import NamedTuple
from gsym.store.modules import ModuleKey
from gsym.symbolication.stacks.parts import StackModule, base_name


class Placement(NamedTuple):
    """Where a part of a module lies.

    Attributes:
        start: First address in the process.
        end: Behind the last one.
        module: Its number.
        address: What *start* is in the module.
    """

    start: int
    end: int
    module: int
    address: int


class LoadedImages:
    """Placements that do not overlap."""

    def __init__(self) -> None:
        self._starts: list[int] = []
        self._placements: list[Placement] = []

    def add(self, start: int, end: int, module: int, address: int = 0) -> None:
        """Note a placement; an empty one, or one over another, is left out.

        Args:
            start: First address in the process.
            end: Behind the last one.
            module: Its number.
            address: What *start* is in the module.
        """
        at = bisect_right(self._starts, start)
        is_free = at == 0 or self._placements[at - 1].end <= start
        if at < len(self._placements):
            is_free = is_free and end <= self._placements[at].start
        if start < end and is_free:
            self._starts.insert(at, start)
            self._placements.insert(at, Placement(start, end, module, address))

    def find(self, address: int) -> tuple[int, int] | None:
        """The number of the module at an address, and the address in it."""
        at = bisect_right(self._starts, address) - 1
        if at < 0 or address >= self._placements[at].end:
            return None
        placement = self._placements[at]
        return placement.module, address - placement.start + placement.address

    def clear(self) -> None:
        """Forget all of them."""
        self._starts.clear()
        self._placements.clear()


_UUID_DIGITS = 32


def module_of_path(path: str) -> StackModule:
    """A module with a name only, or with a debug id behind it: `NAME/DEBUGID`."""
    folder, _, last = path.replace("\\", "/").rpartition("/")
    if folder and len(last) > _UUID_DIGITS:
        try:
            debug_id = read_debug_id(last)
        except ValueError:
            pass
        else:
            return module_of_debug_id(base_name(folder), debug_id)
    name = base_name(path)
    return StackModule(name, ModuleKey(name, code_file=name))


def module_of_debug_id(name: str, debug_id: str) -> StackModule:
    """A module as symbolication requests name it."""
    if not debug_id:
        return StackModule(name, ModuleKey(name))
    try:
        known = read_debug_id(debug_id).upper()
    except ValueError as problem:
        return StackModule(name, ModuleKey(name, debug_id), str(problem))
    return StackModule(name, ModuleKey(name, known))


def module_of_build_id(path: str, build_id: str) -> StackModule:
    """A module of an ELF system; *build_id* as hexadecimal digits, "" for none."""
    name = base_name(path)
    return StackModule(name, ModuleKey(name, "", name, build_id.upper()))


def module_of_uuid(path: str, uuid: str) -> StackModule:
    """A module of an Apple system; *uuid* with or without dashes, "" for none."""
    digits = uuid.replace("-", "").upper()
    name = base_name(path)
    if len(digits) != _UUID_DIGITS:
        return StackModule(name, ModuleKey(name, code_file=name))
    return StackModule(name, ModuleKey(name, digits + "0", name, digits))
