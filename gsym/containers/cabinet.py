"""Cabinets, in which symbol stores keep compressed files: `app.pd_` has `app.pdb`."""

from __future__ import annotations

from gsym.containers.inflation import PieceStream
from gsym.errors import UnsupportedError

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from typing_extensions import Buffer

_PIECE = 1 << 20
_BLOCK = 64 << 10

_LAST = {".pd_": "b", ".dl_": "l", ".ex_": "e", ".sy_": "s"}


def inflated_name(name: str) -> str:
    """The name of a file that `compressed_name` returned *name* for, if it is known."""
    last = _LAST.get(name[-4:].lower())
    return name[:-1] + last if last else name


def compressed_name(path: str) -> str:
    """The name of a file in a symbol store if it is compressed."""
    return f"{path[:-1]}_"


def inflate_cabinet(pieces: Iterable[Buffer]) -> Iterator[bytes]:
    """The contents of the first file in a cabinet.

    Raises:
        UnsupportedError: The extra `cab` or its library is not installed.
        ValueError: It is damaged, or contains no file.
    """
    from gsym.containers.cabinet_library import libarchive

    if libarchive is None:
        reason = "a cabinet needs libarchive and the extra cab: pip install 'gsym[cab]'"
        raise UnsupportedError(reason)
    open_stream = libarchive.stream_reader
    try:
        with open_stream(PieceStream(pieces), "cab", block_size=_BLOCK) as archive:
            for file in archive:
                yield from file.get_blocks(_PIECE)
                return
    except libarchive.ArchiveError as error:
        raise ValueError(error.msg) from None
    raise ValueError("it contains no file")
