"""A symbfile whose parts are all there, on its way into a store.

A confined process puts it together and converts it; what it says is checked, the engine
looks at every record, and all is published in one step.
"""

from __future__ import annotations

import os

from gsym.errors import FormatError, LimitError
from gsym.server.confined_modules import (
    is_file_in,
    publish_described,
    read_descriptions,
)
from gsym.server.confined_process import ConfinedError, run_confined
from gsym.server.symbfiles.protocol import (
    DAMAGED,
    TOO_COSTLY,
    TOO_LARGE,
    UNFIT,
    WRONG_KIND,
    PartError,
)
from gsym.store.received_symbfile import file_id_identity, publish_return_pads
from gsym.symbfile.format import MAGIC

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from gsym.server.confined_modules import DescribedModule
    from gsym.server.confinement import ChildLimits
    from gsym.store.directory import Store
    from gsym.symbfile.file_id import FileId

_FAULTS = {
    "damaged": DAMAGED,
    "wrong kind": WRONG_KIND,
    "too large": TOO_LARGE,
    "unfit": UNFIT,
}
_SOURCE = "symbfile"
_LONGEST_TEXT = 500
_PACKED_TIMES = 8  # so much more may be in what is compressed


class SymbfilePublication:
    """Puts symbfiles into a store.

    Args:
        store: The store.
        limits: Of the processes that read them.
        most: Bytes that all parts of one may have together, inflated.
    """

    def __init__(self, store: Store, limits: ChildLimits, most: int) -> None:
        self._store = store
        self._limits = limits
        self._most = most

    def publish(self, file_id: FileId, kind: str, parts: list[str]) -> str:
        """Put a symbfile into the store.

        Args:
            file_id: Of the executable.
            kind: "ranges" or "returnpads".
            parts: Paths of all parts in order, in one folder.

        Returns:
            What became of it: "added"; "replaced": it took the place of a poorer one;
            "kept": what was there is as rich at least, and stays.

        Raises:
            OSError: The store cannot be written to.
            PartError: It is refused. Nothing has been published then.
        """
        with self._store.temporary_folder() as folder:
            try:
                answer = self._assemble(folder, file_id, kind, parts)
                if kind == "ranges":
                    return self._publish_module(folder, file_id, answer)
            except (LimitError, ConfinedError) as error:
                raise PartError(TOO_COSTLY, error.reason) from None
            except FormatError as error:
                raise PartError(DAMAGED, error.reason) from None
            publish_return_pads(self._store.path, file_id, answer["symbfile"])
            return "added"

    def _assemble(
        self, folder: str, file_id: FileId, kind: str, parts: list[str]
    ) -> dict[str, Any]:
        arguments = {
            "paths": parts,
            "kind": kind,
            "file_id": file_id.hex(),
            "folder": folder,
            "most": self._most,
        }
        limits = self._limits
        if not _is_plain(parts[0]):
            seconds = _PACKED_TIMES * limits.seconds_per_100_mib
            limits = limits._replace(seconds_per_100_mib=seconds)
        answer = run_confined(
            *("assemble", arguments, folder, limits),
            inputs=parts,
            readable=[os.path.dirname(parts[0])],
        )
        if "refusal" in answer:
            fault = _FAULTS.get(str(answer["refusal"]), DAMAGED)
            raise PartError(fault, str(answer.get("text"))[:_LONGEST_TEXT])
        if not is_file_in(str(answer.get("symbfile")), folder):
            raise FormatError("it was put together in another way than is said")
        return answer

    def _publish_module(
        self, folder: str, file_id: FileId, answer: dict[str, Any]
    ) -> str:
        module = _module(answer, file_id, folder)
        (published,) = publish_described(
            self._store, [module], source=_SOURCE, keys=[None]
        )
        return published.outcome


def _is_plain(path: str) -> bool:
    """Whether a part is not compressed; of pieces of one file, the first tells."""
    with open(path, "rb", buffering=0) as file:
        return file.read(len(MAGIC)) == MAGIC


def _module(answer: dict[str, Any], file_id: FileId, folder: str) -> DescribedModule:
    """The module that was made, which is that of the FileID."""
    modules = read_descriptions(answer.get("modules"), folder)
    if len(modules) != 1:
        raise FormatError("it was converted to something else")
    return modules[0]._replace(
        identity=file_id_identity(file_id),
        uuid=bytes(file_id),
        originals={"ranges": answer["symbfile"]},
    )
