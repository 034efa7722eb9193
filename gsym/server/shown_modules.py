"""Modules as answers for people have them."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from gsym.model import valid_text
from gsym.modules.key import Attempt
from gsym.store.entries import Entry

_LONGEST_TEXT = 4096  # characters of a name or a path, which may be hostile
_LEVELS = ("names of functions", "source lines", "inlined calls")


class AttemptShown(msgspec.Struct):
    """An attempt to get a module from a source; see `gsym.modules.key.Attempt`."""

    source: str
    outcome: str
    detail: str
    seconds: float
    size: int


class ModuleShown(msgspec.Struct):
    """A module of the store."""

    debug_file: str  # name of the file with debug information
    debug_id: str  # digits of the GUID and the age
    code_file: str  # name of the binary if it differs
    code_id: str  # build id, LC_UUID, or time stamp and image size
    os: str  # "Linux", "mac" or "windows"
    architecture: str  # such as "x86_64"
    size: int  # total bytes of its files
    functions: int  # number of functions; 0 if it is not converted yet
    level: str  # the detail of its symbols
    source: str  # origin of the debug information
    added: float  # seconds since 1970
    is_incomplete: bool  # whether files with debug information could not be read


def attempts_shown(attempts: Iterable[Attempt]) -> list[AttemptShown]:
    """The attempts to get a module."""
    return [
        AttemptShown(shown(source), outcome, shown(detail), seconds, size)
        for source, outcome, detail, seconds, size in attempts
    ]


def shown(text: str) -> str:
    """Valid text of limited length."""
    if len(text) > _LONGEST_TEXT:
        text = text[: _LONGEST_TEXT - 1] + "…"
    return valid_text(text)


def module_shown(entry: Entry) -> ModuleShown:
    """An entry of a store."""
    known, quality = entry.identity, entry.quality
    return ModuleShown(
        debug_file=shown(known.debug_file),
        debug_id=known.debug_id,
        code_file=shown(known.code_file),
        code_id=known.code_id,
        os=shown(known.os),
        architecture=shown(known.architecture),
        size=entry.size,
        functions=quality.functions,
        level=_LEVELS[min(max(quality.level, 0), len(_LEVELS) - 1)]
        if quality.functions
        else "not converted yet",
        source=shown(entry.source),
        added=entry.added,
        is_incomplete=bool(entry.missing),
    )
