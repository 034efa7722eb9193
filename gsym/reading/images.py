"""Contents of a file of which parts are read, until all of it is wanted."""

from __future__ import annotations

from _thread import allocate_lock

from gsym.errors import ClosedError
from gsym.reading.reader import Images

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from gsym.engine.mapped_image import MappedImage
    from gsym.reading.reader import Reader


class PartialImages(Images):
    """Parts of a file, then all of it; for readers."""

    def __init__(self, path: str | None) -> None:
        self.path = path
        self._lock = allocate_lock()
        self._whole: Reader | None = None

    def _read_all(self) -> Reader:
        """Read the whole file, once."""
        raise NotImplementedError

    @property
    def is_partial(self) -> bool:
        """Whether nobody has wanted all of it yet."""
        return self._whole is None

    @property
    def mapped(self) -> MappedImage:
        """All of the file."""
        with self._lock:
            self._check_open()
            if self._whole is None:
                self._whole = self._read_all()
            return self._whole.mapped

    def close(self) -> None:
        """Close it; running calls in other threads finish normally."""
        with self._lock:
            super().close()
            if self._whole is not None:
                self._whole.close()

    def _check_open(self) -> None:
        if self.is_closed:
            raise ClosedError("the reader is closed", path=self.path)
