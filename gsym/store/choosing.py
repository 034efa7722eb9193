"""Choice between several files of the module that was asked for."""

from __future__ import annotations

from gsym.errors import AmbiguousModuleError
from gsym.modules.key import PART, SAME, Comparison, ModuleKey, compare
from gsym.records import NamedTuple

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    # A place and the module there, perhaps without its `code_hash` -> with it.
    WithCode = Callable[[str, ModuleKey], ModuleKey]


class FittingFile(NamedTuple):
    """A file of a module that was asked for.

    Attributes:
        path: The file, or its place for people.
        module: What it is.
        comparison: With what was asked for; `SAME` or `PART`.
    """

    path: str
    module: ModuleKey
    comparison: Comparison


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
    names = {key.debug_file, key.code_file} - {""}
    named = {
        path: module
        for path, module in best
        if names & {module.debug_file, module.code_file}
    }
    several = difference(named.items() if named else best, with_code)
    if several is None:
        return [each for each in ordered if each.path in named]
    first, second, reason = several
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
