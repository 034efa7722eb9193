"""Task of confined processes: check, join and convert the parts of a symbfile.

Either each part is a complete symbfile, or only the first one has the magic bytes and
all are pieces of one symbfile. Compressed parts are inflated.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from gsym.confined.adding import describe
from gsym.containers.inflation import import_zstd
from gsym.containers.mapped_file import map_file
from gsym.errors import CopyableError, EmptyError, FormatError, GsymError, LimitError
from gsym.leb128 import read_leb
from gsym.store.adding import quality_of
from gsym.store.archives import inflate_file, pieces_of
from gsym.store.entries import Entry
from gsym.store.received_symbfile import file_id_identity
from gsym.symbfile.file_id import FileId
from gsym.symbfile.format import MAGIC, open_symbfile
from gsym.symbfile.to_gsym import convert_symbfiles

_MAGICS = (MAGIC, b"\x28\xb5\x2f\xfd", b"\x1f\x8b\x08")  # plain, zstd, gzip
_LONGEST_MAGIC = max(map(len, _MAGICS))
_GSYM, _SYMBFILE = "module.gsym", "symbfile.zst"


class _RefusedError(CopyableError):
    """The parts are refused."""

    def __init__(self, reason: str, text: str) -> None:
        super().__init__(text)
        self.reason = reason
        self.text = text


def assemble(
    paths: list[str], kind: str, file_id: str, folder: str, most: int
) -> dict[str, Any]:
    """Join the parts of a symbfile, and convert its ranges to a GSYM file.

    Returns:
        `symbfile`: path of the complete symbfile, in a zstd stream; for ranges also
        `modules`: the GSYM file, as returned by `describe`. Or `refusal` with `text`:
        "damaged", "wrong kind", "too large", or "unfit" for a valid symbfile that
        cannot be converted.
    """
    try:
        symbfiles = _symbfiles(paths, folder, most)
        for number, path in enumerate(symbfiles):
            _check(path, kind, f"part {number}: " if len(symbfiles) > 1 else "")
        modules = []
        if kind == "ranges":
            modules.append(_convert(symbfiles, FileId.parse(file_id), folder))
        joined = os.path.join(folder, _SYMBFILE)
        # One header, then the messages of all.
        with import_zstd().open(joined, "xb") as file:
            for number, path in enumerate(symbfiles):
                data = map_file(path)
                file.write(data[_header_end(data) if number else 0 :])
    except _RefusedError as error:
        return {"refusal": error.reason, "text": error.text}
    return {"symbfile": joined, "modules": modules}


def _symbfiles(paths: list[str], folder: str, most: int) -> list[str]:
    """Paths of complete, inflated symbfiles."""
    if len(paths) > 1 and not all(map(_has_magic, paths)):
        joined = os.path.join(folder, "joined")
        with open(joined, "xb") as target:
            for path in paths:
                with open(path, "rb", buffering=0) as source:
                    target.writelines(pieces_of(source))
        paths = [joined]
    found = []
    for number, path in enumerate(paths):
        part_folder = os.path.join(folder, f"part{number}")
        os.mkdir(part_folder)
        try:
            found.append(inflate_file(path, part_folder, most))
        except LimitError as error:
            raise _RefusedError("too large", error.reason) from None
        except FormatError as error:
            raise _RefusedError("damaged", error.reason) from None
        most -= os.path.getsize(found[-1])
    return found


def _has_magic(path: str) -> bool:
    with open(path, "rb", buffering=0) as file:
        return file.read(_LONGEST_MAGIC).startswith(_MAGICS)


def _check(path: str, kind: str, label: str) -> None:
    """Check all records of a symbfile, and that they are of the expected kind."""
    decoder = open_symbfile(path)
    try:
        for _ in decoder.reads():
            pass
    except GsymError as error:
        where = "" if error.offset is None else f"offset {error.offset:#x}: "
        raise _RefusedError("damaged", f"{label}{where}{error.reason}") from None
    counts = decoder.counts()
    if kind == "ranges" and counts.return_pads:
        raise _RefusedError("wrong kind", f"{label}it contains return pads")
    if kind == "returnpads" and counts.ranges:
        raise _RefusedError("wrong kind", f"{label}it contains ranges")


def _convert(symbfiles: Sequence[str], file_id: FileId, folder: str) -> dict[str, Any]:
    target = os.path.join(folder, _GSYM)
    try:
        # Profilers look up addresses of the ELF file.
        report = convert_symbfiles(symbfiles, target, uuid=file_id, base_address=0)
    except (EmptyError, FormatError, LimitError) as error:
        raise _RefusedError("unfit", error.reason) from None
    made = Entry(
        path=target,
        identity=file_id_identity(file_id),
        uuid=file_id,
        quality=quality_of(report),
    )
    return describe(made)


def _header_end(symbfile: memoryview) -> int:
    """Offset of the first message after the header of a valid symbfile."""
    length, at = read_leb(symbfile, len(MAGIC))
    _, at = read_leb(symbfile, at)
    return at + length
