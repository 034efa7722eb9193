"""Files of other profilers that are not read, and the commands that convert them."""

from __future__ import annotations

import os

from gsym.errors import FormatError, UnsupportedError
from gsym.profiles.protobuf import each_field

# By their first bytes: what it is, and what to do.
_MAGICS = {
    b"SIMPLEPERF": (
        "a report of Android's simpleperf",
        "type: stackcollapse.py -i perf.data | gsym trace top -",
    ),
    b"Nettrace": (
        "a trace of .NET",
        "type: dotnet-trace convert {} --format Speedscope",
    ),
    b"FLR\0": (
        "a recording of Java Flight Recorder",
        "type: jfrconv -o collapsed {} stacks.txt; gsym trace top stacks.txt",
    ),
    b"JAVA PROFILE 1.": (
        "a heap dump of the JVM, which has no samples",
        "type: jcmd PID JFR.start to record some",
    ),
    bytes(8) + b"\3" + bytes(15): (
        "a CPU profile of gperftools",
        "type: go tool pprof -proto -output {0}.pb.gz PROGRAM {0}",
    ),
    b"\xdc\xdfJSLB": (
        "a profile of the Firefox Profiler in its binary form (JSLB)",
        "open it at profiler.firefox.com, and save it as JSON",
    ),
    b"\x17\x08\x44tracing": (
        "a trace of trace-cmd",
        "type: perf record -g PROGRAM; perf script | gsym trace top -",
    ),
}
_PERFETTO = (
    "a trace of Perfetto",
    "type: traceconv json {} out.json; gsym trace top out.json",
)
_PACKET = 0x0A  # the tag of each
# Tags of the first field in the first field of a pprof or OpenTelemetry file.
_KNOWN_TAGS = frozenset((0x08, 0x10, 0x0A, 0x12, 0x1A))
_ENDINGS = {
    ".etl": (
        "a trace of Windows (ETW)",
        "open it in PerfView, and save the view of CPU stacks in speedscope's format",
    ),
    ".trace": (
        "a trace of Instruments",
        "type: sample PROGRAM on macOS, whose text 'gsym symbolicate' reads",
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
    for magic, foreign in _MAGICS.items():
        if head.startswith(magic):
            raise _refusal(foreign, path)
    if _is_perfetto(head):
        raise _refusal(_PERFETTO, path)


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
    what, advice = foreign
    reason = f"{what} is not read; {advice.format(path)}"
    return UnsupportedError(reason, path=path)


def _is_perfetto(head: bytes) -> bool:
    """Whether messages begin with a packet that no profile begins with."""
    if head[:1] != bytes((_PACKET,)):
        return False
    try:
        first = next(each_field(head))
        inside = next(each_field(head[first.content : first.end]), None)
    except FormatError:
        return False
    next_tag = head[first.end : first.end + 1]
    return (
        inside is not None
        and next_tag in {b"", bytes((_PACKET,))}
        and head[first.content] not in _KNOWN_TAGS
    )
