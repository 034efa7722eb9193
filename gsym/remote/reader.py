"""A reader of a GSYM file on a web server or in a bucket.

Lookups read the parts of the file that they need and keep them in memory. When that
takes too much, a new image begins with the recent ones, and answers keep the image that
they refer to. Anything else than lookups reads the file into a temporary one.
"""

from __future__ import annotations

from _thread import allocate_lock

from gsym.errors import ClosedError, LimitError, SourceError
from gsym.model import UINT64_END
from gsym.net.ranges import RemoteFile
from gsym.reading.reader import Reader, header_of, module_named
from gsym.remote.sparse_image import HEAD_SIZE, SparseImage

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Iterable

    from gsym.engine.mapped_image import MappedImage
    from gsym.modules.key import ModuleKey
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


class _RemoteImages:
    """The parts of a remote file that lookups need, then all of it; see `Images`."""

    __slots__ = (
        "_file",
        "_index_limit",
        "_lock",
        "_sparse",
        "_whole",
        "header",
        "is_closed",
        "offset",
        "path",
    )

    def __init__(self, file: RemoteFile, index_limit: int | None) -> None:
        self._file = file
        self._index_limit = index_limit
        self._lock = allocate_lock()
        self._sparse = sparse = SparseImage(file, index_limit)
        self._whole: Reader | None = None
        self.header = header_of(sparse.mapped, sparse.data)
        self.is_closed = False
        self.offset = 0
        self.path: str | None = file.name

    @property
    def uuid(self) -> bytes:
        return self.header.uuid

    @property
    def module(self) -> ModuleKey | None:
        return module_named(self)

    @property
    def size(self) -> int:
        self._check_open()
        return self._file.size

    @property
    def mapped(self) -> MappedImage:
        with self._lock:
            self._check_open()
            if self._whole is None:
                self._whole = self._read_all()
            return self._whole.mapped

    @property
    def is_partial(self) -> bool:
        return self._whole is None

    @property
    def module_range(self) -> tuple[int, int] | None:
        self._check_open()
        return self._current().module_range()

    def tail(self, size: int) -> memoryview:
        self._check_open()
        start = max(0, self.size - size)
        return memoryview(self._file.read(start, self.size - start))

    def close(self) -> None:
        with self._lock:
            self.is_closed = True
            if self._whole is not None:
                self._whole.close()

    def mapped_for(self, addresses: Iterable[int]) -> MappedImage:
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

    def _check_open(self) -> None:
        if self.is_closed:
            raise ClosedError("the reader is closed", path=self.path)

    def _current(self) -> SparseImage:
        with self._lock:
            self._sparse = self._sparse.within_memory()
            return self._sparse

    def _read_all(self) -> Reader:
        from mmap import ACCESS_READ, mmap
        from tempfile import TemporaryFile

        file = self._file
        with TemporaryFile(prefix="gsym-") as copy:
            copy.write(file.head)
            for start in range(len(file.head), file.size, _PIECE):
                copy.write(file.read(start, min(_PIECE, file.size - start)))
            copy.flush()
            data = mmap(copy.fileno(), 0, access=ACCESS_READ)
        return Reader(data, path=self.path, index_limit=self._index_limit)
