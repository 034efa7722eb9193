"""Reads binaries and packages of strangers in confined processes."""

from __future__ import annotations

import os
from typing import Any

from gsym.confined.adding import is_file_in
from gsym.confined.confinement import ChildLimits
from gsym.confined.process import run_confined
from gsym.errors import FormatError
from gsym.modules.key import ModuleKey
from gsym.store.archives import ArchiveLimits
from gsym.store.binary_facts import BinaryFacts, facts_of
from gsym.store.directory import Store
from gsym.store.packages import (
    PackageMember,
    extract_from_package,
    index_package,
    member_of_row,
)

_INVALID = "reading the file had an invalid result"


class ConfinedBinaries:
    """Reads files in confined processes."""

    def __init__(self, store: Store, limits: ChildLimits, most_inflated: int) -> None:
        self._store = store
        self._limits = limits
        self._archive = list(ArchiveLimits(inflated=most_inflated))

    def facts(self, path: str, section: str = "") -> BinaryFacts:
        """Find the facts, as `facts_of` does."""
        with self._store.temporary_folder() as folder:
            order = {"path": path, "section": section}
            answer = self._run("facts", order, path, folder)
        try:
            modules, kinds, _, (start, end) = answer["facts"]
            keys = tuple(ModuleKey(*map(str, each)) for each in modules)
            found = BinaryFacts(keys, tuple(kinds), "", (int(start), int(end)))
        except (KeyError, TypeError, ValueError):
            raise FormatError(_INVALID) from None
        if not 0 <= found.part[0] <= found.part[1] <= os.path.getsize(path):
            raise FormatError(_INVALID)
        return found

    def index(self, path: str) -> list[PackageMember]:
        """Index a package, as `index_package` does."""
        with self._store.temporary_folder() as folder:
            order = {"path": path, "folder": folder, "limits": self._archive}
            answer = self._run("index", order, path, folder)
        try:
            return [member_of_row(path, row) for row in answer["binaries"]]
        except (KeyError, TypeError, ValueError):
            raise FormatError(_INVALID) from None

    def extract(self, path: str, number: int, target: str) -> None:
        """Write a binary in a package to *target*, in the file system of the store.

        Raises:
            GsymError: The package is damaged or too large, or the process failed.
            OSError: It cannot be read, or *target* not be written.
        """
        with self._store.temporary_folder() as folder:
            order = {"path": path, "folder": folder, "limits": self._archive}
            answer = self._run("extract", {**order, "number": number}, path, folder)
            file = str(answer.get("file"))
            if not is_file_in(file, folder):
                raise FormatError(_INVALID)
            os.rename(file, target)

    def _run(
        self, task: str, order: dict[str, Any], path: str, folder: str
    ) -> dict[str, Any]:
        readable = [path, os.path.realpath(path)]
        return run_confined(
            *(task, order, folder, self._limits), inputs=[path], readable=readable
        )


def confined_facts(path: str, section: str) -> dict[str, Any]:
    """The facts of a binary; runs in the confined process."""
    return {"facts": facts_of(path, section)}


def confined_index(path: str, folder: str, limits: list[int]) -> dict[str, Any]:
    """The binaries in a package, as rows; runs in the confined process."""
    found = index_package(path, folder, ArchiveLimits(*limits))
    return {"binaries": [each[1:] for each in found]}


def confined_extract(
    path: str, folder: str, limits: list[int], number: int
) -> dict[str, Any]:
    """Unpack a binary of a package; runs in the confined process."""
    file = extract_from_package(path, number, folder, ArchiveLimits(*limits))
    return {"file": file}
