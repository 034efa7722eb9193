"""symbfiles -> a GSYM file that answers as they do."""

from __future__ import annotations

import os

from gsym.arguments import paths_of
from gsym.atomic_file import is_same_file
from gsym.creator import Creator
from gsym.errors import EmptyError
from gsym.symbfile.function_trees import FunctionTrees
from gsym.symbfile.opening import open_symbfile

__all__ = ["convert_symbfiles"]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from gsym.creator import CreatorReport


def convert_symbfiles(  # noqa: PLR0913 - keywords, each a choice of its own
    sources: Sequence[str | os.PathLike[str]],
    output: str | os.PathLike[str],
    *,
    version: int = 1,
    byteorder: str = "little",
    base_address: int | None = None,
    uuid: bytes | str = b"",
) -> CreatorReport:
    """Write the ranges of symbfiles as a GSYM file; return pads are passed over.

    Names stay what they are in the symbfiles, which is seldom what the linker knows.

    Args:
        sources: Files of one executable, such as the parts of one.
        output: File to write; it appears whole or not at all.
        version: Version of the format, 1 or 2.
        byteorder: "little" or "big".
        base_address: What addresses in the file count from, as `Creator` has it.
        uuid: Build id of the executable, which symbfiles do not have.

    Raises:
        EmptyError: There are return pads alone, or nothing.
        FormatError: A file is damaged, or a range ends beyond the address space of a
            GSYM file.
        LimitError: Calls nest more deeply than 256, a range has 4 GiB or more, ranges
            would be cut into too many calls, or the output does not fit version 1.
        OSError: A file cannot be read or written.
        ValueError: *output* is an input, or there is no such version or byte order.
    """
    paths, target = paths_of("sources", sources), os.fspath(output)
    if any(is_same_file(path, target) for path in paths):
        raise ValueError(f"{target}: the output would replace the input")
    for waits_for_all in (False, True):
        with Creator(version, byteorder, base_address, uuid) as creator:
            trees = FunctionTrees(creator, waits_for_all=waits_for_all)
            if _add_functions(trees, paths):
                creator.save(target)
                break
    assert creator.report is not None  # noqa: S101 - it has been saved
    return creator.report


def _add_functions(trees: FunctionTrees, paths: Sequence[str]) -> bool:
    """Add all functions; False if the trees have to wait for all ranges."""
    has_pads = False
    for path in paths:
        decoder = open_symbfile(path)
        if not trees.add(decoder, path):
            return False
        has_pads |= decoder.counts().return_pads > 0
    count = trees.finish(paths[-1])
    if count == 0:
        reason = (
            "it has only return pads, which describe single addresses"
            if has_pads
            else "it has no ranges"
        )
        raise EmptyError(reason, path=paths[-1])
    return count is not None
