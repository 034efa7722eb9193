"""perf.data of Linux perf -> `Profile`.

The same profile as of the text that `perf script` prints of the file, but addresses
are those in memory, exact times, and no symbols of perf.
"""

from __future__ import annotations

import os

from gsym.containers.inflation import inflater_of
from gsym.containers.mapped_file import map_file
from gsym.errors import FormatError
from gsym.trace.profiles.input_bytes import Bound, read_inflated
from gsym.trace.profiles.perf_data import PerfCommand, PerfData
from gsym.trace.profiles.perf_script import PerfMapping, PerfSample
from gsym.trace.profiles.perf_script_input import PerfReader

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping as Dictionary

    from gsym.trace.profiles.model import Profile
    from gsym.trace.profiles.perf_data import PerfFork

# Limit: Profile of `perf record`
MOST_RECORD_BYTES = Bound(1 << 30, 64)
"""The default limit: the file is mapped, but the places of all samples are kept."""


def read_perf_data(
    path: str | os.PathLike[str],
    *,
    build_ids: Dictionary[str, str] | None = None,
    most_bytes: int | None = None,
) -> Profile:
    """The profile in a file that `perf record` wrote.

    Args:
        path: The file, compressed by gzip or zstd, or not.
        build_ids: Of modules by path, in place of those in the file. Those of modules
            without any are read from their files.
        most_bytes: How large it may be, inflated, and its compressed records; None:
            see `MOST_RECORD_BYTES`.

    Raises:
        FormatError: It is damaged, has no sample, or more than *most_bytes*.
        OSError: It cannot be read.
    """
    name = os.fspath(path)
    data = map_file(name)
    if most_bytes is None:
        most_bytes = MOST_RECORD_BYTES.of(len(data))
    if inflater_of(data) is not None:
        data = memoryview(read_inflated(name, most_bytes)[0])
    if len(data) > most_bytes:
        raise FormatError(f"more than {most_bytes} bytes of data", path=name)
    try:
        return _profile_of(PerfData(data, most_bytes), build_ids)
    except FormatError as error:
        raise FormatError(error.reason, path=name, offset=error.offset) from None


def _profile_of(file: PerfData, build_ids: Dictionary[str, str] | None) -> Profile:
    reader = PerfReader({**file.build_ids, **(build_ids or {})}, keep_symbols=False)
    commands = {0: "swapper"}  # of threads
    for record in file.records():
        if isinstance(record, PerfSample):
            # As perf names a thread whose name is unknown.
            command = commands.get(record.thread, f":{record.thread}")
            reader.take(record._replace(command=command))
        elif isinstance(record, PerfMapping):
            reader.load(record)
        else:
            _follow(record, reader, commands)
    if not reader.events:
        raise FormatError("no perf sample found")
    for kind, count in file.losses.items():
        reader.builder.lose(kind, count)
    return reader.finish()


def _follow(
    record: PerfCommand | PerfFork, reader: PerfReader, commands: dict[int, str]
) -> None:
    """Keep what changes for a thread and its process."""
    if isinstance(record, PerfCommand):
        commands[record.thread] = record.name
        return
    if record.parent_thread in commands:
        commands[record.thread] = commands[record.parent_thread]
    if record.process != record.parent:
        reader.begin(record.process, record.parent if record.has_maps else None)
