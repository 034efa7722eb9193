"""Files that sources give are converted by confined processes."""

from __future__ import annotations

import os

from gsym.errors import FormatError, UuidMismatchError
from gsym.module_identity import ModuleIdentity
from gsym.server.confined_process import run_confined
from gsym.server.described_module import (
    describe,
    publish_described,
    read_descriptions,
)
from gsym.sources.dsym import bundle_member
from gsym.store.adding import add_file
from gsym.store.directory import Store
from gsym.store.module_key import ModuleKey

__all__ = ["ConfinedAdder", "add_alone"]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from gsym.server.confinement import ChildLimits
    from gsym.store.publication import Publication


class ConfinedAdder:
    """Puts files into stores as `add_file` does, which a confined process runs.

    Args:
        limits: Of the process.
        most_inflated: Bytes that a compressed file may hold.
    """

    def __init__(self, limits: ChildLimits, most_inflated: int) -> None:
        self._limits = limits
        self._most_inflated = most_inflated

    def __call__(
        self,
        store: Store,
        path: str,
        *,
        key: ModuleKey,
        identity: ModuleIdentity,
        source: str,
    ) -> Publication:
        """Put the module of a file into a store.

        Args:
            store: The store.
            path: The file. It and what lies beside it can be read.
            key: The module that it has to be.
            identity: What is known better than the file tells.
            source: Where the file is from.

        Raises:
            ConfinedError: Reading it takes too much.
            GsymError: As for `add_file`.
            OSError: As for `add_file`.
        """
        place = os.path.abspath(path)
        with store.temporary_folder() as folder:
            arguments = {
                "path": place,
                "key": list(key),
                "identity": list(identity),
                "store": os.path.join(folder, "store"),
                "most_inflated": self._most_inflated,
            }
            answer = run_confined(
                *("add", arguments, folder, self._limits),
                inputs=[bundle_member(place)],
                readable=[os.path.dirname(place)],
            )
            if "mismatch" in answer:
                raise UuidMismatchError(str(answer["mismatch"]), path=path)
            modules = read_descriptions(answer.get("modules"), folder)
            if len(modules) != 1:
                raise FormatError("it was converted to something else")
            (published,) = publish_described(store, modules, source=source, keys=[key])
            return published


def add_alone(
    path: str, key: list[str], identity: list[str], store: str, most_inflated: int
) -> dict[str, Any]:
    """Convert a file into a store of its own; runs in the confined process."""
    try:
        published = add_file(
            Store(store),
            path,
            key=ModuleKey(*key),
            identity=ModuleIdentity(*identity),
            most_inflated=most_inflated,
        )
    except UuidMismatchError as error:
        return {"mismatch": error.reason}
    return {"modules": [describe(published.entry)]}
