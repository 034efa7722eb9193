"""Ranges of symbfiles -> functions with inlined calls and lines, in the engine."""

from __future__ import annotations

from gsym._native import check, ffi, lib, new_error

__all__ = ["FunctionTrees"]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from gsym.creator import Creator
    from gsym.formats.symbfile import Decoder

    CData = Any  # a cffi object


class FunctionTrees:
    """Adds the functions of symbfiles to a creator.

    A function that was split where the file of its lines changes is one again. Calls
    are cut where they leave their function or overlap.

    Args:
        creator: Where they go.

    Raises:
        ClosedError: The creator has written its file or was closed.
    """

    def __init__(self, creator: Creator) -> None:
        self._error: CData = new_error()
        self._creator = creator
        place = ffi.new("gsym_symbfile_functions **")
        status = lib.gsym_symbfile_functions_create(
            self._open_creator(), place, self._error
        )
        check(status, self._error)
        self._handle = ffi.gc(place[0], lib.gsym_symbfile_functions_destroy)

    def add(self, symbfile: Decoder, path: str | None = None) -> int:
        """Add the functions of a whole file; return pads are passed over.

        Args:
            symbfile: The file, of which nothing has been read.
            path: What it is called, for errors.

        Returns:
            How many functions there are, those of files before among them.

        Raises:
            ClosedError: The creator has written its file or was closed.
            FormatError: The file is damaged, or a range ends behind all addresses.
            LimitError: Calls nest more deeply than 256, a function has 4 GiB or more,
                or strings do not fit version 1.
        """
        self._open_creator()
        for reader in symbfile.reads():
            status = lib.gsym_symbfile_functions_take(self._handle, reader, self._error)
            check(status, self._error, path)
        count = ffi.new("uint64_t *")
        status = lib.gsym_symbfile_functions_finish(self._handle, count, self._error)
        check(status, self._error, path)
        return int(count[0])

    def _open_creator(self) -> CData:
        return self._creator._open_handle()  # noqa: SLF001 - that siblings share
