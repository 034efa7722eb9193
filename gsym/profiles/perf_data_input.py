"""perf.data of Linux perf -> `Profile`.

The same profile as of the text that `perf script` prints of the file, but addresses
are those in memory, exact times, and no symbols of perf.
"""

from __future__ import annotations

import os
import re

from gsym.containers.mapped_file import map_file
from gsym.containers.recognition import inflater_of
from gsym.errors import FormatError
from gsym.garbage_collection import no_garbage_collection
from gsym.patterns import regex
from gsym.profiles.input_bytes import Bound, read_inflated
from gsym.profiles.perf_data import PerfData
from gsym.profiles.perf_script_input import PerfFacts, PerfReader

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from gsym.profiles.binaries import BuildIds
    from gsym.profiles.model import Profile

DATA = "data"
"""The file with the header in a folder of `perf record --threads`."""
_PART = regex(r"data\.\d{1,6}", re.ASCII)
# Limit: Profile of `perf record`
MOST_RECORD_BYTES = Bound(1 << 30, 64)
"""The default limit: the file is mapped, but the places of all samples are kept."""


@no_garbage_collection()
def read_perf_data(
    path: str | os.PathLike[str],
    *,
    build_ids: BuildIds | None = None,
    most_bytes: int | None = None,
) -> Profile:
    """The profile in a file or folder that `perf record` wrote.

    Args:
        path: The file, compressed or not; or `FOLDER/data`, beside
            which are `data.0` and others.
        build_ids: Of modules by path, in place of those of paths in the file; not of
            those that mappings have. Those of modules without any are read from their
            files.
        most_bytes: How large it may be, inflated, and its compressed records; None:
            see `MOST_RECORD_BYTES`.
    """
    name = os.fspath(path)
    data = map_file(name)
    if most_bytes is None:
        most_bytes = MOST_RECORD_BYTES.of(len(data))
    if inflater_of(data) is not None:
        data = memoryview(read_inflated(name, most_bytes)[0])
    parts = list(map(map_file, _parts(name)))
    if len(data) + sum(map(len, parts)) > most_bytes:
        raise FormatError(f"more than {most_bytes} bytes of data", path=name)
    try:
        file = PerfData(data, most_bytes, parts)
        return _profile_of(file, build_ids, os.stat(name).st_mtime)
    except FormatError as error:
        raise FormatError(error.reason, path=name, offset=error.offset) from None


def _parts(path: str) -> list[str]:
    """The files with records beside that with the header, in a folder of perf."""
    folder, name = os.path.split(path)
    if name != DATA:
        return []
    found = [each for each in os.listdir(folder or ".") if _PART.fullmatch(each)]
    found.sort(key=lambda each: int(each.partition(".")[2]))
    paths = (os.path.join(folder, each) for each in found)
    return [each for each in paths if os.path.getsize(each)]


def _profile_of(
    file: PerfData,
    build_ids: BuildIds | None,
    recorded: float,
) -> Profile:
    known = {path: tuple(each) for path, each in file.build_ids.items()}
    facts = PerfFacts(
        {**known, **(build_ids or {})},
        file.kernels,
        file.byteorder,
        recorded,
        finds_code=True,
        is_monotonic=file.is_monotonic,
        symbols=file.symbols,
        programs=file.bpf_programs(),
    )
    reader = PerfReader(facts, keep_symbols=False)
    for record in file.records():
        reader.add(record)
    if not reader.builder.profile.samples:
        raise FormatError("no perf sample found")
    for kind, count in file.losses.items():
        reader.builder.lose(kind, count)
    return reader.finish()
