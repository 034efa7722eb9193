"""How much of a profile is known by name, and why the rest is not."""

from __future__ import annotations

from gsym.records import NamedTuple

__all__ = ["Unresolved", "resolution"]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gsym.profile.model import Profile


class Unresolved(NamedTuple):
    """Locations of one module that have no functions, for one reason."""

    module: str
    reason: str
    locations: int


def resolution(profile: Profile) -> tuple[int, list[Unresolved]]:
    """How many locations have functions, and which have none, the most first."""
    missing: dict[tuple[str, str], int] = {}
    known = 0
    for location in profile.locations:
        if location.frames:
            known += 1
            continue
        module = ""
        if location.mapping is not None:
            mapping = profile.mappings[location.mapping]
            module = mapping.path or mapping.build_id
        key = (module, location.reason)
        missing[key] = missing.get(key, 0) + 1
    rows = [Unresolved(*key, count) for key, count in missing.items()]
    return known, sorted(rows, key=lambda row: (-row.locations, row.module, row.reason))
