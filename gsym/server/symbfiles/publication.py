"""Publishes a complete symbfile in a store.

A confined process joins and converts its parts; the result is checked, also by the
engine for each record, and published in one step.
"""

from __future__ import annotations

import os

from gsym.confined.adding import (
    is_file_in,
    publish_one,
    read_description,
)
from gsym.confined.process import ConfinedError, run_confined
from gsym.errors import FormatError, LimitError
from gsym.server.symbfiles import protocol
from gsym.store.received_symbfile import (
    file_id_identity,
    publish_return_pads,
    return_pads_path,
)
from gsym.symbfile.format import is_symbfile

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from typing import Any

    from gsym.confined.confinement import ChildLimits
    from gsym.store.directory import Store
    from gsym.symbfile.file_id import FileId

_REFUSALS = {
    "damaged": protocol.DAMAGED,
    "wrong kind": protocol.WRONG_KIND,
    "too large": protocol.TOO_LARGE,
    "unfit": protocol.UNFIT,
}
_SOURCE = "symbfile"
_MAX_TEXT = 500
_INFLATED_TIMES = 8  # assumed compression ratio, for the time limit


class SymbfilePublication:
    """Publishes symbfiles in a store."""

    def __init__(self, store: Store, limits: ChildLimits, most: int) -> None:
        self._store = store
        self._limits = limits
        self._most = most

    def publish(
        self,
        file_id: FileId,
        kind: str,
        parts: list[str],
        *,
        may_replace: bool,
    ) -> str:
        """Publish a symbfile.

        Returns:
            "added"; "replaced": it replaced a less complete module; "kept": the stored
            module is at least as complete and was kept.

        Raises:
            PartError: It is refused, and nothing was published.
        """
        with self._store.temporary_folder() as folder:
            try:
                answer = self._assemble(folder, file_id, kind, parts)
                if kind == "ranges":
                    module = read_description(answer, folder)._replace(
                        identity=file_id_identity(file_id),
                        uuid=bytes(file_id),
                        originals={"ranges": answer["symbfile"]},
                    )
                    return publish_one(
                        self._store, module, source=_SOURCE, may_replace=may_replace
                    ).outcome
            except (LimitError, ConfinedError) as error:
                raise protocol.PartError(protocol.TOO_COSTLY, error.reason) from None
            except FormatError as error:
                raise protocol.PartError(protocol.DAMAGED, error.reason) from None
            path = return_pads_path(self._store.path, file_id)
            is_stored = os.path.exists(path)
            if is_stored and not may_replace:
                return "kept"
            publish_return_pads(self._store.path, file_id, answer["symbfile"])
            return "replaced" if is_stored else "added"

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
        if not is_symbfile(parts[0]):  # of pieces of one symbfile, the first counts
            seconds = _INFLATED_TIMES * limits.seconds_per_100_mib
            limits = limits._replace(seconds_per_100_mib=seconds)
        answer = run_confined(
            *("assemble", arguments, folder, limits),
            inputs=parts,
            readable=[os.path.dirname(parts[0])],
        )
        if "refusal" in answer:
            refusal = _REFUSALS.get(str(answer["refusal"]), protocol.DAMAGED)
            raise protocol.PartError(refusal, str(answer.get("text"))[:_MAX_TEXT])
        if not is_file_in(str(answer.get("symbfile")), folder):
            raise FormatError("joining the parts had an invalid result")
        return answer
