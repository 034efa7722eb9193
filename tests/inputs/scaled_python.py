"""Profiles, logs, reports, dumps and packages whose size is a number."""

from __future__ import annotations

import io
import json
import struct
import tarfile
import zipfile
from typing import TYPE_CHECKING

from gsym.profiles.pprof import new_profile
from tests.inputs import packages
from tests.inputs.cabinet import STORED, cabinet
from tests.inputs.core import file_note, note, prstatus, small_core
from tests.inputs.fxt import Words, events_of_a_trace
from tests.inputs.minidump import Minidump, Module, Thread, elf_codeview, write_minidump
from tests.inputs.perf_data import USER_MARKER, PerfFile
from tests.profiles.json_profiles import call, chrome, firefox
from tests.profiles.otlp_messages import first_profile, message

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_W = Words("little")
_CODE, _DEPTH = 0x400000, 20


# ---- profiles


def pprof_samples(count: int) -> bytes:
    """Samples of a stack each, of functions in modules of their own."""
    made = _pprof(count)
    for at in range(1, count + 1):
        made.sample.add(location_id=[at, 1 + at // 2], value=[1])
    return bytes(made.SerializeToString())


def pprof_stack(count: int) -> bytes:
    """One sample of a deep stack."""
    made = _pprof(count)
    made.sample.add(location_id=range(1, count + 1), value=[1])
    return bytes(made.SerializeToString())


def _pprof(count: int) -> Any:  # noqa: ANN401 - a message of protobuf
    made = new_profile()
    made.string_table.extend([b"", b"samples", b"count"])
    made.sample_type.add(type=1, unit=2)
    for at in range(1, count + 1):
        made.string_table.append(b"f%d" % at)
        made.mapping.add(id=at, memory_start=at << 16, memory_limit=(at + 1) << 16)
        made.function.add(id=at, name=2 + at)
        made.location.add(id=at, mapping_id=at, address=at << 16).line.add(
            function_id=at
        )
    return made


def otlp_samples(count: int) -> bytes:
    """Samples of a stack each, at the same two places."""
    made = message()
    for at in range(count):
        made.dictionary.stack_table.add(location_indices=[1, 2] * (1 + at % 2))
        made.dictionary.mapping_table.add(memory_start=at << 32, filename_strindex=5)
        first_profile(made).samples.add(stack_index=3 + at, values=[1])
    return bytes(made.SerializeToString())


def fxt_events(count: int) -> bytes:
    """Durations and context switches of several threads."""
    return events_of_a_trace(count)


def fxt_nested(count: int) -> bytes:
    """Durations in each other, twenty deep."""
    depth = range(_DEPTH)
    parts = []
    for first in range(0, 2 * count, 2 * _DEPTH):
        last = first + 2 * _DEPTH - 1
        parts += [_W.named_event(2, first + at, b"%d" % at) for at in depth]
        parts += [_W.named_event(3, last - at, b"%d" % at) for at in reversed(depth)]
    return _W.magic() + b"".join(parts)


def fxt_ends(count: int) -> bytes:
    """Durations that do not end, and ends of others."""
    halves = (_W.named_event(2 + at % 2, at, b"%d" % at) for at in range(count))
    return _W.magic() + b"".join(halves)


def perf_mappings(count: int) -> bytes:
    """Processes that each map a file and have a sample."""
    perf = PerfFile()
    records = [perf.command(1, "app")]
    for at in range(2, count + 2):
        start = _CODE + 0x1000 * at
        records += [
            perf.fork(at, at - 1, at),
            perf.mapping(1, start, 0x1000, f"/opt/{at}", time=at),
            perf.sample(at, (USER_MARKER, start), 1),
        ]
    return perf.file(b"".join(records))


def perf_script(count: int) -> bytes:
    """Samples of text."""
    sample = "app 7/7 [001] 1.{:06}: 250 cycles:u:\n\t{:x} f{}+0x1 (/opt/{})\n\n"
    return "".join(
        sample.format(at, _CODE + at, at, at % 100) for at in range(count)
    ).encode()


def collapsed(count: int) -> bytes:
    """A line for each stack, which have a root in common."""
    return b"".join(b"main;f%d;g%d %d\n" % (at % 50, at, at + 1) for at in range(count))


def chrome_events(count: int) -> bytes:
    """Events that begin and end in each other, twenty deep."""
    events = []
    for at in range(2 * count):
        turn, step = divmod(at, 2 * _DEPTH)
        begun = turn * _DEPTH + min(step, 2 * _DEPTH - 1 - step)  # ends the last first
        phase = "BE"[step // _DEPTH]
        events.append({"ph": phase, "name": f"f{begun % 50}", "ts": at})
    return json.dumps(chrome(*events)).encode()


def v8_calls(count: int) -> bytes:
    """Calls side by side."""
    nodes = [call(1, "(root)", tuple(range(2, count + 2)))]
    nodes += [call(at, f"f{at}") for at in range(2, count + 2)]
    samples = list(range(2, count + 2))
    times = {"startTime": 0, "endTime": count, "timeDeltas": [1] * count}
    return json.dumps({"nodes": nodes, "samples": samples, **times}).encode()


def firefox_samples(count: int) -> bytes:
    """Samples of two stacks."""
    made = firefox()
    samples = {"stack": [1, 0] * count, "time": list(range(2 * count)), "weight": None}
    made["threads"][0]["samples"] = samples
    return json.dumps(made).encode()


# ---- logs with markup


def markup_modules(count: int) -> bytes:
    """Modules with a mapping each, and an address in each."""
    return b"".join(
        b"{{{module:%d:a%d.so:elf:%08x}}}\n{{{mmap:0x%x:0x1000:load:%d:rx:0}}}\n"
        b"{{{pc:0x%x}}}\n" % (at, at, at, at << 16, at, (at << 16) + 8)
        for at in range(1, count + 1)
    )


def markup_mappings_over_each_other(count: int) -> bytes:
    """Mappings in the middle of the one before."""
    lines = (
        b"{{{mmap:0x%x:0x%x:load:0:rx:0}}}\n{{{pc:0x%x}}}\n"
        % (at << 12, (count - at) << 13, at << 12)
        for at in range(1, count)
    )
    return b"{{{module:0:a.o:elf:abcdef}}}\n" + b"".join(lines)


def markup_elements_of_a_line(count: int) -> bytes:
    """One line of elements."""
    return b"{{{symbol:_Z1fv}}} {{{pc:0x1010}}} " * count + b"\n"


def markup_open_elements(count: int) -> bytes:
    """Starts of elements without an end, on one line and on others."""
    return b"{{{pc:0x10 " * count + b"\n" + b"{{{bt:0:\n" * count


def markup_resets(count: int) -> bytes:
    """Processes after each other."""
    context = b"{{{reset}}}\n{{{module:0:a.o:elf:abcdef}}}\n"
    return (context + b"{{{mmap:0x1000:0x100:load:0:rx:0x0}}}\n") * count


# ---- reports


def gdb_frames(count: int) -> bytes:
    """A deep stack."""
    line = b"#%d  0x%016x in f%d () from /usr/lib/lib%d.so\n"
    return b"".join(line % (at, _CODE + 16 * at, at, at % 200) for at in range(count))


def sanitizer_frames(count: int) -> bytes:
    """Stacks of two frames each."""
    line = b"    #0 0x%x in f (/opt/app+0x%x)\n    #1 0x%x  (/opt/lib%d.so+0x10)\n\n"
    return b"".join(line % (at, at, at, at % 200) for at in range(count))


def report_maps(count: int) -> bytes:
    """Lines of /proc/PID/maps, and a frame in each."""
    line = b"%x-%x r-xp 00000000 08:01 %d /opt/lib%d.so\n"
    starts = range(0x7F00 << 32, (0x7F00 << 32) + (count << 16), 1 << 16)
    maps = (line % (at, at + 0x1000, at, at) for at in starts)
    frames = (b"#%d  0x%x in ?? ()\n" % each for each in enumerate(starts))
    return b"".join((*maps, *frames))


def report_text(count: int) -> bytes:
    """A log without a stack, and one long line."""
    return (
        b"12:00 [main] an error in 0x10 of app.c:3 (main)\n" * count + b"a:1 " * count
    )


# ---- dumps


def minidump_modules(count: int) -> bytes:
    """A thread in each module."""
    modules = tuple(
        Module(
            f"/opt/lib{at}.so",
            at << 16,
            0x1000,
            elf_codeview(struct.pack(">5I", *[at] * 5)),
        )
        for at in range(1, count + 1)
    )
    threads = tuple(
        Thread(at, at << 16, at << 32, 0, b"") for at in range(1, count + 1)
    )
    return write_minidump(Minidump(threads, modules))


def minidump_stack(count: int) -> bytes:
    """A stack of words that may be return addresses."""
    stack = struct.pack(f"<{2 * count}Q", *[0x10008, 0] * count)
    threads = (Thread(1, 0x10000, 0x70000000, 0, stack),)
    modules = (Module("/opt/app", 0x10000, 0x1000, elf_codeview(bytes(20))),)
    return write_minidump(Minidump(threads, modules))


def core_threads(count: int) -> bytes:
    """Threads of a core file."""
    threads = (note(1, prstatus(at, _CODE, 0x7000, 0x7000)) for at in range(1, count))
    return small_core(notes=b"".join(threads))


def core_files(count: int) -> bytes:
    """Files that are mapped in a core file."""
    files = (
        (at << 32, (at << 32) + 0x1000, 0, f"/none/{at}") for at in range(1, count)
    )
    thread = note(1, prstatus(1, _CODE, 0x7000, 0x7000))
    return small_core(notes=thread + note(0x46494C45, file_note(*files)))


# ---- packages


def _files(count: int) -> dict[str, bytes]:
    return {f"usr/share/{at}": b"text" for at in range(count)}


def deb_files(count: int) -> bytes:
    """Files of a Debian package."""
    return packages.deb(_files(count), ".gz")


def rpm_files(count: int) -> bytes:
    """Files of an RPM package."""
    return packages.rpm(_files(count), ".gz")


def zip_files(count: int) -> bytes:
    """Files of a zip archive."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, data in _files(count).items():
            archive.writestr(name, data)
    return file.getvalue()


def tar_files(count: int) -> bytes:
    """Files of a tar archive."""
    infos = map(tarfile.TarInfo, _files(count))
    return b"".join(info.tobuf() for info in infos) + bytes(1024)


def cabinet_blocks(count: int) -> bytes:
    """A file in a cabinet, of blocks of 32 KiB."""
    return cabinet("a.pdb", bytes(count << 15), STORED)


# By what reads them, and where each series starts.
SERIES: dict[str, dict[Callable[[int], bytes], int]] = {
    "profile": {
        pprof_samples: 50,
        pprof_stack: 50,
        otlp_samples: 50,
        fxt_nested: 80,
        fxt_ends: 100,
        perf_mappings: 30,
        perf_script: 50,
        collapsed: 50,
        chrome_events: 80,
        v8_calls: 50,
        firefox_samples: 200,
    },
    "trace": {fxt_events: 100},
    "log": {
        markup_modules: 20,
        markup_mappings_over_each_other: 30,
        markup_elements_of_a_line: 100,
        markup_open_elements: 200,
        markup_resets: 40,
    },
    "report": {
        gdb_frames: 50,
        sanitizer_frames: 30,
        report_maps: 50,
        report_text: 50,
    },
    "read_dump": {
        minidump_modules: 40,
        minidump_stack: 100,
        core_threads: 40,
        core_files: 200,
    },
    "package": {deb_files: 30, rpm_files: 100, zip_files: 100, tar_files: 50},
    "compressed": {cabinet_blocks: 50},
}
