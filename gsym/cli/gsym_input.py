"""The GSYM file that a verb reads: given, or found for a binary."""

from __future__ import annotations

import os

import gsym.reading.reader
from gsym.cli.terminal import tell
from gsym.errors import EmptyError, GsymError

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from gsym.cli.grammar import Values
    from gsym.reading.reader import Reader


def open_gsym(
    path: str, values: Values, arch: str | None = None, *, read_ahead: bool = False
) -> Reader:
    """The reader of `find_for`, which describes the arguments and the exceptions."""
    return find_for(path, values, arch, read_ahead=read_ahead)[0]


def find_for(
    path: str,
    values: Values,
    arch: str | None = None,
    *,
    uuid: bytes | None = None,
    read_ahead: bool = False,
) -> tuple[Reader, str]:
    """Open the GSYM file at *path*, or the one of the binary there.

    Notes on it are printed to standard error. With the reader comes why it may be of
    another build; "" if that is not so.

    Raises:
        GsymError: It cannot be used.
    """
    reader = _open_itself(path, uuid, read_ahead=read_ahead) if arch is None else None
    if reader is not None:
        return reader, ""
    from gsym.modules.binary_lookup import OPENING, find_gsym  # most files are GSYM

    search = OPENING._replace(architecture=arch, read_ahead=read_ahead)
    found = find_gsym(path, search, uuid)
    notes = tuple(filter(None, (*found.notes, found.unsure)))
    if found.origin != path and values.has("--verbose") and values.flag("--verbose"):
        notes = (*notes, f"using {found.origin}")
    for note in notes:
        tell(f"gsym: {note}")
    if found.reader is None:
        raise EmptyError("no debug information and no symbols", path=path)
    return found.reader, found.unsure


def _open_itself(path: str, uuid: bytes | None, *, read_ahead: bool) -> Reader | None:
    """The GSYM file at *path*; None if it is something else or has another id."""
    if not os.path.isfile(path):  # a pipe cannot be read twice
        return None
    try:
        reader = gsym.reading.reader.open(path, uuid, read_ahead=read_ahead)
    except GsymError:
        return None
    if not reader.offset:
        return reader
    reader.close()  # a binary with an embedded one, which is compared with it
    return None
