"""A reader of a GSYM file on a web server or in a bucket.

Lookups read the parts of the file that they need and keep them in memory. When that
takes too much, a new image begins with the recent ones, and answers keep the image that
they refer to. Anything else than lookups reads the file into a temporary one.
"""

from __future__ import annotations

from gsym.errors import LimitError, SourceError
from gsym.lazy import tempfile
from gsym.model import UINT64_END
from gsym.net.ranges import RemoteFile
from gsym.reading.reader import PartialImages, Reader, header_of
from gsym.remote.sparse_image import HEAD_SIZE, SparseImage

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Iterable

    from gsym.engine.mapped_image import MappedImage
    from gsym.net.limits import TransferLimits

_PIECE = 8 << 20
_MANY = 4  # for more than one address in so many functions, the file is read


def open_remote(
    url: str,
    uuid: bytes | str | None = None,
    *,
    index_limit: int | None = None,
    limits: TransferLimits | None = None,
) -> Reader:
    """Open the GSYM file at a URL.

    Raises:
        GsymError: It cannot be read, or not in parts.
        UuidMismatchError: The file belongs to another binary.
    """
    try:
        file = RemoteFile(url, HEAD_SIZE, limits)
    except ValueError as error:
        shown = url.partition("?")[0].rpartition("@")[2]
        raise SourceError(str(error), path=shown) from None
    return Reader(_RemoteImages(file, index_limit), uuid=uuid)


class _RemoteImages(PartialImages):
    """The parts of a remote file that lookups need, then all of it."""

    def __init__(self, file: RemoteFile, index_limit: int | None) -> None:
        super().__init__(file.name)
        self._file = file
        self._index_limit = index_limit
        self._sparse = sparse = SparseImage(file, index_limit)
        self._header = header_of(sparse.mapped, sparse.data)

    @property
    def offset(self) -> int:
        """Offset of the file in its binary: it is no part of one."""
        return 0

    @property
    def size(self) -> int:
        """Bytes of the file."""
        self._check_open()
        return self._file.size

    @property
    def module_range(self) -> tuple[int, int] | None:
        """See `Reader.module_range`."""
        self._check_open()
        return self._current().module_range()

    def tail(self, size: int) -> memoryview:
        """The last bytes of the file, at most *size*."""
        start = max(0, self.size - size)
        return memoryview(self._file.read(start, self.size - start))

    def mapped_for(self, addresses: Iterable[int]) -> MappedImage:
        """The image that has the answers for *addresses*."""
        self._check_open()
        if self._whole is not None:
            return self.mapped
        asked = {each for each in addresses if 0 <= each < UINT64_END}
        if len(asked) > max(_MANY, self.header.num_addresses // _MANY):
            return self.mapped
        sparse = self._current()
        try:
            sparse.prepare(asked)
        except LimitError:
            return self.mapped
        return sparse.mapped

    def _current(self) -> SparseImage:
        with self._lock:
            self._sparse = self._sparse.within_memory()
            return self._sparse

    def _read_all(self) -> Reader:
        from mmap import ACCESS_READ, mmap

        file = self._file
        with tempfile.TemporaryFile(prefix="gsym-") as copy:
            copy.write(file.head)
            for start in range(len(file.head), file.size, _PIECE):
                copy.write(file.read(start, min(_PIECE, file.size - start)))
            copy.flush()
            data = mmap(copy.fileno(), 0, access=ACCESS_READ)
        return Reader(data, path=self.path, index_limit=self._index_limit)
