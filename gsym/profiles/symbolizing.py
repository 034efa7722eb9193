"""Symbolize a profile."""

from __future__ import annotations

import os
from array import array
from bisect import bisect_right
from itertools import chain, repeat

from gsym.containers.headers import Segment, file_address
from gsym.engine.demangling import demangle
from gsym.model import UINT64_MAX, base_name
from gsym.modules.key import PART, SAME, ModuleKey, compare, has_id
from gsym.profiles.binaries import Binaries, module_at
from gsym.profiles.model import (
    Frame,
    Location,
    Mapping,
    Profile,
    Unsure,
    module_key,
    name_of_mapping,
)

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping as Dictionary, Sequence
    from typing import Protocol

    from gsym.modules.open_module import OpenModule
    from gsym.reading.frames import Frames

    class Opening(Protocol):
        """Opens modules, as a `Symbolizer` does."""

        def open(self, key: ModuleKey) -> OpenModule:
            """The module, or why it is not available."""


_new = tuple.__new__  # a named tuple without the handling of its arguments
GUESSED = "modules without their binary: offsets in it are taken for addresses"


def symbolize(
    profile: Profile,
    modules: Opening,
    binaries: Binaries | None = None,
    *,
    guesses: bool = True,
) -> None:
    """Set the frames of locations without frames, or the reason for their absence.

    Frames that are only symbols of the profiler are replaced by those of the module if
    these have a line or inlined calls. If that may be of another build, both must name
    the same function. Such modules are noted in the profile, and the debug ids of all.

    Args:
        profile: What to complete.
        modules: Finds modules by the ids and names of the mappings.
        binaries: Finds the segments of modules of which only file offsets are known; by
            default on this machine. Modules without are counted among the losses.
        guesses: Whether file offsets in them are taken for addresses. Otherwise their
            locations have no frames.
    """
    binaries = binaries or Binaries()
    locations = profile.locations
    for (key, assumed), of_mappings in _waiting(profile).items():
        module = modules.open(key)
        used = sorted(of_mappings)
        doubts = {assumed, module.unsure}
        if module.reader is not None:
            mappings = [profile.mappings[index] for index in used]
            by_offset = list(filter(_has_file_offsets, mappings))
            doubts.update(map(binaries.unsure, by_offset))
            if guesses and not all(map(binaries.segments, by_offset)):
                profile.lose(GUESSED)
            _set_debug_id(profile, used, key, module)
        doubts.discard("")
        indexes = list(chain.from_iterable(map(of_mappings.__getitem__, used)))
        found = _frames(module, profile, of_mappings, binaries, guesses=guesses)
        if _take(locations, indexes, found, is_sure=not doubts):
            name = name_of_mapping(profile.mappings[used[0]])
            profile.unsure |= {Unsure(name, each): None for each in sorted(doubts)}


def _waiting(profile: Profile) -> dict[tuple[ModuleKey, str], dict[int, list[int]]]:
    """The locations to look up in mappings, by their module and why it is unsure."""
    found: dict[tuple[ModuleKey, str], dict[int, list[int]]] = {}
    of_mapping: list[list[int] | None] = []
    for number, mapping in enumerate(profile.mappings):
        key = module_key(mapping)
        indexes: list[int] = []
        of_mapping.append(indexes if has_id(key) else None)
        if has_id(key):
            found.setdefault((key, mapping.unsure), {})[number] = indexes
    for index, location in enumerate(profile.locations):
        if location.frames and not location.is_named_only:
            continue
        waiting = None if location.mapping is None else of_mapping[location.mapping]
        if waiting is None:
            reason = "no mapping covers it"
            if location.mapping is not None:
                reason = "the build id of its module is unknown"
            profile.locations[index] = location._replace(reason=reason)
        else:
            waiting.append(index)
    used = {
        module: {number: indexes for number, indexes in each.items() if indexes}
        for module, each in found.items()
    }
    return {module: each for module, each in used.items() if each}


def _take(
    locations: list[Location],
    indexes: list[int],
    found: Iterable[tuple[tuple[Frame, ...], str]],
    *,
    is_sure: bool,
) -> bool:
    """Set the frames of locations, or why there are none; return whether some are."""
    has_any = False
    for index, (frames, reason) in zip(indexes, found, strict=True):
        address, mapping, is_return, named, _, is_named_only, _ = locations[index]
        if named:
            # Frames that say more than those of the profiler.
            is_better = len(frames) > len(named) or any(frame.line for frame in frames)
            if not is_better or not (is_sure or _are_of_one_function(frames, named)):
                continue
            is_named_only = False
        fields = address, mapping, is_return, frames, reason, is_named_only, ""
        locations[index] = _new(Location, fields)
        has_any = has_any or bool(frames)
    return has_any


def assume_ids(profile: Profile, recorded: float | None) -> None:
    """Complete mappings without any id by those of the files at their paths."""
    for index, mapping in enumerate(profile.mappings):
        is_placed = mapping.limit > 0  # else nothing can be looked up in it
        is_named = os.path.isabs(mapping.path) and not has_id(module_key(mapping))
        if is_placed and is_named:
            found = module_at(mapping.path, {}, recorded=recorded)
            profile.mappings[index] = mapping._replace(**found._asdict())


def note_assumed(profile: Profile) -> None:
    """Note the modules whose ids are not in the source, for outputs that have ids."""
    for mapping in profile.mappings:
        if mapping.unsure and has_id(module_key(mapping)):
            profile.unsure[Unsure(name_of_mapping(mapping), mapping.unsure)] = None


def set_debug_ids(profile: Profile, modules: Opening) -> None:
    """Complete the mappings by the debug ids of the modules that are available."""
    places: dict[ModuleKey, list[int]] = {}
    for index, mapping in enumerate(profile.mappings):
        places.setdefault(module_key(mapping), []).append(index)
    for key, indexes in places.items():
        if has_id(key) and not key.debug_id:
            _set_debug_id(profile, indexes, key, modules.open(key))


def _set_debug_id(
    profile: Profile, mappings: list[int], wanted: ModuleKey, module: OpenModule
) -> None:
    """Complete mappings by the debug id of their module.

    The order of bytes in it is the module's, so that a build id is not enough.
    """
    if wanted.debug_id or module.reader is None:
        return
    entry = module.entry
    identity = entry.identity if entry else module.reader.module_like(wanted)
    if not identity.debug_id or compare(wanted, identity).outcome not in {SAME, PART}:
        return
    for index in mappings:
        mapping = profile.mappings[index]
        known = mapping.module._replace(debug_id=identity.debug_id)
        profile.mappings[index] = mapping._replace(module=known)


def link_addresses(
    locations: Iterable[Location],
    mapping: Mapping,
    base: int,
    segments: Sequence[Segment],
) -> Iterator[int | None]:
    """The link-time addresses of locations; None where the binary has no segment.

    Args:
        locations: All in *mapping*.
        mapping: What covers them.
        base: The base address of the module. File offsets count from it, too, where
            neither the mapping nor *segments* say more.
        segments: Of the binary; none if it is not available.
    """
    needs_segments = _has_file_offsets(mapping)
    if mapping.link_start is not None:
        start = mapping.link_start + (base if mapping.is_relative else 0)
    elif needs_segments:
        start = mapping.file_offset + (0 if segments else base)
    else:
        start = base
    difference = start - mapping.start
    places = (
        (address + difference - is_return) & UINT64_MAX
        for address, _, is_return, *_ in locations
    )
    if not needs_segments or not segments:
        return places
    return (file_address(place, segments) for place in places)


def _has_file_offsets(mapping: Mapping) -> bool:
    """Whether addresses in a mapping need the segments of its binary.

    Those of the kernel, which perf describes as loaded at its offset, do not.
    """
    is_kernel = mapping.file_offset == mapping.start != 0
    return mapping.link_start is None and not is_kernel


def _are_of_one_function(found: tuple[Frame, ...], named: tuple[Frame, ...]) -> bool:
    """Whether two answers for an address name one function, ignoring inlined calls.

    perf omits the parameters and the return type of a C++ function.
    """
    name, system_name, *_ = found[-1]
    symbols = {named[-1].name, named[-1].system_name} - {""}
    is_short = any(f" {symbol}(" in f" {name}" for symbol in symbols)
    return is_short or not symbols.isdisjoint((name, system_name))


def _frames(
    module: OpenModule,
    profile: Profile,
    of_mappings: Dictionary[int, list[int]],
    binaries: Binaries,
    *,
    guesses: bool,
) -> Iterator[tuple[tuple[Frame, ...], str]]:
    """The frames at all locations of one module, by mapping, or why there are none."""
    reader = module.reader
    if reader is None:
        yield from repeat(((), module.reason), sum(map(len, of_mappings.values())))
        return
    base = reader.header.base_address
    places: list[int | None] = []
    for number, indexes in sorted(of_mappings.items()):
        mapping = profile.mappings[number]
        needs = _has_file_offsets(mapping)
        segments = binaries.segments(mapping) if needs else ()
        if needs and not segments and not guesses:
            places += [None] * len(indexes)
            continue
        locations = map(profile.locations.__getitem__, indexes)
        places += link_addresses(locations, mapping, base, segments)
    addresses = array("Q", [place for place in places if place is not None])
    found = reader.lookup_many(addresses, misses=False)
    rows = iter(_rows(found, len(addresses)))
    missing = (), str(found.damage or f"no function of {reader.path} at this address")
    unloaded = (), "not in a segment of its binary"
    for place in places:
        frames = () if place is None else next(rows)
        yield (frames, "") if frames else unloaded if place is None else missing


def _rows(answers: Frames, count: int) -> list[tuple[Frame, ...]]:
    """The frames of each of *count* addresses that were looked up together."""
    readable = {name: demangle(name) for name in set(answers.names)}
    places = list(zip(answers.names, answers.paths, answers.line, strict=True))
    made = {place: (Frame(readable[place[0]], *place),) for place in set(places)}
    found: list[tuple[Frame, ...]] = [()] * count
    frames = map(made.__getitem__, places)
    for index, frame in zip(answers.address_index, frames, strict=True):
        found[index] = found[index] + frame if found[index] else frame
    return found


def bound_functions(profile: Profile, binaries: Binaries) -> None:
    """Set functions of locations without frames, where the binary has their starts.

    All addresses of a function of a stripped module have one name, so that sums by
    function hold: `app+0x1130`, of the module and the start of the function, counted
    from the base of the module. Modules that may be of another build are noted in the
    profile.
    """
    locations = profile.locations
    of_mapping: dict[int, list[int]] = {}
    for index, location in enumerate(locations):
        if location.mapping is not None and not location.frames:
            of_mapping.setdefault(location.mapping, []).append(index)
    for number, indexes in of_mapping.items():
        mapping = profile.mappings[number]
        base, starts = binaries.functions(mapping)
        if not starts:
            continue
        chosen = map(locations.__getitem__, indexes)
        segments = binaries.segments(mapping)
        places = link_addresses(chosen, mapping, base, segments)
        name = base_name(mapping.path) or "(unknown)"
        for index, place in zip(indexes, places, strict=True):
            at = 0 if place is None else bisect_right(starts, place)
            if at:
                function = f"{name}+{starts[at - 1] - base:#x}"
                locations[index] = locations[index]._replace(function=function)
        for doubt in {mapping.unsure, binaries.unsure(mapping)} - {""}:
            profile.unsure[Unsure(name_of_mapping(mapping), doubt)] = None
