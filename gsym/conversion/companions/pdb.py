"""The PDB of a Windows image: where its CodeView record says, or in a symbol store."""

from __future__ import annotations

import os

from gsym.containers.headers import read_pe_headers
from gsym.containers.mapped_file import map_file
from gsym.containers.pdb_file import PdbFile
from gsym.containers.recognition import HEAD_SIZE, recognise, refuse
from gsym.conversion.companions.search import CompanionSearch, reason_of
from gsym.conversion.identity import codeview_debug_id
from gsym.errors import FormatError, GsymError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gsym.containers.headers import CodeView
    from gsym.containers.object_file import ObjectFile


def find_pdb(search: CompanionSearch, directories: Sequence[str]) -> PdbFile | None:
    """The PDB of the image that *search* is for; the others are kept in `tried`."""
    record = _record(search.binary)
    for path in pdb_paths(search.binary, directories):
        try:
            pdb = _open(path)
        except (OSError, GsymError) as error:
            search.refuse(path, reason_of(error))
            continue
        if record is not None and (pdb.guid, pdb.age) == (record.guid, record.age):
            return pdb
        debug_id = codeview_debug_id(pdb.guid, pdb.age)
        search.refuse(path, f"is of another build, {debug_id}")
    return None


def _open(path: str) -> PdbFile:
    data = map_file(path)
    kind = recognise(bytes(data[:HEAD_SIZE]))
    if kind != "pdb":
        refuse(kind, path)
    return PdbFile(data, path)


def pdb_paths(image: ObjectFile, directories: Sequence[str]) -> Iterator[str]:
    """Where the PDB of *image* may be.

    At the path in its record, beside it, under its own name too, in *directories*, and
    where those are symbol stores.
    """
    record = _record(image)
    if record is None or not record.pdb:
        return
    path = os.fsdecode(record.pdb)
    name = path.replace("\\", "/").rpartition("/")[2]
    folder, own = os.path.split(image.path)
    paths = [path] if os.path.isabs(path) else []
    paths += [os.path.join(folder, each) for each in (name, f"{_stem(own)}.pdb")]
    debug_id = codeview_debug_id(record.guid, record.age)
    for directory in directories:
        paths.append(os.path.join(directory, name))
        paths += [
            os.path.join(directory, each, key, each)
            for each in (name, name.lower())
            for key in (debug_id, debug_id.upper(), debug_id.lower())
        ]
    yield from dict.fromkeys(paths)


def _record(image: ObjectFile) -> CodeView | None:
    try:
        return read_pe_headers(image.data, image.path).codeview
    except FormatError:
        return None


def _stem(name: str) -> str:
    return name.rpartition(".")[0] or name
