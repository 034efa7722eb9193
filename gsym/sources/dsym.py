"""dSYM bundles: folders that hold the debug information of one binary.

NAME.dSYM/Contents/Resources/DWARF/NAME
"""

from __future__ import annotations

import os

from gsym.errors import FormatError
from gsym.sources.recognition import recognise

__all__ = ["bundle_member", "bundles_beside"]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_MEMBERS = os.path.join("Contents", "Resources", "DWARF")
_HEAD_SIZE = 64


def bundle_member(path: str) -> str:
    """The Mach-O file of a bundle; *path* itself where it is no folder.

    Raises:
        FormatError: A folder holds none, or several; the text names them.
        OSError: A file cannot be read.
    """
    if not os.path.isdir(path):
        return path
    folder = os.path.join(path, _MEMBERS)
    try:
        names = sorted(os.listdir(folder))
    except (FileNotFoundError, NotADirectoryError) as error:
        reason = f"a folder, and no dSYM bundle: it has no {_MEMBERS}"
        raise FormatError(reason, path=path) from error
    found = [name for name in names if _is_macho(os.path.join(folder, name))]
    if len(found) == 1:
        return os.path.join(folder, found[0])
    if found:
        reason = f"a dSYM bundle of several files, convert one: {', '.join(found)}"
        raise FormatError(reason, path=folder)
    tried = f" (tried {', '.join(names)})" if names else ""
    raise FormatError(f"a dSYM bundle without a Mach-O file{tried}", path=folder)


def bundles_beside(binary: str) -> Iterator[str]:
    """Paths at which the debug information of a binary may be.

    Bundles stand beside the binary, or beside the folder with an extension (`.app`,
    `.framework`) that it is in. Of a bundle that is not there the path of one file
    is given all the same.
    """
    path, name = binary, os.path.basename(binary)
    while os.path.basename(path):
        if path == binary or os.path.splitext(path)[1]:
            folder = os.path.join(path + ".dSYM", _MEMBERS)
            try:
                members = sorted(os.listdir(folder))
            except OSError:
                members = [name]
            for member in members:
                yield os.path.join(folder, member)
        path = os.path.dirname(path)


def _is_macho(path: str) -> bool:
    if not os.path.isfile(path):
        return False
    with open(path, "rb", buffering=0) as file:
        return recognise(file.read(_HEAD_SIZE)) in {"object", "fat"}
