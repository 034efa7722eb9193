"""Reports that programs and tools print while the test runs: every frame is answered.

What runs is stripped; the expected functions and lines are those of the sources. The
answers are also compared with llvm-symbolizer's at the same addresses.
"""

from __future__ import annotations

import json
from pathlib import PurePath
from typing import TYPE_CHECKING, NamedTuple

import pytest

import gsym
from gsym.containers.headers import load_segments
from gsym.containers.mapped_file import map_file
from gsym.conversion.identity import identify
from tests.reports.laboratory import Laboratory
from tests.reports.sources import FILES, PLACES
from tests.symbolizer_runs import run_llvm

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from gsym.reports.report import Report, ReportFrame

pytestmark = [pytest.mark.slow, pytest.mark.no_engine]  # runs programs

_C = "-g -O1 -fno-omit-frame-pointer -fno-optimize-sibling-calls"
_CLANG = f"clang-19 -gdwarf-4 {_C}"
PROGRAMS = {
    "app": f"gcc {_C} app.c -o $OUT",
    "fixed": f"gcc {_C} -no-pie app.c -o $OUT",
    "static": f"gcc {_C} -static app.c -o $OUT 2>/dev/null",
    "exported": f"gcc {_C} -rdynamic app.c -o $OUT",
    "split": f"gcc {_C} app.c -o $OUT",
    "linked-by-lld": f"clang-19 {_C} -fuse-ld=lld app.c -o $OUT",
    "libplugin.so": f"gcc {_C} -shared -fPIC plugin.c -o $OUT",
    "mistakes": f"gcc {_C} mistakes.c -o $OUT -pthread",
    "asan": f"{_CLANG} -fsanitize=address mistakes.c -o $OUT",
    "asan-gcc": f"gcc {_C} -fsanitize=address mistakes.c -o $OUT",
    "tsan": f"{_CLANG} -fsanitize=thread mistakes.c -o $OUT",
    "tsan-gcc": f"gcc {_C} -fsanitize=thread mistakes.c -o $OUT",
    "msan": f"{_CLANG} -fsanitize=memory mistakes.c -o $OUT",
    "ubsan": f"{_CLANG} -fsanitize=undefined mistakes.c -o $OUT",
    "ubsan-gcc": f"gcc {_C} -fsanitize=undefined mistakes.c -o $OUT",
    "lsan-gcc": f"gcc {_C} -fsanitize=leak mistakes.c -o $OUT",
    "boost": "g++ -g -O1 boost.cc -o $OUT -ldl",
    "panic-rust": "rustc -g -C opt-level=1 crash.rs -o $OUT",
    "panic-go": "env GOCACHE=$PWD/go GOFLAGS=-mod=mod go build -o $OUT crash.go",
    "panic-zig": "env $PYTHON -m ziglang build-exe crash.zig -femit-bin=$OUT"
    " --cache-dir $PWD/zig --global-cache-dir $PWD/zig",
    "addon.node": f"gcc {_C} -shared -fPIC addon.c -o $OUT",
    "crash-d": "gdc-12 -g crash.d -o $OUT",
    "crash-fortran": "gfortran-12 -g crash.f90 -o $OUT",
    "crash-pascal": "fpc -g -gw -gl- -FU$PWD -o$OUT crash.pas",
    "crash-ada": "gnatmake -q -g crash.adb -o $OUT -bargs -E",
    "libjcrash.so": f"gcc {_C} -shared -fPIC native.c -o $OUT && "
    "javac -d $(dirname $OUT)/../../../../../../run Crash.java",
}
SPLIT = frozenset({"exported", "split"})

_DIRECT = "act app.c@crash, callback app.c@callback, main app.c@direct"
_LOADED = (
    "callback app.c@callback, hop plugin.c@hop, plugin_call plugin.c@plugin, "
    "load app.c@load, main app.c@dynamic"
)
_CRASHED = f"act app.c@crash, {_LOADED}"
_PRINTED = f"print_stack app.c@backtrace, act app.c@print, {_LOADED}"
_HANDLED = (
    "print_stack app.c@backtrace, handler app.c@handler, act app.c@read, "
    "callback app.c@callback, main app.c@direct"
)
_MAIN = "main mistakes.c@main"
_USED = (
    f"act mistakes.c@use, {_MAIN}, act mistakes.c@free, {_MAIN}, "
    f"act mistakes.c@malloc, {_MAIN}"
)
_GCC_START = 0x555555554000  # of a program that is not moved
_PANIC_RUST = "crash::act crash.rs@act, crash::main crash.rs@main"


class Case(NamedTuple):
    """A report.

    Attributes:
        name: Of the case.
        form: What it is called.
        programs: Those that it needs.
        command: Prints it.
        expected: Functions and places of all frames in the sources, in order.
        within: Whether they are those of one stack among others.
        module: Of addresses without one.
        loaded: Where it starts.
        maps: Whether the command writes `maps.txt`.
    """

    name: str
    form: str
    programs: str
    command: str
    expected: str
    within: bool = False
    module: str | None = None
    loaded: int | None = None
    maps: bool = False


_GLIBC = "glibc backtrace()"
_PLUG = "./libplugin.so"
_RAW = "symbolize=0"
_GDB = "gdb -q -nx -batch -ex run -ex bt"
_FIXED = "setarch -R"
CASES = (
    Case("glibc", _GLIBC, "app libplugin.so", f"./app backtrace {_PLUG}", _PRINTED),
    Case(
        "glibc-fixed",
        _GLIBC,
        "fixed libplugin.so",
        f"./fixed backtrace {_PLUG}",
        _PRINTED,
    ),
    Case(
        "glibc-exported",
        _GLIBC,
        "exported libplugin.so",
        f"./exported backtrace {_PLUG}",
        _PRINTED,
    ),
    Case(
        "glibc-lld",
        _GLIBC,
        "linked-by-lld libplugin.so",
        f"./linked-by-lld backtrace {_PLUG}",
        _PRINTED,
    ),
    Case(
        "glibc-static",
        _GLIBC,
        "static",
        "./static backtrace",
        "print_stack app.c@backtrace, act app.c@print, "
        "callback app.c@callback, main app.c@direct",
        module="static",
    ),
    Case("glibc-signal", _GLIBC, "app", "./app handler", _HANDLED),
    Case("glibc-signal-fixed", _GLIBC, "fixed", "./fixed handler", _HANDLED),
    Case(
        "glibc-in-log",
        _GLIBC,
        "app",
        "./app backtrace | sed 's/^/2026-01-01T00:00:00 host app[7]: /'",
        "print_stack app.c@backtrace, act app.c@print, "
        "callback app.c@callback, main app.c@direct",
    ),
    *(
        Case(
            f"{name}-map" if "map" in options else name,
            "sanitizer",
            name,
            f"ASAN_OPTIONS={options}:detect_leaks=0 ./{name} freed",
            _USED,
        )
        for name in ("asan", "asan-gcc")
        for options in (_RAW, f"{_RAW}:print_module_map=2")
        if options == _RAW or name == "asan"
    ),
    *(
        Case(
            f"leak-{name}",
            "sanitizer",
            name,
            f"{variable}={_RAW} ./{name} leak",
            f"act mistakes.c@leak, {_MAIN}" if name == "asan" else "",
            within=True,
        )
        for name, variable in (("asan", "ASAN_OPTIONS"),)
    ),
    Case(
        "lsan-gcc",
        "sanitizer",
        "lsan-gcc",
        f"LSAN_OPTIONS={_RAW} ./lsan-gcc leak",
        f"act mistakes.c@leak, {_MAIN}",
    ),
    *(
        Case(
            f"race-{name}",
            "sanitizer",
            name,
            f"TSAN_OPTIONS={_RAW} {_FIXED} ./{name} race",
            f"act mistakes.c@create, {_MAIN}",
            within=True,
        )
        for name in ("tsan", "tsan-gcc")
    ),
    Case(
        "msan",
        "sanitizer",
        "msan",
        f"MSAN_OPTIONS={_RAW} {_FIXED} ./msan uninitialized",
        f"act mistakes.c@branch, {_MAIN}",
    ),
    *(
        Case(
            f"{name}",
            "sanitizer",
            name,
            f"UBSAN_OPTIONS={_RAW}:print_stacktrace=1 ./{name} overflow",
            f"act mistakes.c@overflow, {_MAIN}",
        )
        for name in ("ubsan", "ubsan-gcc")
    ),
    Case(
        "gdb-mappings",
        "gdb backtrace",
        "app libplugin.so",
        f"{_GDB} -ex 'info proc mappings' --args ./app crash {_PLUG}",
        _CRASHED,
    ),
    Case(
        "gdb-threads",
        "gdb backtrace",
        "app libplugin.so",
        "gdb -q -nx -batch -ex run -ex 'thread apply all bt' -ex 'info sharedlibrary' "
        f"-ex 'info proc mappings' --args ./app crash {_PLUG}",
        _CRASHED,
    ),
    Case(
        "gdb-shared-libraries",
        "gdb backtrace",
        "app libplugin.so",
        f"{_GDB} -ex 'info sharedlibrary' --args ./app crash {_PLUG}",
        "hop plugin.c@hop, plugin_call plugin.c@plugin",
    ),
    Case(
        "gdb-fixed",
        "gdb backtrace",
        "fixed libplugin.so",
        f"{_GDB} -ex 'info proc mappings' --args ./fixed crash {_PLUG}",
        _CRASHED,
    ),
    Case(
        "gdb-of-a-core",
        "gdb backtrace",
        "app",
        "gdb -q -nx -batch -ex run -ex 'generate-core-file core' --args ./app crash "
        "> log; gdb -q -nx -batch -ex 'info proc mappings' -ex bt ./app core",
        f"act app.c@crash, {_DIRECT}",
    ),
    Case(
        "lldb",
        "lldb backtrace",
        "app libplugin.so",
        f"lldb-19 -x -b -o run -k bt -k 'image list' -k quit -- ./app crash {_PLUG}",
        f"act app.c@crash, {_CRASHED}",
    ),
    Case(
        "valgrind",
        "valgrind",
        "app libplugin.so",
        f"valgrind ./app crash {_PLUG}",
        f"{_CRASHED}, {_CRASHED}",
    ),
    Case(
        "valgrind-xml",
        "valgrind XML",
        "app libplugin.so",
        f"{{ valgrind --xml=yes --xml-file=x ./app crash {_PLUG}; }} > log 2>&1; cat x",
        f"{_CRASHED}, {_CRASHED}",
    ),
    Case(
        "valgrind-xml-leak",
        "valgrind XML",
        "mistakes",
        "valgrind --leak-check=full --xml=yes --xml-file=x ./mistakes leak > log 2>&1; "
        "cat x",
        f"act mistakes.c@leak, {_MAIN}",
        within=True,
    ),
    Case(
        "valgrind-leak",
        "valgrind",
        "mistakes",
        "valgrind --leak-check=full ./mistakes leak",
        f"act mistakes.c@leak, {_MAIN}",
    ),
    Case(
        "helgrind",
        "valgrind",
        "mistakes",
        "valgrind --tool=helgrind ./mistakes race",
        "race mistakes.c@race",
        within=True,
    ),
    Case(
        "massif",
        "valgrind",
        "app",
        "valgrind -q --tool=massif --massif-out-file=massif ./app allocate; "
        "ms_print massif",
        "act app.c@allocate, callback app.c@callback, main app.c@direct",
        within=True,
    ),
    Case(
        "heaptrack",
        "addresses",
        "app",
        f"rm -f h.*; {_FIXED} heaptrack -o h ./app allocate > log; heaptrack_print h.*",
        "act app.c@allocate, callback app.c@callback, main app.c@direct",
        within=True,
        module="app",
        loaded=_GCC_START,
    ),
    *(
        Case(
            f"perf-{name}",
            "perf script",
            "app libplugin.so",
            "perf record -q -g -e cpu-clock -F 199 -o p.data ./app spin "
            f"{_PLUG} 2>&1 && perf script -i p.data {options} 2>&1",
            f"act app.c@spin, {_LOADED}",
            within=True,
        )
        for name, options in (
            ("script", ""),
            ("mappings", "--show-mmap-events"),
            ("offsets", "-F +symoff,+srcline"),
        )
    ),
    *(
        Case(
            f"perf-{name}",
            "perf script",
            f"{name} libplugin.so",
            f"perf record -q -g -e cpu-clock -F 199 -o p.data ./{name} spin "
            f"{_PLUG} 2>&1 && perf script -i p.data 2>&1",
            f"act app.c@spin, {_LOADED}",
            within=True,
        )
        for name in ("fixed", "split", "linked-by-lld")
    ),
    *(
        Case(
            f"segfault-{name}",
            "kernel segfault line",
            name,
            f"./{name} crash & wait; sleep 0.1; dmesg | grep '\\['$!'\\]: segfault'",
            "act app.c@crash",
        )
        for name in ("app", "fixed", "split", "linked-by-lld")
    ),
    Case(  # in the shape that the kernel documents, with the addresses of a run
        "ftrace-user",
        "ftrace",
        "app",
        "echo ' => do_nanosleep'; ./app backtrace | "
        "sed -n 's/.*app(+\\(0x[0-9a-f]*\\)).*/\\1/p' | "
        "while read a; do printf ' => %s[+%#x]\\n' $PWD/app $((a-0x1000)); done",
        "print_stack app.c@backtrace, act app.c@print, "
        "callback app.c@callback, main app.c@direct",
    ),
    Case(
        "boost",
        "Boost.Stacktrace",
        "boost",
        f"{_FIXED} ./boost",
        "act() boost.cc@act, main boost.cc@main",
        module="boost",
        loaded=_GCC_START,
    ),
    Case(
        "rust",
        "Rust panic",
        "panic-rust",
        f"RUST_BACKTRACE=full {_FIXED} ./panic-rust",
        _PANIC_RUST,
        module="panic-rust",
        loaded=_GCC_START,
    ),
    *(
        Case(
            f"go-{level}",
            "Go traceback",
            "panic-go",
            f"GOTRACEBACK={level} ./panic-go",
            "main.act crash.go@act, main.main crash.go@main",
            module="panic-go",
        )
        for level in ("system", "crash")
    ),
    Case(
        "zig",
        "Zig panic",
        "panic-zig",
        "./panic-zig",
        "crash.act crash.zig@act, crash.main crash.zig@main",
        within=True,
    ),
    Case(
        "node",
        "Node.js",
        "addon.node",
        "node -e 'require(\"./addon.node\")'",
        "fail addon.c@fatal, napi_register_module_v1 addon.c@register",
    ),
    Case(
        "d-gdc",
        "D exception",
        "crash-d",
        f"{_FIXED} ./crash-d",
        "crash.act(int) crash.d@act, D main crash.d@main",
        module="crash-d",
        loaded=_GCC_START,
    ),
    Case(
        "fortran",
        "Fortran",
        "crash-fortran",
        f"{_FIXED} ./crash-fortran",
        "act_ crash.f90@act, MAIN__ crash.f90@main, main crash.f90@end",
        module="crash-fortran",
        loaded=_GCC_START,
    ),
    Case(
        "pascal",
        "addresses",
        "crash-pascal",
        "./crash-pascal",
        "P$CRASH_$$_ACT$PINTEGER crash.pas@act, main crash.pas@main",
        module="crash-pascal",
    ),
    Case(
        "ada",
        "addresses",
        "crash-ada",
        f"{_FIXED} ./crash-ada",
        "crash__act.0 crash.adb@act, _ada_crash crash.adb@main",
        module="crash-ada",
        loaded=_GCC_START,
    ),
    Case(
        "jvm",
        "JVM error file",
        "libjcrash.so",
        "java -XX:-CreateCoredumpOnCrash -XX:ErrorFile=$PWD/hs_err Crash > log; "
        "cat hs_err",
        "fail native.c@crash, fail native.c@crash",
    ),
    Case(
        "jvm-output",
        "JVM error file",
        "libjcrash.so",
        "java -XX:-CreateCoredumpOnCrash -XX:ErrorFile=$PWD/hs_err2 Crash",
        "fail native.c@crash",
    ),
    Case(
        "strace",
        "strace",
        "linked-by-lld",
        "strace -q -k -e signal=none -e trace=tgkill ./linked-by-lld abort 2>&1",
        "act app.c@abort, callback app.c@callback, main app.c@direct",
    ),
    Case(
        "eu-stack",
        "eu-stack",
        "app libplugin.so",
        f"./app sleep {_PLUG} & sleep 0.3; cat /proc/$!/maps > maps.txt; "
        "eu-stack -p $!; kill $!",
        f"act app.c@sleep, {_LOADED}",
        maps=True,
    ),
    Case(
        "eu-stack-modules",
        "eu-stack",
        "app libplugin.so",
        f"./app sleep {_PLUG} & sleep 0.3; cat /proc/$!/maps > maps.txt; "
        "eu-stack -m -p $!; kill $!",
        f"act app.c@sleep, {_LOADED}",
        maps=True,
    ),
    Case(
        "gstack",
        "gdb backtrace",
        "app libplugin.so",
        f"./app sleep {_PLUG} & sleep 0.3; "
        "gdb -q -nx -batch -ex bt -ex 'info proc mappings' -p $!; kill $!",
        f"act app.c@sleep, {_LOADED}",
    ),
)


@pytest.fixture(scope="session")
def laboratory(tmp_path_factory: pytest.TempPathFactory) -> Laboratory:
    return Laboratory(tmp_path_factory.mktemp("laboratory"))


def run(case: Case, laboratory: Laboratory) -> tuple[str, Report]:
    for each in case.programs.split():
        laboratory.build_program(each, PROGRAMS[each], splits=each in SPLIT)
    text = laboratory.run(case.command)
    maps = laboratory.here / "maps.txt" if case.maps else None
    loaded = {case.module: case.loaded} if case.module and case.loaded else None
    report = gsym.symbolicate(
        text,
        source=laboratory.build,
        module=None if case.loaded else case.module,
        load_addresses=loaded,
        maps=maps,
        store=str(laboratory.here / "store"),
    )
    return text, report


def places(frames: Iterable[ReportFrame]) -> list[str]:
    """Functions and places of the calls in the sources."""
    return [
        f"{gsym.demangle(call.name)} {call.filename}:{call.line}"
        for frame in frames
        for call in frame.calls
        if call.filename in FILES
    ]


def peer_places(path: str, addresses: list[int]) -> list[list[str]]:
    """What llvm-symbolizer prints for link-time addresses, as `places` does."""
    asked = "".join(f"{each:#x}\n" for each in addresses)
    done = run_llvm(f"--obj={path}", "--output-style=JSON", lines=asked)
    found = []
    for line in done.out.splitlines():
        calls = [
            (each, PurePath(each["FileName"])) for each in json.loads(line)["Symbol"]
        ]
        found.append(
            [
                f"{call['FunctionName']} {path.name}:{call['Line']}"
                for call, path in calls
                if path.name in FILES
            ]
        )
    return found


def differing(report: Report, laboratory: Laboratory) -> list[str]:
    """Frames of programs in the build folder that llvm-symbolizer answers differently.

    It gets the address of the instruction, and of the byte before for calls.
    """
    found = []
    for number, module in enumerate(report.modules):
        own = [
            each
            for each in report.frames()
            if each.module == number and places((each,))
        ]
        if not own or not module.path.startswith(str(laboratory.build)):
            continue
        path = module.path
        if path.endswith(".debug"):  # it need not say where the code was
            path = str(laboratory.here / PurePath(path).stem)
        segments = load_segments(map_file(path), path)
        base = min(each.address for each in segments) & -4096
        addresses = [base + (each.offset or 0) for each in own]
        pairs = [near for each in addresses for near in (each, each - 1)]
        answers = peer_places(module.path, pairs)
        for frame, exact, before in zip(own, answers[::2], answers[1::2], strict=True):
            if places((frame,)) not in (exact, before):
                found.append(f"{frame.text}: neither {exact} nor {before}")
    return found


@pytest.mark.usefixtures("llvm_symbolizer")
@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_every_frame_of_a_module_that_is_there_is_answered(
    case: Case, laboratory: Laboratory
) -> None:
    text, report = run(case, laboratory)
    parts = (each.rsplit(" ", 1) for each in case.expected.split(", "))
    expected = [f"{function} {PLACES[place]}" for function, place in parts]
    if case.within:
        found = [places(thread.frames) for thread in report.threads]
        assert expected in found, text
    else:
        assert places(report.frames()) == expected, text
    assert report.form == case.form
    if not case.name.startswith(("rust", "go", "zig", "d-")):  # whose names differ
        assert differing(report, laboratory) == []
    if text.startswith("<?xml"):  # of documents the stacks are printed
        return
    restored = "".join(
        part if isinstance(part, str) else report.threads[part[0]].frames[part[1]].text
        for part in report.parts
    )
    assert restored == text


def test_a_path_in_the_report_is_used_if_its_build_id_fits(
    laboratory: Laboratory, tmp_path: Path
) -> None:
    laboratory.build_program("app", PROGRAMS["app"])
    (path,) = laboratory.build.rglob("app")
    build_id = identify(str(path)).code_id.lower()
    found = {}
    for named in (build_id, "00" + build_id[2:], ""):
        suffix = f" (BuildId: {named})" if named else ""
        text = f"    #0 0x1  ({path}+0x1101){suffix}\n"
        report = gsym.symbolicate(text, store=str(tmp_path))
        (module,) = report.modules
        found[named] = (module.state, module.unsure)
    assert list(found.values()) == [
        ("found", ""),
        ("missing", ""),
        ("found", "found by its name alone"),
    ]
