"""The interface of what a reader reads, which need not be there as a whole."""

from __future__ import annotations

from typing import Protocol

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Iterable

    from gsym.engine.mapped_image import MappedImage
    from gsym.model import Header
    from gsym.modules.key import ModuleKey


class Images(Protocol):
    """Contents for a reader: of a file, of parts of a remote one, or of a binary.

    All but `path`, `header` and `is_closed` raise `ClosedError` after `close`.
    """

    @property
    def path(self) -> str | None:
        """The name of the file in errors; None for bytes without a name."""

    @property
    def header(self) -> Header:
        """The header of the file."""

    @property
    def uuid(self) -> bytes:
        """Identifier of the binary that the file is of, or b""."""

    @property
    def module(self) -> ModuleKey | None:
        """The module that the file names, or that the binary is."""

    @property
    def offset(self) -> int:
        """Offset of the file in its binary, or 0."""

    @property
    def size(self) -> int:
        """Bytes of the file."""

    @property
    def module_range(self) -> tuple[int, int] | None:
        """See `Reader.module_range`."""

    @property
    def is_partial(self) -> bool:
        """Whether `mapped_for` is less work than `mapped`, for a few addresses."""

    @property
    def is_closed(self) -> bool:
        """Whether it was closed."""

    @property
    def mapped(self) -> MappedImage:
        """All of the file."""

    def mapped_for(self, addresses: Iterable[int]) -> MappedImage:
        """The image that has the answers for *addresses*."""

    def tail(self, size: int) -> memoryview:
        """The last bytes of the file, at most *size*."""

    def close(self) -> None:
        """Close it; running calls in other threads finish normally."""
