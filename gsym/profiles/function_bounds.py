"""Functions without symbols, by where they start in their binaries.

All addresses of a function of a stripped module have one name, so that sums by function
hold: `app+0x1130`, of the module and the start, counted from the base of that.
"""

from __future__ import annotations

from bisect import bisect_right

from gsym.profiles.model import Unsure, base_name, name_of_mapping
from gsym.profiles.symbolizing import link_addresses

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from gsym.profiles.binaries import Binaries
    from gsym.profiles.model import Profile


def bound_functions(profile: Profile, binaries: Binaries) -> None:
    """Set the functions of locations without frames whose binary tells their starts.

    Modules that may be of another build are noted in the profile.
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
