"""Sources in buckets: S3, Google Cloud Storage, Azure."""

from __future__ import annotations

import time

from gsym.errors import SourceError
from gsym.net.buckets import errors_of
from gsym.net.transfer import inflated_pieces, write_pieces
from gsym.store.sources.foreign_layouts import BREAKPAD_TREE, DEBUGINFOD, STORE, UNIFIED
from gsym.store.sources.web_server import FetchedFiles

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from obstore.store import ObjectStore
    from typing_extensions import Buffer

    from gsym.net.limits import TransferLimits

_LAYOUTS = (STORE, BREAKPAD_TREE, DEBUGINFOD, UNIFIED)
_PIECE = 1 << 20


class ObjectStorage(FetchedFiles):
    """A bucket that `open_object_store` opened, with the layouts of other tools."""

    def __init__(self, store: ObjectStore, name: str, limits: TransferLimits) -> None:
        super().__init__(name, _LAYOUTS)
        self._store = store
        self._limits = limits

    def objects(self) -> Iterator[tuple[str, str]]:
        """(path, mark) of each object; the mark changes with its contents.

        Raises:
            SourceError: It cannot be listed.
        """
        with errors_of(self.name):
            for batch in self._store.list():
                for each in batch:
                    mark = each["e_tag"] or each["last_modified"].isoformat()
                    yield each["path"], f"{each['size']} {mark}"

    def fetch(self, path: str, target: str) -> None:
        """Download an object; *target* is removed if that fails.

        Raises:
            NotFoundError: It does not exist.
            SourceError: It cannot be downloaded within the limits.
        """
        limits = self._limits
        with errors_of(f"{self.name}/{path}"):
            result = self._store.get(path)
            encoding = str(result.attributes.get("Content-Encoding", ""))
            pieces: Iterable[Buffer] = result.stream(min_chunk_size=_PIECE)
            pieces = _checked(pieces, result.meta["size"], limits)
            pieces = inflated_pieces(pieces, encoding, limits.most_inflated)
            write_pieces(pieces, target)


def _checked(
    pieces: Iterable[Buffer], size: int, limits: TransferLimits
) -> Iterator[Buffer]:
    """*pieces*, checking size and time."""
    if size > limits.most_bytes:
        raise SourceError(f"is larger than {limits.most_bytes} bytes")
    until = time.monotonic() + limits.total_seconds
    left = size
    for piece in pieces:
        left -= memoryview(piece).nbytes
        if time.monotonic() > until:
            reason = f"took more than {limits.total_seconds:g} seconds"
            raise SourceError(reason, may_retry=True)
        yield piece
    if left:
        raise SourceError(f"is not {size} bytes as declared", may_retry=True)
