"""Files of other profilers that are not read, and the commands that convert them."""

from __future__ import annotations

import os

from gsym.errors import UnsupportedError

_PERF = "perf.data of Linux perf", "perf script -i {} | gsym trace top -"
# By their first bytes: what it is, and what to type.
_MAGICS = {
    b"PERFILE2": _PERF,
    b"2ELIFREP": _PERF,
    b"SIMPLEPERF": (
        "a report of Android's simpleperf",
        "stackcollapse.py -i perf.data | gsym trace top -",
    ),
    b"Nettrace": (
        "a trace of .NET",
        "dotnet-trace convert {} --format Speedscope",
    ),
    b"FLR\0": (
        "a recording of Java Flight Recorder",
        "jfrconv -o collapsed {} stacks.txt; gsym trace top stacks.txt",
    ),
    b"JAVA PROFILE 1.": (
        "a heap dump of the JVM, which has no samples",
        "jcmd PID JFR.start to record some",
    ),
    bytes(8) + b"\3" + bytes(15): (
        "a CPU profile of gperftools",
        "go tool pprof -proto -output out.pb.gz PROGRAM {}; gsym trace top out.pb.gz",
    ),
    b"\x17\x08\x44tracing": (
        "a trace of trace-cmd",
        "perf record -g PROGRAM; perf script | gsym trace top -",
    ),
}
_PERFETTO = (
    "a trace of Perfetto",
    "traceconv json {} out.json; gsym trace top out.json",
)
_PACKET, _LENGTH_DELIMITED = 0x0A, 2
# Tags of the first field in the first field of a pprof or OpenTelemetry file.
_KNOWN_TAGS = frozenset((0x08, 0x10, 0x0A, 0x12, 0x1A))
_ENDINGS = {
    ".etl": (
        "a trace of Windows (ETW)",
        "PerfView {}, there save the view of CPU stacks in speedscope's format",
    ),
    ".trace": (
        "a trace of Instruments",
        "sample PROGRAM on macOS, whose text 'gsym symbolicate' reads",
    ),
}


def require_known(head: bytes, path: str) -> None:
    """Check that a file is not of a binary format that is not read.

    Args:
        head: Its first bytes, inflated.
        path: Of the file.

    Raises:
        UnsupportedError: It is; the error says what to type.
    """
    foreign = next((each for m, each in _MAGICS.items() if head.startswith(m)), None)
    if foreign is None and _is_perfetto(head):
        foreign = _PERFETTO
    if foreign is not None:
        raise _refusal(foreign, path)


def require_known_name(path: str) -> None:
    """Check that a path does not have the name of such a format.

    Raises:
        UnsupportedError: It has; the error says what to type.
    """
    name = path.rstrip(os.sep).lower()
    for ending, foreign in _ENDINGS.items():
        if name.endswith(ending):
            raise _refusal(foreign, path)


def _refusal(foreign: tuple[str, str], path: str) -> UnsupportedError:
    what, command = foreign
    reason = f"{what} is not read; type: {command.format(path)}"
    return UnsupportedError(reason, path=path)


def _is_perfetto(head: bytes) -> bool:
    """Whether a message begins with a packet that no profile can begin with."""
    if head[:1] != bytes((_PACKET,)):
        return False
    at = 1
    while at < len(head) and head[at] & 0x80:
        at += 1
    tag = head[at + 1 : at + 2]
    return bool(tag) and head[at] != 0 and tag[0] not in _KNOWN_TAGS
