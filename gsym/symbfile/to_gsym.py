"""Convert symbfiles to GSYM files."""

from __future__ import annotations

from gsym.arguments import path_of, paths_of
from gsym.engine.native import check, ffi, lib, new_error, new_object
from gsym.errors import EmptyError
from gsym.symbfile.format import Decoder, open_symbfile
from gsym.writing.atomic_file import is_same_file
from gsym.writing.creator import Creator

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    import os
    from typing import Any

    CData = Any  # a cffi object
    from collections.abc import Sequence

    from gsym.writing.creator_handle import CreatorReport


class FunctionTrees:
    """Adds the functions of symbfiles to a creator; lookups equal the ranges.

    A function that was split at changes of the file is joined again. *waits_for_all*
    keeps all ranges until the end, so that they may be in any order; otherwise only
    those of one function.
    """

    def __init__(self, creator: Creator, *, waits_for_all: bool = False) -> None:
        self._error: CData = new_error()
        self._creator = creator
        life = lib.gsym_symbfile_functions_create, lib.gsym_symbfile_functions_destroy
        arguments = creator.handle, waits_for_all
        self._handle = new_object("symbfile_functions", *life, *arguments)
        self._is_disordered = ffi.new("uint32_t *")

    def add(self, symbfile: Decoder, path: str | None = None) -> bool:
        """Add the functions of a file; return pads are ignored.

        Returns:
            False if ranges are not in depth-first order: add all files again, to
            another creator, with *waits_for_all*.

        Raises:
            ClosedError: The creator has written its file or was closed.
            LimitError: Calls nest more deeply than 256, a range has 4 GiB or more,
                or strings do not fit version 1.
        """
        _ = self._creator.handle  # raises if closed
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

        Returns:
            None if functions overlap: proceed as for `add`.

        Raises:
            ClosedError: The creator has written its file or was closed.
            LimitError: Ranges would be cut into too many calls, or strings do not fit
                version 1.
        """
        _ = self._creator.handle  # raises if closed
        count = ffi.new("uint64_t *")
        status = lib.gsym_symbfile_functions_finish(
            self._handle, count, self._is_disordered, self._error
        )
        check(status, self._error, path)
        return None if self._is_disordered[0] else int(count[0])


def convert_symbfiles(  # noqa: PLR0913 - keywords, each a choice of its own
    sources: Sequence[str | os.PathLike[str]],
    output: str | os.PathLike[str],
    *,
    output_version: int = 1,
    byteorder: str = "little",
    base_address: int | None = None,
    uuid: bytes | str = b"",
) -> CreatorReport:
    """Write the ranges of symbfiles as a GSYM file; return pads are ignored.

    Names are those of the symbfiles, which are rarely linkage names.

    Args:
        sources: Files of one executable, such as all parts.
        output: File to write; complete or absent.
        output_version: Version of the format, 1 or 2.
        byteorder: "little" or "big".
        base_address: See `Creator`.
        uuid: Build id of the executable, which symbfiles do not have.

    Raises:
        EmptyError: There are only return pads, or no records.
        LimitError: Calls nest more deeply than 256, a range has 4 GiB or more, ranges
            would be cut into too many calls, or the output does not fit version 1.
        ValueError: *output* is an input, or the version or byte order is invalid.
    """
    paths, target = paths_of("sources", sources), path_of("output", output)
    if any(is_same_file(path, target) for path in paths):
        raise ValueError(f"{target}: the output would replace the input")
    for waits_for_all in (False, True):
        with Creator(output_version, byteorder, base_address, uuid) as creator:
            trees = FunctionTrees(creator, waits_for_all=waits_for_all)
            if _add_functions(trees, paths):
                creator.save(target)
                break
    assert creator.report is not None  # noqa: S101 - it has been saved
    return creator.report


def _add_functions(trees: FunctionTrees, paths: Sequence[str]) -> bool:
    """Add all functions; False if all ranges must be kept."""
    has_pads = False
    for path in paths:
        decoder = open_symbfile(path)
        if not trees.add(decoder, path):
            return False
        has_pads |= decoder.counts().return_pads > 0
    count = trees.finish(paths[-1])
    if count == 0:
        reason = (
            "only return pads, which describe single addresses"
            if has_pads
            else "no ranges"
        )
        raise EmptyError(reason, path=paths[-1])
    return count is not None
