"""The PDB of a Windows image: where its CodeView record says, or in symbol stores."""

from __future__ import annotations

import os

from gsym.cache import symbol_cache
from gsym.containers.headers import CodeView, read_codeview
from gsym.containers.inflation import inflate_data
from gsym.containers.mapped_file import map_file
from gsym.containers.pdb_file import PdbFile
from gsym.containers.recognition import HEAD_SIZE, inflater_of, recognise, refuse
from gsym.conversion.companions.search import CompanionSearch, fault_of, problem_of
from gsym.conversion.companions.symstore import fetch_from_servers, symstore_paths
from gsym.conversion.identity import key_of_binary, pdb_identity
from gsym.errors import FormatError, GsymError
from gsym.model import base_name
from gsym.modules.key import SAME, codeview_debug_id, compare

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from gsym.containers.object_file import ObjectFile
    from gsym.conversion.options import ConvertOptions


def find_pdb(search: CompanionSearch, options: ConvertOptions) -> PdbFile | None:
    """The PDB of the image that *search* is for; the others are kept in `tried`."""
    for path in _candidates(search, options):
        try:
            pdb = _open(path)
        except (OSError, GsymError) as error:
            search.refuse(path, problem_of(error))
            continue
        fit = compare(key_of_binary(search.binary), pdb_identity(pdb))
        if fit.outcome == SAME:
            return pdb
        search.refuse(path, fault_of(fit))
    return None


def _open(path: str) -> PdbFile:
    data = map_file(path)
    if inflate := inflater_of(data):
        try:
            data = inflate_data(inflate, data)
        except ValueError as error:
            reason = f"compressed data is damaged: {error}"
            raise FormatError(reason, path=path) from None
    kind = recognise(bytes(data[:HEAD_SIZE]))
    if kind != "pdb":
        refuse(kind, path)
    return PdbFile(data, path)


def _candidates(search: CompanionSearch, options: ConvertOptions) -> Iterator[str]:
    """Files that may be the PDB, those of servers last."""
    image, servers = search.binary, options.symbol_servers
    yield from pdb_paths(image, options.debug_file_directories)
    cache = symbol_cache()
    folders = (*options.debug_file_directories, *((cache,) if servers else ()))
    yield from filter(os.path.exists, pdb_store_paths(image, folders))
    paths = [*_in_store(image)]
    if servers and paths:
        yield from fetch_from_servers(search, servers, paths, cache)


def pdb_paths(image: ObjectFile, directories: Sequence[str]) -> Iterator[str]:
    """The paths at which the PDB of *image* may be by its name.

    At the path in its record, beside it, under its own name too, and in *directories*.
    """
    record = _record(image)
    if record is None or not record.pdb:
        return
    path, name = os.fsdecode(record.pdb), _name(record)
    folder, filename = os.path.split(image.path)
    stem = filename.rpartition(".")[0]
    paths = [path] if os.path.isabs(path) else []
    paths += [os.path.join(folder, each) for each in (name, f"{stem or filename}.pdb")]
    paths += [os.path.join(each, name) for each in directories]
    yield from dict.fromkeys(paths)


def pdb_store_paths(image: ObjectFile, directories: Sequence[str]) -> Iterator[str]:
    """The paths of the PDB of *image* if *directories* are symbol stores."""
    for directory in directories:
        for path in _in_store(image):
            yield os.path.join(directory, path)


def _in_store(image: ObjectFile) -> Iterable[str]:
    record = _record(image)
    if record is None or _name(record) in {"", ".", ".."}:
        return ()
    debug_id = codeview_debug_id(record.guid, record.age)
    keys = (debug_id, debug_id.upper(), debug_id.lower())
    return dict.fromkeys(symstore_paths(_name(record), keys))


def _name(record: CodeView) -> str:
    return base_name(os.fsdecode(record.pdb))


def _record(image: ObjectFile) -> CodeView | None:
    try:
        return read_codeview(image.data, image.path)
    except FormatError:
        return None
