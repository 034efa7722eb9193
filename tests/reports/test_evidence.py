"""Texts in the shapes of tools that no form describes, over programs built here."""

from __future__ import annotations

import json
import shutil
import subprocess
from typing import TYPE_CHECKING, NamedTuple

import pytest

import gsym
from gsym.containers.machine_code import MachineCode
from gsym.conversion.identity import read_first

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from gsym.reports.report import Report

pytestmark = pytest.mark.no_engine  # runs a compiler

LIBRARY = """\
volatile int state;
void lib_mid(void (*call)(int), int x) {
  call(x);
  state++;
}
"""
PROGRAM = """\
volatile int cell;
void lib_mid(void (*)(int), int);
__attribute__((noinline)) static void deep(int x) {
  *(volatile int *)(long)cell = x;
  cell++; }
__attribute__((noinline)) static void callback(int x) {
  deep(x);
  cell++; }
__attribute__((noinline)) void run(int x) {
  lib_mid(callback, x);
  cell++; }
int main(int argc, char **argv) {
  run(argc);
  return cell; }
"""
FLAGS = ("-g", "-O1", "-fno-optimize-sibling-calls", "-fcf-protection=none")
APP, LIB = 0x55E84A4EC000, 0x7F5AA86F4000
RIGHT = ("deep:4", "callback:7", "lib_mid:3", "run:10", "main:13")


class Place(NamedTuple):
    """A frame of the stack: the crash first, then return addresses."""

    function: str
    path: str
    base: int
    offset: int
    plus: int
    build_id: str

    @property
    def name(self) -> str:
        return self.path.rpartition("/")[2]

    @property
    def address(self) -> int:
        return self.base + self.offset


class Built(NamedTuple):
    """The programs: the folder that has them, and the stack."""

    folder: Path
    stack: tuple[Place, ...]
    maps: str


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    """A program and a library, with the places of the stack."""
    if shutil.which("gcc") is None:
        pytest.skip("not installed: gcc")
    folder = tmp_path_factory.mktemp("evidence")
    (folder / "lib.c").write_text(LIBRARY)
    (folder / "app.c").write_text(PROGRAM)
    for command in (
        ("gcc", *FLAGS, "-shared", "-fPIC", "lib.c", "-o", "libmid.so"),
        ("gcc", *FLAGS, "-pie", "-fPIE", "app.c", "-o", "app", "./libmid.so"),
    ):
        subprocess.run((*command, "-Wl,--build-id"), cwd=folder, check=True)
    stack = []
    maps = []
    for file, path, base, functions in (
        ("app", "/srv/bin/app", APP, ("deep", "callback", "run", "main")),
        ("libmid.so", "/srv/lib/libmid.so", LIB, ("lib_mid",)),
    ):
        code = read_first([str(folder / file)], None, MachineCode) or MachineCode()
        maps.append(f"{base:x}-{base + 0x5000:x} r-xp 00000000 fe:00 1 {path}\n")
        with gsym.open(folder / file) as reader:
            build_id = reader.uuid.hex()
            for name in functions:
                (function,) = reader.find(name)
                places = range(function.start + 1, function.start + function.size + 1)
                found = [at for at in places if code.may_return(at)]
                if name == "deep":
                    found = [
                        at
                        for at in places
                        if (known := reader.lookup(at)) and known.frames[0].line == 4
                    ]
                plus = found[0] - function.start
                stack.append(Place(name, path, base, found[0], plus, build_id))
    order = {each.partition(":")[0]: at for at, each in enumerate(RIGHT)}
    stack.sort(key=lambda each: order[each.function])
    return Built(folder, tuple(stack), "".join(maps))


def lines(write: Callable[[int, Place], str], head: str = "", tail: str = "") -> Writer:
    """A text with a line for each frame."""

    def whole(stack: tuple[Place, ...]) -> str:
        body = "".join(write(at, each) + "\n" for at, each in enumerate(stack))
        return head + body + tail

    return whole


def document(write: Callable[[tuple[Place, ...]], object]) -> Writer:
    """A text of JSON."""
    return lambda stack: json.dumps(write(stack), indent=1)


def images(stack: tuple[Place, ...]) -> list[Place]:
    """A frame of each module."""
    return list({each.path: each for each in stack}.values())


MAPPED = True
TOOLS: dict[str, tuple[Writer, bool]] = {
    "folly": (
        lines(lambda _, f: f"    @ {f.address:016x} {f.function}\n  {f.path}"),
        MAPPED,
    ),
    "Xorg": (
        lines(
            lambda n, f: (
                f"(EE) {n}: {f.path} ({f.function}+{f.plus:#x}) [{f.address:#x}]"
            ),
            "(EE) Backtrace:\n",
        ),
        False,
    ),
    "HAProxy": (
        lines(
            lambda _, f: (
                f"  | {f.address:#x} [e8 11 ff 90]: {f.function}+{f.plus:#x}/0x99"
            ),
            "  call trace(5):\n",
        ),
        MAPPED,
    ),
    "Intel Fortran": (
        lines(
            lambda _, f: (
                f"{f.name:<18} {f.address:016X}  Unknown               Unknown  Unknown"
            ),
            "forrtl: severe (174): SIGSEGV\nImage              PC         Routine\n",
        ),
        MAPPED,
    ),
    "compute-sanitizer, a frame in two lines": (
        lines(
            lambda n, f: (
                f"=========     Host Frame:{f.function * (n % 2)} [{f.offset:#x}]\n"
                f"=========                in {f.path}"
            ),
            "=========     Saved host backtrace up to driver entry point at error\n",
        ),
        False,
    ),
    "UCX": (
        lines(
            lambda n, f: f" {n}  {f.path}({f.function}+{f.plus:#x}) [{f.address:#x}]",
            "==== backtrace (tid: 4711) ====\n",
        ),
        False,
    ),
    "PyTorch": (
        lines(
            lambda n, f: (
                f"frame #{n}: {f.function}(int) + {f.plus:#x} "
                f"({f.address:#x} in {f.path})"
            )
        ),
        False,
    ),
    "Tizen": (
        lines(
            lambda n, f: (
                f"   {n}: {f.function} + {f.plus:#x} ({f.address:#x}) "
                f"[{f.path}] + {f.offset:#x}"
            )
        ),
        False,
    ),
    "SQL Server": (
        lines(
            lambda _, f: (
                f"2026-11-23 08:00:01.12 spid5s  * {f.address:016X}  "
                f"Module({f.name}+{f.offset:016X})"
            )
        ),
        False,
    ),
    "Swift": (
        lines(
            lambda n, f: (
                f"{n} [ra] {f.address:#018x} {f.function} + {f.plus} in {f.name}"
            )
        ),
        False,
    ),
    "OpenJ9": (
        lines(
            lambda _, f: f"\t{f.function} ({f.address:#018X} [{f.name}+{f.offset:#x}])",
            "1XHEXCPMODULE  Module: app\n3XMTHREADINFO3  Native callstack:\n",
        ),
        False,
    ),
    "mapped at": (
        lines(
            lambda _, f: f"core: {f.address:x} in {f.path} (mapped at {f.base:#x})",
        ),
        False,
    ),
    "SysInternals": (
        lines(
            lambda n, f: f"{n}\t{f.name}!{f.function}+{f.plus:#x}\t{f.address:#x}",
        ),
        False,
    ),
    "one line": (
        lambda stack: "crash: " + ";".join(f"{f.path}+{f.offset:#x}" for f in stack),
        False,
    ),
    "list with images": (
        lines(
            lambda n, f: f"{n:02} {f.address:#x}",
            tail="images:\n"
            f"  base={APP:#x} size=0x5000 file=/srv/bin/app\n"
            f"  base={LIB:#x} size=0x5000 file=/srv/lib/libmid.so\n",
        ),
        False,
    ),
    "valgrind XML": (
        lines(
            lambda _, f: (
                f"    <frame>\n      <ip>{f.address:#x}</ip>\n"
                f"      <obj>{f.path}</obj>\n    </frame>"
            ),
            "<stack>\n",
            "</stack>\n",
        ),
        MAPPED,
    ),
    "ABRT": (
        document(
            lambda stack: {
                "signal": 11,
                "stacktrace": [
                    {
                        "crash_thread": True,
                        "frames": [
                            {
                                "address": f.address,
                                "build_id": f.build_id,
                                "build_id_offset": f.offset,
                                "function_name": f.function,
                                "file_name": f.path,
                            }
                            for f in stack
                        ],
                    }
                ],
            }
        ),
        False,
    ),
    "KSCrash": (
        document(
            lambda stack: {
                "binary_images": [
                    {"image_addr": f.base, "image_size": 0x5000, "name": f.path}
                    for f in images(stack)
                ],
                "crash": {
                    "threads": [
                        {
                            "crashed": True,
                            "index": 0,
                            "backtrace": {
                                "contents": [
                                    {
                                        "instruction_addr": f.address,
                                        "object_addr": f.base,
                                        "object_name": f.name,
                                        "symbol_addr": f.address - f.plus,
                                        "symbol_name": f.function,
                                    }
                                    for f in stack
                                ]
                            },
                        }
                    ]
                },
            }
        ),
        False,
    ),
    "symbolicator": (
        document(
            lambda stack: {
                "stacktraces": [
                    {"frames": [{"instruction_addr": hex(f.address)} for f in stack]}
                ],
                "modules": [
                    {
                        "type": "elf",
                        "code_id": f.build_id,
                        "code_file": f.path,
                        "image_addr": hex(f.base),
                        "image_size": 0x5000,
                    }
                    for f in images(stack)
                ],
            }
        ),
        False,
    ),
    "Node report": (
        document(
            lambda stack: {
                "header": {"event": "crash", "processId": 4711},
                "nativeStack": [
                    {"pc": f"{f.address:#018x}", "symbol": f"{f.function} [{f.path}]"}
                    for f in stack
                ],
                "sharedObjects": [f.path for f in images(stack)],
            }
        ),
        MAPPED,
    ),
    "Bugsnag": (
        document(
            lambda stack: {
                "stacktrace": [
                    {
                        "frameAddress": hex(f.address),
                        "machoFile": f.path,
                        "machoLoadAddress": hex(f.base),
                        "method": f.function,
                    }
                    for f in stack
                ]
            }
        ),
        False,
    ),
    "Dovecot": (
        lambda stack: (
            "imap(joe): Error: Raw backtrace: "
            + " -> ".join(f"{f.path}(+{f.offset:#x}) [{f.address:#x}]" for f in stack)
        ),
        False,
    ),
    "jemalloc": (
        lambda stack: (
            f"@ {' '.join(hex(f.address) for f in stack)}\nMAPPED_LIBRARIES:\n"
            + "".join(
                f"{f.base:x}-{f.base + 0x5000:x} r-xp 00000000 fe:00 1  {f.path}\n"
                for f in images(stack)
            )
        ),
        False,
    ),
    "Crashlytics": (
        lines(
            lambda n, f: f"#{n:02} pc {f.offset - (n > 0):#x} {f.name} ({f.function})"
        ),
        False,
    ),
    "LeakTracer": (
        lambda stack: f"leak, stack={' '.join(hex(f.address) for f in stack)}, size=4",
        MAPPED,
    ),
    "LTTng": (
        lambda stack: (
            "[08:00:01.1] host app:event: { cpu_id = 0 }, { callstack_user = [ "
            + ", ".join(f"[{n}] = {f.address:#x}" for n, f in enumerate(stack))
            + " ] }, { x = 1 }\n"
        ),
        MAPPED,
    ),
    "DynamoRIO": (
        lines(
            lambda _, f: f"0x00007ffc1ed9a5f0 {f.address:#018x}",
            "<Application /srv/bin/app (4711).  Internal crash.\n",
            f"/srv/bin/app={APP:#018x}\n/srv/lib/libmid.so={LIB:#018x}\n>",
        ),
        False,
    ),
    ".NET createdump": (
        document(
            lambda stack: {
                "stack_frames": [
                    {
                        "native_address": f"0x{f.address:X}",
                        "native_offset": f"{f.plus:#x}",
                        "native_module": f.name,
                        "unmanaged_name": f.function,
                    }
                    for f in stack
                ]
            }
        ),
        MAPPED,
    ),
    "Backtrace": (
        document(
            lambda stack: {
                "threads": {
                    "4711": {
                        "name": "app",
                        "fault": True,
                        "stack": [
                            {
                                "address": hex(f.address),
                                "funcName": f.function,
                                "library": f.path,
                            }
                            for f in stack
                        ],
                    }
                }
            }
        ),
        MAPPED,
    ),
    "Embrace": (
        document(
            lambda stack: {
                "b": [
                    {
                        "mo": f.path,
                        "pc": hex(f.address),
                        "rel_pc": hex(f.offset),
                        "sym": f.function,
                    }
                    for f in stack
                ]
            }
        ),
        False,
    ),
    "JSON lines": (
        lines(
            lambda n, f: json.dumps(
                {"ts": 1700000000 + n, "msg": f"{f.path}(+{f.offset:#x})"}
            )
        ),
        False,
    ),
}

# A line of each, by `str.format`; what has an asterisk needs the maps of the process.
LINES = r"""
Samba: #{n} {f.path}({f.function}+{f.plus:#x}) [{f.address:#x}]
Open MPI: [node01:04711] [{n:2}] {f.path}({f.function}+{f.plus:#x})[{f.address:#x}]
Godot: [{n}] {f.path}(+{f.offset:#x}) [{f.address:#x}] (??:0)
Honggfuzz*: <{f.address:#018x}> [func:{f.function} file: line:0 module:{f.path}]
V8:     {f.path}({f.function}(int)+{f.plus:#x}) [{f.address:#x}]
WebKit: {n}   {f.address:#x} {f.path}({f.function}+{f.plus:#x}) [{f.address:#x}]
Mono*: {f.address:#x} - {f.path} : {f.function}
Couchbase:     {f.path}() [{f.base:#x}+{f.offset:#x}]
Splunk: [{f.address:#018x}] {f.function} + {f.plus} ({f.name} + {f.offset:#x})
DB2*: {f.address:#018x} {f.function} + 0x{f.plus:04x} \n\t\t({f.path})
SAP HANA*: {n}: {f.address:#x} in {f.function}+{f.plus:#x} at a.cpp:2 ({f.name})
a place in a file:  {n}: {f.function} + {f.plus:#x} in {f.path}
Procmon: <address>{f.address:#x}</address>\n<place>{f.name} + {f.offset:#x}</place>
Procmon CSV: "{n}","{f.name}","{f.name} + {f.offset:#x}","{f.address:#x}","C:\{f.name}"
DTrace:               {f.name}`{f.function}+{f.plus:#x}
radare2*: {n}  {f.address:#x} sp: 0x7ffc1ed9a5f0 [{f.name}] sym.{f.function}+{f.plus}
ClickHouse*: [ 4711 ] <Fatal> BaseDaemon: {n}. {f.function}(int) @ {f.address:#018x}
Oracle*: {f.function}()+{f.plus:<18} call     next()   7FFC1ED9A5F0 ? 000000000 ?
PostgreSQL*: \tpostgres: db [local] SELECT({f.function}+{f.plus:#x}) [{f.address:#x}]
x64dbg*: 000000D51F2FF6C0 {f.address:016X} 40   User   {f.name}.{f.function}+{f.plus:X}
ltrace*:  > {f.name}({f.function}+{f.plus:#x}) [{f.address:x}]
libbacktrace*: {f.address:#x} {f.function}\n\t/src/app.c:{n}
libbacktrace without names*: {f.address:#x} ???\n\t???:0
Icinga 2: \t({n}) {f.name}: {f.function} (+{f.plus:#x}) [{f.address:#x}]
Icinga 2 without names: \t({n}) {f.name}: <unknown function> (+{f.offset:#x}) [0x0]
gperftools heap checker*: \t@ {f.address:x} {f.function}
DrMingw*: {f.address:016X} 0000000000000001  {f.name}!{f.function}+{f.plus:#x}
Julia*: unknown function (ip: {f.address:#x}) at {f.path}
SBCL*: {n:4}: fp=0x7ffc1ed9a5f0 pc={f.address:#x} Foreign function {f.function}
gdb info symbol: {f.function} + {f.plus} in section .text of {f.path}
Solaris pstack*:  {f.address:016x} {f.function} (1, 2) + {f.plus:x}
Haiku*: \t\t0x7ffc1ed9a5f0\t{f.address:#x}\t{f.function} + {f.plus:#x}
printstack: {f.path}:{f.function}+{f.plus:#x}
HP-UX: ({n:2})  {f.address:#018x}   {f.function} + {f.plus:#x} [{f.path}]
dmalloc*: 1700000000: {n}: not freed: '0x7f00a010|s1' from 'ra={f.address:#x}'
VTune: {f.name}!{f.function}+{f.plus:#x} - [unknown source file]
Pin:   {f.function}+{f.plus:#x} ({f.path})
perf trace:                                        {f.function}+{f.plus:#x} ({f.path})
Asterisk: # {n}: [{f.address:#x}] {f.path}({f.function}+{f.plus:#x}) [{f.address:#x}]
GStreamer*: {f.function} ({f.path}:{f.address:#x})
a title of a process*: {f.name}: joe db [local] IDLE({f.function}+{f.plus:#x}) [0x7f00]
Chromium on Windows*: \t{f.function} [{f.address:#018X}+{f.plus}]
madExcept*: {f.address:016x} +{f.plus:03x} {f.name} {f.function}
DrMingw without names: {f.address:X} 000000000000 000000000001  {f.name}!{f.offset:#x}
bpftrace, as perf does: \t{f.address:x} {f.function}(int)+{f.plus} ({f.path})
Cray ATP*:   {f.function}@{f.address:#x}
tabs of rsyslog: #011{f.path}(+{f.offset:#x}) [{f.address:#x}]
DPDK: {n}: {f.path} (+{f.offset:#x}) [{f.address:x}]
CmBacktrace: Show more call stack info by run: addr2line -e {f.path} -afC {f.offset:08x}
an offset after a file: {f.address:#x} in {f.path}+{f.offset:#x}
Xen*: (XEN)    [<{f.address:016x}>] R {f.function}+{f.plus:#x}/0x99
NetBSD: {f.function}() at {f.name}:{f.function}+{f.plus:#x}
mdb: {f.name}`{f.function}+{f.plus:#x}(1, 2)
jhsdb*: {f.address:#018x}\t{f.function} + {f.plus:#x}
GraalVM*:   C  SP 0x00007ffc1ed9a5f0 IP {f.address:#018x}  {f.function}+{f.plus:#x}
Blender*: {f.name:<20}:0x{f.address:016X}  {f.function}
Charm++*:   [0:{n}] {f.name} {f.address:#x} {f.function}
BIND*: #{n} {f.address:#x} in {f.function}()+{f.plus:#x}
Zabbix: 4711:080001 {n}: {f.path}: poller #1({f.function}+{f.plus:#x}) [{f.address:#x}]
RethinkDB*: {n} [{f.address:#x}]: {f.function}() at {f.address:#x} ({f.path})
Tarantool*: #{n}  {f.address:#x} in {f.function}+{f.plus}
Informix*: {f.address:#018x} ({f.name}) {f.function}
Greenplum*: {n}    {f.address:#x} {f.name} {f.function} + {f.plus:#x}
StackWalker*: {f.address:016X} ({f.name}): (filename not available): {f.function}
Aerospike: Nov 23 2026 08:00:01 GMT: frame {n}: {f.path}({f.function}+{f.plus:#x})
kamailio*: 0(4711) CRITICAL: <core> {f.function}[{f.address:#x}]
Delphi JCL*: [{f.address:016X}] {f.name}.{f.function} + ${f.plus:X}
Sybase*: pc: {f.address:#018x} {f.function}+{f.plus:#x}(0x1, 0x2)
strace of C++:  > {f.path}(int app::{f.function}<int>(int, char)+0x1) [{f.offset:#x}]
VxWorks*: {f.address:#018x} {f.function:<15}+{f.plus:#x}: next (1, 2)
"""


def by_format(shape: str) -> Writer:
    """A text with a line of a shape for each frame."""
    shape = shape.replace(r"\n", "\n").replace(r"\t", "\t")
    return lines(lambda n, f: shape.format(n=n, f=f))


for each in LINES.strip().split("\n"):
    tool, _, shape = each.partition(": ")
    TOOLS[tool.rstrip("*")] = by_format(shape), tool.endswith("*")


def suricata(stack: tuple[Place, ...]) -> str:
    """A text of Suricata: one line, without modules."""
    return (
        "[47] 24/8/2021 -- 10:15:04 - (suricata.c:332) <Error> "
        "(SignalHandlerUnexpected) -- [ERRCODE: SC_ERR_SIGNAL] - stacktrace:sig 11:"
        + ";".join(f"{each.function}+0x{each.plus:08x}" for each in stack)
        + "\n"
    )


TOOLS["Suricata"] = suricata, True


def in_one_line(shape: str, head: str, between: str, tail: str) -> Writer:
    """A text of one line, with a part of a shape for each frame."""
    return lambda stack: head + between.join(shape.format(f=f) for f in stack) + tail


def of_pprof(stack: tuple[Place, ...]) -> str:
    """What `pprof -raw` prints: addresses with numbers of mappings."""
    files = [each.path for each in images(stack)]
    found = "".join(
        f"  {at}: {each.address:#x} M={files.index(each.path) + 1}\n"
        for at, each in enumerate(stack, 1)
    )
    places = "".join(
        f"{at}: {each.base:#x}/{each.base + 0x5000:#x}/0x0 {each.path} "
        f"{each.build_id}\n"
        for at, each in enumerate(images(stack), 1)
    )
    return f"Samples:\nLocations\n{found}Mappings\n{places}"


ELEMENT = '<frame address="{f.address:#x}" module="{f.path}" offset="{f.offset:#x}"/>'
BACKTRACE = "{f.path}(+{f.offset:#x}) [{f.address:#x}]"
SANITIZER = "    #1 {f.address:#x}  ({f.path}+{f.offset:#x})"
LOKI = '[["17","'
TOOLS |= {
    "pprof": (of_pprof, False),
    "XML in a line of a log": (
        in_one_line(ELEMENT, "dump: <list>", "", "</list>\n"),
        False,
    ),
    "a list of texts": (in_one_line(BACKTRACE, '{"lines": ["', '", "', '"]}\n'), False),
    "Loki": (in_one_line(SANITIZER, LOKI, '"],["18","', '"]]\n'), False),
    "lines of a text": (in_one_line(BACKTRACE, '{"text": "', r"\n\t", '"}\n'), False),
    "HarmonyOS": (
        document(
            lambda stack: {
                "frames": [
                    {"file": f.path, "pc": f"{f.offset:016x}", "buildId": f.build_id}
                    for f in stack
                ]
            }
        ),
        False,
    ),
    "MongoDB": (
        document(
            lambda stack: {
                "backtrace": [
                    {"a": f"{f.address:X}", "b": f"{f.base:X}", "o": f"{f.offset:X}"}
                    for f in stack
                ],
                "somap": [{"b": f"{f.base:X}", "path": f.path} for f in images(stack)],
            }
        ),
        False,
    ),
}


def answers(report: Report) -> list[str]:
    """The innermost function and line of each frame with an answer."""
    return [
        f"{frame.calls[0].name}:{frame.calls[0].line}"
        for frame in report.frames()
        if frame.calls
    ]


@pytest.mark.parametrize("tool", TOOLS)
def test_a_tool_that_is_not_known_is_read(tool: str, built: Built) -> None:
    write, is_mapped = TOOLS[tool]
    report = gsym.symbolicate(
        write(built.stack),
        source=built.folder,
        maps=built.maps if is_mapped else None,
        store=str(built.folder / "none"),
    )
    assert answers(report) == list(RIGHT)


def stack_of_gdb(stack: tuple[Place, ...]) -> str:
    """Addresses of a process, modules and functions."""
    return "".join(
        f"#{at}  {each.address:#018x} in {each.function} () from {each.path}\n"
        for at, each in enumerate(stack)
    )


# Addresses of a process and modules, but not where these were loaded.
NOT_PLACED = {
    "Boost.Stacktrace": lines(lambda n, f: f"{n:>2}# {f.address:#018X} in {f.path}"),
    "Julia": TOOLS["Julia"][0],
    # These print addresses within the calls: of valgrind, massif's file and DHAT's.
    "massif": lines(lambda _, f: f"n1: 796000 {f.address - 1:#X}: ??? (in {f.path})"),
    "DHAT": document(
        lambda stack: {
            "ftbl": [f"{each.address - 1:#X}: ??? (in {each.path})" for each in stack]
        }
    ),
}


def backward(stack: tuple[Place, ...]) -> str:
    """What backward-cpp prints: the outermost frame first, a signal below it."""
    each_line = [
        f'#{at:<4} Object "{each.path}", at {each.address - (at > 0):#x}, in \n'
        for at, each in enumerate(stack)
    ]
    return "Stack trace (most recent call last):\n" + "".join(reversed(each_line))


NOT_PLACED["backward-cpp"] = backward
IN_APP = [RIGHT[at] for at in (0, 1, 3, 4)]  # one call is too little to place libmid.so


@pytest.mark.parametrize("tool", NOT_PLACED)
def test_calls_tell_where_a_module_was_loaded(tool: str, built: Built) -> None:
    report = gsym.symbolicate(
        NOT_PLACED[tool](built.stack),
        source=built.folder,
        store=str(built.folder / "none"),
    )
    assert answers(report) == IN_APP
    assert len(report.threads) == 1
    originals = NOT_PLACED[tool](built.stack)
    assert "".join(report.originals()) == originals
    copy = report.with_records()
    assert (str(copy), answers(copy)) == (str(report), IN_APP)


def test_a_saved_counter_is_a_return_address(built: Built) -> None:
    crash, caller, *_ = (each.address for each in built.stack)
    state = f" rip = {crash:#x}; saved rip = {caller:#x}\n"
    report = gsym.symbolicate(
        stack_of_gdb(built.stack) + state,
        source=built.folder,
        maps=built.maps,
        store=str(built.folder / "none"),
    )
    assert answers(report)[: len(RIGHT)] == list(RIGHT)


@pytest.mark.parametrize("into_calls", [0, 1, 2])  # 2: of GNAT for x86
def test_calls_tell_which_addresses_are_those_of_a_module(
    into_calls: int, built: Built
) -> None:
    crash, *others = (each.address for each in built.stack)
    several = (crash, *(each - into_calls for each in others))
    report = gsym.symbolicate(
        "".join(f"    @ {each:#018x}\n" for each in several),
        module="app",
        source=built.folder,
        store=str(built.folder / "none"),
    )
    assert answers(report) == IN_APP


@pytest.mark.parametrize("moved", [0, 0x12345000, -0x12345000])
@pytest.mark.parametrize("tool", ["boost", "gdb"])
def test_each_process_of_a_log_has_its_own_load_addresses(
    tool: str, moved: int, built: Built
) -> None:
    expected, writes = IN_APP, NOT_PLACED["Boost.Stacktrace"]
    if tool == "gdb":
        expected, writes = [*RIGHT], stack_of_gdb
    again = tuple(each._replace(base=each.base + moved) for each in built.stack)
    report = gsym.symbolicate(
        "first crash\n" + writes(built.stack) + "second crash\n" + writes(again),
        source=built.folder,
        store=str(built.folder / "none"),
    )
    assert answers(report) == 2 * expected


@pytest.mark.parametrize("moved", [1, -3, 16, 0x800])
def test_addresses_of_another_build_are_not_placed(moved: int, built: Built) -> None:
    other = tuple(each._replace(offset=each.offset + moved) for each in built.stack)
    report = gsym.symbolicate(
        NOT_PLACED["Boost.Stacktrace"](other),
        source=built.folder,
        store=str(built.folder / "none"),
    )
    assert answers(report) == []


if TYPE_CHECKING:
    Writer = Callable[[tuple[Place, ...]], str]
