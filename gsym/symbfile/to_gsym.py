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
    from collections.abc import Iterable, Sequence

    from gsym.writing.creator_handle import CreatorReport


def add_functions(
    creator: Creator, symbfiles: Iterable[Decoder], *, waits_for_all: bool = False
) -> int | None:
    """Add the functions of symbfiles to a creator; lookups equal the ranges.

    Return pads are ignored. A function that was split at changes of the file is joined
    again. *waits_for_all* keeps all ranges until the end, so that they may be in any
    order; otherwise only those of one function.

    Returns:
        The number of functions. None if ranges are not in depth-first order, or
        functions overlap: add all files again, to another creator, with
        *waits_for_all*.

    Raises:
        ClosedError: The creator has written its file or was closed.
        LimitError: Calls nest more deeply than 256, a range has 4 GiB or more, ranges
            would be cut into too many calls, or strings do not fit version 1.
    """
    error, path = new_error(), None
    is_disordered, count = ffi.new("uint32_t *"), ffi.new("uint64_t *")
    life = lib.gsym_symbfile_functions_create, lib.gsym_symbfile_functions_destroy
    handle = new_object("symbfile_functions", *life, creator.handle, waits_for_all)
    for symbfile in symbfiles:
        path = symbfile.path
        for reader in symbfile.reads():
            status = lib.gsym_symbfile_functions_take(
                handle, reader, is_disordered, error
            )
            check(status, error, path)
            if is_disordered[0]:
                return None
    status = lib.gsym_symbfile_functions_finish(handle, count, is_disordered, error)
    check(status, error, path)
    return None if is_disordered[0] else int(count[0])


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
            symbfiles = [*map(open_symbfile, paths)]
            count = add_functions(creator, symbfiles, waits_for_all=waits_for_all)
            if count == 0:
                has_pads = any(each.counts().return_pads for each in symbfiles)
                pads = "only return pads, which describe single addresses"
                raise EmptyError(pads if has_pads else "no ranges", path=paths[-1])
            if count is not None:
                creator.save(target)
                break
    assert creator.report is not None  # noqa: S101 - it has been saved
    return creator.report
