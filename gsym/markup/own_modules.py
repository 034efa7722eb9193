"""The modules of this process as markup, for the beginning of a log.

print(own_modules_markup(), end="")
print(encode(Pc(address, "pc")))
"""

from __future__ import annotations

from gsym.containers.headers import load_segments
from gsym.containers.mapped_file import map_file
from gsym.containers.object_file import ObjectFile
from gsym.errors import GsymError
from gsym.markup.parser import Mmap, Module, Reset, encode
from gsym.modules.maps import read_maps


def own_modules_markup(maps: str = "/proc/self/maps") -> str:
    """A `reset`, then a `module` and its `mmap`s for each loaded module, as lines.

    Modules without a build id or without a file are left out.
    """
    with open(maps, encoding="utf-8", errors="surrogateescape") as file:
        mappings = read_maps(file.read())
    lines = [encode(Reset())]
    known: dict[str, tuple[int, int] | None] = {}  # number, address minus link address
    for start, end, _, offset, _, path, mode in mappings:
        if not path.startswith("/"):
            continue
        if path not in known:
            found = None if offset else _read_module(path)
            known[path] = None
            if found is not None:
                number = sum(each is not None for each in known.values())
                build_id, linked = found
                known[path] = number, start - linked
                lines.append(encode(Module(number, path, build_id)))
        module = known[path]
        if module is not None and mode:
            number, bias = module
            lines.append(encode(Mmap(start, end - start, number, mode, start - bias)))
    return "".join(f"{line}\n" for line in lines)


def _read_module(path: str) -> tuple[bytes, int] | None:
    """Build id of an ELF file, and the link-time address of its first byte."""
    try:
        data = map_file(path)
        with ObjectFile(data, path) as binary:
            build_id = binary.uuid
        segments = load_segments(data, path)
    except (GsymError, OSError):
        return None
    if not build_id or not segments:
        return None
    return build_id, segments[0].address - segments[0].offset
