"""Chooses the module that a key means among those that have its ids."""

from __future__ import annotations

from gsym.errors import AmbiguousModuleError
from gsym.modules.key import OUTCOMES

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Iterable

    from gsym.modules.key import ModuleKey
    from gsym.store.modules import Entry

_HASH_SHOWN = 16  # digits


def chosen(key: ModuleKey, modules: Iterable[Entry]) -> Entry | None:
    """The module of a key; None if all are other builds.

    One that certainly is it comes before one of which a part of an id is known; of
    equally certain ones, the names in the key choose.

    Raises:
        AmbiguousModuleError: Several are left.
    """
    by_outcome: dict[str, list[Entry]] = {}
    for each in modules:
        by_outcome.setdefault(each.compare(key).outcome, []).append(each)
    for outcome in OUTCOMES[:-1]:
        found = by_outcome.get(outcome, [])
        if key.code_hash:
            # The others are equal by their ids alone.
            known = key.code_hash
            found = [
                each for each in found if each.identity.code_hash == known
            ] or found
        if len(found) > 1:
            found = [each for each in found if _is_named(each, key)] or found
        if len(found) == 1:
            return found[0]
        if found:
            names = ", ".join(map(_described, found))
            raise AmbiguousModuleError(f"{len(found)} modules have this id: {names}")
    return None


def _is_named(entry: Entry, key: ModuleKey) -> bool:
    """Whether a module has a name that a key has."""
    known = entry.identity
    names = {key.debug_file.lower(), key.code_file.lower()} - {""}
    return not names.isdisjoint({known.debug_file.lower(), known.code_file.lower()})


def _described(entry: Entry) -> str:
    """A module in words: its name, where it is from and what tells it from others."""
    known = entry.identity
    if known.code_hash:
        told = f"code {known.code_hash[:_HASH_SHOWN]}"
    else:
        told = f"id {known.go_id or known.code_id.lower() or known.debug_id}"
    name = known.debug_file or known.code_file or known.debug_id
    return f"{name} of {entry.source or entry.path} ({told})"
