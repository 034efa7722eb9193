"""The interface of a module source."""

from __future__ import annotations

from contextlib import suppress

from gsym.errors import AmbiguousModuleError, NotFoundError, SourceError
from gsym.modules.key import ModuleKey
from gsym.records import NamedTuple

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Protocol

    from gsym.store.entries import Entry

    class Source(Protocol):
        """Debug files by the identifiers of modules; safe for threads."""

        @property
        def name(self) -> str:
            """Name for reports: its kind and location, without credentials."""

        def find(self, key: ModuleKey, folder: str) -> FoundFile:
            """The file of a module, which is not checked yet.

            Args:
                key: The module.
                folder: An empty folder for downloads, which the caller removes.

            Raises:
                AmbiguousModuleError: Several modules fit that differ.
                NotFoundError: The source does not have it, or the key lacks the
                    identifier that this kind of source needs.
                SourceError: The source gave no usable answer.
            """


class SourceList:
    """Several sources as one, with the name of the first.

    Attributes:
        parts: They are asked in order.
    """

    def __init__(self, parts: Sequence[Source]) -> None:
        self.parts: tuple[Source, ...] = tuple(parts)
        self.name: str = self.parts[0].name

    def find(self, key: ModuleKey, folder: str) -> FoundFile:
        """The file of a module in the first source that has one; see `Source.find`."""
        for part in self.parts[:-1]:
            with suppress(AmbiguousModuleError, NotFoundError, SourceError):
                return part.find(key, folder)
        return self.parts[-1].find(key, folder)


def not_found(tried: int) -> NotFoundError:
    """The error after trying this number of paths."""
    if not tried:
        return NotFoundError("needs a file name and its id, or a build id")
    return NotFoundError(f"not found (tried {tried} paths)")


class FoundFile(NamedTuple):
    """A file that a source has for a module."""

    # a file of the source itself, or a download in the folder given to `Source.find`
    path: str
    location: str  # its origin, for people: a path or a URL without credentials
    # what the source knows of the module and the file does not contain
    identity: ModuleKey = ModuleKey()
    code_ids: tuple[str, ...] = ()  # as `Entry.code_ids`

    @property
    def is_copy(self) -> bool:
        """Whether it was fetched, unpacked or stored: strangers may have made it."""
        return self.path != self.location


BINARY_KINDS = ("executable", "debuginfo", "sym")
"""Kinds of `Entry.originals` that may have code or call frame information."""


def stored_binaries(entry: Entry | None, kind: str = "") -> list[FoundFile]:
    """The files of a module in a store that may have its code, or be of *kind*."""
    if entry is None:
        return []
    kinds = ("debuginfo", "executable") if kind == "debuginfo" else BINARY_KINDS
    kept, source = entry.originals, entry.source
    return [FoundFile(kept[each], source) for each in kinds if each in kept]


def kind_of_binary(path: str) -> str:
    """The kind of the file at a path: "debuginfo", "sym", else "executable"."""
    if path.endswith((".sym", "/breakpad")):
        return "sym"
    return "debuginfo" if path.endswith("/debuginfo") else "executable"
