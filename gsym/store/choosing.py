"""Choice between several files, or modules of a store, that have the ids asked for."""

from __future__ import annotations

from gsym.errors import AmbiguousModuleError
from gsym.modules.key import OUTCOMES, PART, SAME, Comparison, ModuleKey, compare
from gsym.records import NamedTuple

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from gsym.store.entries import Entry

    # A place and the module there, perhaps without its `code_hash` -> with it.
    WithCode = Callable[[str, ModuleKey], ModuleKey]


_HASH_SHOWN = 16  # digits


class FittingFile(NamedTuple):
    """A file of a module that was asked for."""

    path: str  # the file, or its place for people
    module: ModuleKey  # what it is
    comparison: Comparison  # with what was asked for; `SAME` or `PART`


def fitting_files(
    key: ModuleKey, files: Iterable[tuple[str, ModuleKey]], with_code: WithCode
) -> list[FittingFile]:
    """The files of a module, in their order, but those with a complete id first.

    Of files that are of several modules, these are those whose names are in *key*.

    Args:
        key: The module.
        files: Paths and modules; a file may be listed as several modules.
        with_code: Returns a module with its `code_hash`, where there are several files.

    Raises:
        AmbiguousModuleError: They are of several modules, and the names do not choose
            one.
    """
    found: dict[str, FittingFile] = {}
    for path, module in files:
        file = FittingFile(path, module, compare(key, module))
        before = found.get(path)
        is_better = before is None or before.comparison.outcome == PART
        if is_better and file.comparison.outcome in {SAME, PART}:
            found[path] = file
    ordered = sorted(found.values(), key=lambda each: each.comparison.outcome != SAME)
    best = [
        (each.path, each.module)
        for each in ordered
        if each.comparison.outcome == ordered[0].comparison.outcome
    ]
    if len(best) <= 1 or difference(best, with_code) is None:
        return ordered
    named = {path: module for path, module in best if is_named(module, key)}
    ambiguity = difference(named.items() if named else best, with_code)
    if ambiguity is None:
        return [each for each in ordered if each.path in named]
    first, second, reason = ambiguity
    raise AmbiguousModuleError(
        f"several modules have this id: {first} and {second} ({reason})"
    )


def difference(
    files: Iterable[tuple[str, ModuleKey]], with_code: WithCode
) -> tuple[str, str, str] | None:
    """Two files of different modules, and why they are; None if all may be of one."""
    known: dict[ModuleKey, str] = {}
    for path, module in files:
        ids = with_code(path, module)._replace(debug_file="", code_file="")
        if ids in known:
            continue
        for other, first in known.items():
            comparison = compare(other, ids)
            if comparison.is_refused:
                return first, path, comparison.reason
        known[ids] = path
    return None


def is_named(module: ModuleKey, key: ModuleKey) -> bool:
    """Whether a module has a name that is in *key*, ignoring case."""
    names = {key.debug_file.lower(), key.code_file.lower()} - {""}
    return not names.isdisjoint({module.debug_file.lower(), module.code_file.lower()})


def chosen(key: ModuleKey, modules: Iterable[Entry]) -> Entry | None:
    """The module of a store that a key means; None if all are other builds.

    One that certainly is it comes before one of which a part of an id is known; of
    equally certain ones, the code and then the names in the key choose.

    Raises:
        AmbiguousModuleError: Several are left.
    """
    outcomes = [(each, each.compare(key).outcome) for each in modules]
    for outcome in OUTCOMES[:-1]:
        found = [each for each, its_outcome in outcomes if its_outcome == outcome]
        # Those of another or no known code are equal by their ids alone.
        code = key.code_hash or None
        found = [each for each in found if each.identity.code_hash == code] or found
        found = [each for each in found if is_named(each.identity, key)] or found
        if len(found) > 1:
            names = ", ".join(map(_described, found))
            raise AmbiguousModuleError(f"{len(found)} modules have this id: {names}")
        if found:
            return found[0]
    return None


def _described(entry: Entry) -> str:
    """A module in words: its name, where it is from and what tells it from others."""
    known = entry.identity
    told = f"id {known.go_id or known.code_id.lower() or known.debug_id}"
    if known.code_hash:
        told = f"code {known.code_hash[:_HASH_SHOWN]}"
    name = known.debug_file or known.code_file or known.debug_id
    return f"{name} of {entry.source or entry.path} ({told})"
