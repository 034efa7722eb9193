"""Names of files for the blobs of a trace, whatever the trace calls them."""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from gsym.trace.fxt.blobs import Stream

# What a name of a file may hold on any system; a dot in front would hide it.
_OTHERS = re.compile(r"[^A-Za-z0-9._-]|^[.-]")
_LONGEST = 128  # characters, without what tells equal names apart
_PERFETTO = 3  # type of blobs


def blob_file_names(streams: Iterable[Stream]) -> list[str]:
    """A name for each, all different, of letters, digits, dots, lines and underscores.

    Nothing in a trace can lead to another folder: there is no slash in a name, no name
    begins with a dot, and none is too long for a file system.
    """
    taken: set[str] = set()
    numbers: dict[str, int] = {}  # the last one of each name
    names = []
    for stream in streams:
        text = f"{stream.category}.{stream.name}" if stream.category else stream.name
        name = _OTHERS.sub("_", text)[:_LONGEST] or "blob"
        if stream.provider is not None:
            name = f"{stream.provider}.{name}"
        ending = ".perfetto-trace" if stream.type == _PERFETTO else ""
        chosen = name + ending
        key = chosen.lower()
        # File systems may not tell upper case from lower case.
        while chosen.lower() in taken:
            numbers[key] = numbers.get(key, 1) + 1
            chosen = f"{name}.{numbers[key]}{ending}"
        taken.add(chosen.lower())
        names.append(chosen)
    return names
