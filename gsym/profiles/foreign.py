"""Files of other profilers that are not read, and the commands that convert them."""

from __future__ import annotations

import os
from itertools import product

from gsym.errors import FormatError, UnsupportedError
from gsym.lazy import re, regex

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Mapping

# In texts: what a file is, then what to do; {} stands for its path.
_TOP = "; gsym trace top"
_STACKS = f"stacks.txt{_TOP} stacks.txt"
_TO_STACKS = f"{{}} > {_STACKS}"
_INFERNO = "type: inferno-collapse-"
_PERF = f"type: perf record -g PROGRAM{_TOP} perf.data"
_JVM_HEAP = "a heap dump of the JVM; type: jcmd PID JFR.start to record samples"
_PY_SPY = "type: py-spy record -f speedscope -o out.json -- python PROGRAM"
_PSTATS = (
    "a file of Python's cProfile; it has no stacks; "
    f"{_PY_SPY}, or for these sums: gprof2dot -f pstats {{}}"
)
_PICKLE = (
    "a pickle of yappi, line_profiler or another program in Python; "
    f"type: yappi -f callgrind -o out PROGRAM{_TOP} out, or {_PY_SPY[6:]}"
)
_JITDUMP = f"a jitdump; it has no samples; {_PERF.replace('-g', '-k mono -g')}"
_ANDROID = (
    "a method trace of Android; open it at profiler.firefox.com, and save it as JSON"
)
# By their first bytes.
_MAGICS: Mapping[bytes, str] = {
    b"SIMPLEPERF": (
        "a report of Android's simpleperf; "
        "type: stackcollapse.py -i perf.data | gsym trace top -"
    ),
    b"Nettrace": ("a trace of .NET; type: dotnet-trace convert {} --format Speedscope"),
    b"FLR\0": (
        f"a recording of Flight Recorder; type: jfrconv -o collapsed {{}} {_STACKS}"
    ),
    **dict.fromkeys((b"JAVA PROFILE 1.0.%d\0" % n for n in (1, 2, 3)), _JVM_HEAP),
    b"JAVA PROFILE ": (
        f"a text of hprof of the JVM; type: stackcollapse-hprof.pl {_TO_STACKS}"
    ),
    b"\x17\x08\x44tracing": f"a trace of trace-cmd; {_PERF}",
    b"MOJ": f"a binary file of austin (MOJO); type: mojo2austin {{}} {_STACKS}",
    b"memray\0": (
        "a recording of memray; type: memray transform speedscope {} -o "
        f"out.json{_TOP} out.json"
    ),
    b"\x95\xa8\xc5\xca": f"a capture of sysprof; {_PERF}",
    b"\xca\xa8\xc5\x95": f"a capture of sysprof; {_PERF}",
    **dict.fromkeys((b"JiTD", b"DTiJ"), _JITDUMP),
    # The marks of marshal for a dictionary and a tuple, referred to or not.
    **{bytes(pair): _PSTATS for pair in product(b"{\xfb", b"()\xa8\xa9")},
    **{bytes((0x80, version)): _PICKLE for version in range(2, 6)},
    b"go 1.": (
        "a trace of Go's scheduler; "
        f"type: go tool trace -pprof=sched {{}} > out.pb.gz{_TOP} out.pb.gz"
    ),
    b"gmon": "a file of counts of gprof; it has no stacks; type: gprof PROGRAM {}",
    b"SLOW": _ANDROID,
    b"MDMP": "a minidump; type: gsym symbolicate {}",
}
# By their first lines, each a regular expression for the beginning of one.
_LINES: Mapping[str, str] = {
    r"desc: --|mem_heap_B=": "a profile of massif; type: ms_print {}",
    r"v \d+ \d+|# heaptrack": (
        f"a recording of heaptrack; type: heaptrack_print {{}} -F {_STACKS}"
    ),
    r"CPU +ID +FUNCTION:|dtrace:": f"a text of DTrace; {_INFERNO}dtrace {_TO_STACKS}",
    r"Analysis of sampling |Sampling process ": (
        "a text of macOS's sample; type: gsym symbolicate {}, "
        "or inferno-collapse-sample {}"
    ),
    r"Level,Function Name,Number of Calls": (
        f"a table of Visual Studio's profiler; {_INFERNO}vsprof {_TO_STACKS}"
    ),
    r"Function\tModule\t|Function Stack[,\t]CPU Time": (
        f"a table of VTune; {_INFERNO}vtune {_TO_STACKS}"
    ),
    r"\*version$": _ANDROID,
    r"#! +(?:\S+ )?heap profile|growthz|fragmentationz": (
        "a profile of Go as text; "
        f"type: go tool pprof -proto -output out.pb.gz {{}}{_TOP} out.pb.gz"
    ),
    r"\s*COST CENTRE\b|\t.* Time and Allocation Profiling Report": (
        "a profile of GHC; type: ghc-prof-flamegraph {}"
    ),
    r"JOB \"": "a heap profile of GHC; type: hp2ps {}, or eventlog2html",
    r"-+BEGIN MICRODUMP|W/google-breakpad": "a microdump; type: gsym symbolicate {}",
    r"# ?(?:Flat profile|@ \d+ callchains)|Flat profile:|\s*Call graph$": (
        "a report of gprof or pmcstat; "
        "type: gprof2dot {}, or for pmcstat: stackcollapse-pmc.pl"
    ),
    r".{,99}(?:<!DOCTYPE svg|<svg )": (
        "a flame graph as SVG; give gsym the stacks that it was made of: py-spy -f raw"
    ),
    "v8-version,": "a log of node --prof; type: node --cpu-prof PROGRAM",
    r"goroutine \d+ .*:$": "a list of goroutines; type: gsym symbolicate {}",
    r"Functions (?:sorted by|Call Tree)": f"a report of gprofng, no samples; {_PERF}",
    r"<\?xml .*|<trace-query-result": (
        f"an export of Instruments or VTune as XML; {_INFERNO}xctrace {_TO_STACKS}"
    ),
    r"@\[$": f"a text of bpftrace; type: stackcollapse-bpftrace.pl {_TO_STACKS}",
    r"Filename: .*|Total time: \d.* s$": (
        f"a report of line_profiler or memory_profiler; it has no stacks; {_PY_SPY}"
    ),
    r"\S+ \d+ \d+\.\d{6} (?:read|openat|mmap|execve)\(": (
        f"a text of strace; it has no samples; {_PERF}"
    ),
}
# By members of JSON, of which the first ones are looked at.
_MEMBERS: Mapping[str, str] = {
    "snapshot": (
        "a heap snapshot of V8; "
        "it has no stacks; open it in Chrome's DevTools, or run node --heap-prof"
    ),
    "linux-perf-json-version": "JSON of perf; give gsym the perf.data itself",
    "probes": "JSON of bpftrace; without -f json: bpftrace | stackcollapse-bpftrace.pl",
    "gc_samples": f"a dump of stackprof; type: stackprof --stackcollapse {_TO_STACKS}",
    "alloc_samples": (
        "a profile of scalene; type: jq -r "
        r"""'.stacks[] | "\(.[0] | add) \(.[1].count)"' {} | gsym trace top -"""
    ),
    "root_frame": (
        "a session of pyinstrument; "
        f"type: pyinstrument -r speedscope -o out.json PROGRAM{_TOP} out.json"
    ),
}
# The head of a profile of gperftools, then a mark, a version, options, and a name.
_VMPROF = regex(rb"(?s)\0{8}\x03\0{15}.{8}\0{8}\x05\0..[^\0]")
_PERFETTO = (
    "a trace of Perfetto; type: traceconv json {} out.json; gsym trace top out.json"
)
_PACKET = b"\x0a"  # the tag of each
# Tags of the first field in the first field of a pprof or OpenTelemetry file.
_KNOWN_TAGS = frozenset((0x08, 0x10, 0x0A, 0x12, 0x1A))
_ENDINGS: Mapping[str, str] = {
    ".etl": (
        "a trace of Windows (ETW); "
        "open it in PerfView, and save the view of CPU stacks in speedscope's format"
    ),
    ".er": "an experiment of gprofng; type: gprofng display text -calltree {}",
    ".trace": (
        "a trace of Instruments; "
        "type: sample PROGRAM on macOS, whose text 'gsym symbolicate' reads"
    ),
}
_HEAD_LINES = 8
_MEMBER = regex(r'"([A-Za-z_-]{1,40})"\s*:')
_HEAD_MEMBERS = 64


def require_known(head: bytes, path: str) -> None:
    """Check that a file is not of a binary format that is not read.

    Raises:
        UnsupportedError: It is; the error says what to type.
    """
    for magic, foreign in _MAGICS.items():
        if head.startswith(magic):
            raise _refusal(foreign, path)
    if _VMPROF.match(head):
        raise _refusal("a profile of vmprof; type: vmprofshow {} tree", path)
    if _is_perfetto(head):
        raise _refusal(_PERFETTO, path)


def require_known_text(text: str, path: str) -> None:
    """Check that a text is not of a format that is not read, by its first lines.

    Raises:
        UnsupportedError: It is; the error says what to type.
    """
    if text.lstrip().startswith("{"):
        for member in _MEMBER.findall(text)[:_HEAD_MEMBERS]:
            if member in _MEMBERS:
                raise _refusal(_MEMBERS[member], path)
        return
    lines = [line for line in text.splitlines() if line.strip()][:_HEAD_LINES]
    for form, foreign in _LINES.items():
        if any(re.match(form, line) for line in lines):
            raise _refusal(foreign, path)


def require_known_name(path: str) -> None:
    """Check that a path does not have the name of such a format.

    Raises:
        UnsupportedError: It has; the error says what to type.
    """
    _, ending = os.path.splitext(path.rstrip(os.sep))
    if ending.lower() in _ENDINGS:
        raise _refusal(_ENDINGS[ending.lower()], path)


def _refusal(foreign: str, path: str) -> UnsupportedError:
    what, _, advice = foreign.partition("; ")
    reason = f"{what} is not read; {advice.replace('{}', path)}"
    return UnsupportedError(reason, path=path)


def _is_perfetto(head: bytes) -> bool:
    """Whether messages begin with a packet that no profile begins with."""
    if head[:1] != _PACKET:
        return False
    from gsym.profiles.protobuf import each_field

    try:
        first = next(each_field(head))
        inside = next(each_field(head[first.content : first.end]), None)
    except FormatError:
        return False
    return (
        inside is not None
        and head[first.end : first.end + 1] in {b"", _PACKET}
        and head[first.content] not in _KNOWN_TAGS
    )
