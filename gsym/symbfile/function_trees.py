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
    """Adds the functions of symbfiles to a creator; lookups answer like the ranges.

    A function that was split where the file of its lines changes is joined again.

    Args:
        creator: Where they go.
        waits_for_all: Keep all ranges until the end, so that they may come in any
            order; otherwise only those of one function.

    Raises:
        ClosedError: The creator has written its file or was closed.
    """

    def __init__(self, creator: Creator, *, waits_for_all: bool = False) -> None:
        self._error: CData = new_error()
        self._creator = creator
        place = ffi.new("gsym_symbfile_functions **")
        status = lib.gsym_symbfile_functions_create(
            self._open_creator(), waits_for_all, place, self._error
        )
        check(status, self._error)
        self._handle = ffi.gc(place[0], lib.gsym_symbfile_functions_destroy)
        self._is_disordered = ffi.new("uint32_t *")

    def add(self, symbfile: Decoder, path: str | None = None) -> bool:
        """Add the functions of a whole file; return pads are passed over.

        Args:
            symbfile: The file, of which nothing has been read.
            path: What it is called, for errors.

        Returns:
            False if ranges are not in depth-first order: add all files again, to
            another creator, with *waits_for_all*.

        Raises:
            ClosedError: The creator has written its file or was closed.
            FormatError: The file is damaged, or a range ends beyond the address
                space.
            LimitError: Calls nest more deeply than 256, a range has 4 GiB or more,
                or strings do not fit version 1.
        """
        self._open_creator()
        for reader in symbfile.reads():
            status = lib.gsym_symbfile_functions_take(
                self._handle, reader, self._is_disordered, self._error
            )
            check(status, self._error, path)
            if self._is_disordered[0]:
                return False
        return True

    def finish(self, path: str | None = None) -> int | None:
        """The number of functions, once all files are added.

        Args:
            path: What the last file is called, for errors.

        Returns:
            None if functions overlap: proceed as described for `add`.

        Raises:
            ClosedError: The creator has written its file or was closed.
            LimitError: Ranges would be cut into too many calls, or strings do not fit
                version 1.
        """
        self._open_creator()
        count = ffi.new("uint64_t *")
        status = lib.gsym_symbfile_functions_finish(
            self._handle, count, self._is_disordered, self._error
        )
        check(status, self._error, path)
        return None if self._is_disordered[0] else int(count[0])

    def _open_creator(self) -> CData:
        return self._creator._open_handle()  # noqa: SLF001 - that siblings share
