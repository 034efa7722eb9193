"""Reports that packaged programs have written of their crashes, shortened."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

import gsym
from gsym.containers.machine_code import MachineCode
from tests.reports.test_recorded import answered

if TYPE_CHECKING:
    from pathlib import Path

# Redis 7.0.15: its title is taken for its file.
REDIS = """\
16020:M 29 Nov 2026 13:27:41.042 # Redis 7.0.15 crashed by signal: 11, si_code: 0
------ STACK TRACE ------
EIP:
/lib/x86_64-linux-gnu/libc.so.6(epoll_wait+0x56)[0x7f8e4df26f36]

Backtrace:
/lib/x86_64-linux-gnu/libc.so.6(+0x3c050)[0x7f8e4de5a050]
redis-server *:7777(aeMain+0x1d)[0x562b7d6059ed]
redis-server *:7777(main+0x316)[0x562b7d601216]
"""
# Xorg's servers, here Xvfb 21.1.7.
XVFB = """\
(EE) Backtrace:
(EE) 2: /lib/x86_64-linux-gnu/libc.so.6 (epoll_wait+0x13) [0x7f72e4a30ef3]
(EE) 4: Xvfb (aeMain+0x1d) [0x5653eeec55a3]
(EE) 6: Xvfb (main+0x316) [0x5653eee76234]
"""


@pytest.mark.parametrize(("name", "text"), [("redis-server", REDIS), ("Xvfb", XVFB)])
def test_the_program_is_known_by_its_name(name: str, text: str, tmp_path: Path) -> None:
    (tmp_path / f"{name}.sym").write_text(
        f"MODULE Linux x86_64 0123456789ABCDEF0123456789ABCDEF0 {name}\nFILE 0 a.c\n"
        "FUNC 1000 100 0 aeMain\n1000 100 1 0\nFUNC 2000 400 0 main\n2000 400 2 0\n"
    )
    report = gsym.symbolicate(text, source=tmp_path, store=str(tmp_path / "none"))
    own = [each for each in report.frames() if report.modules[each.module].name == name]
    assert [(each.calls[0].name, each.offset) for each in own] == [
        ("aeMain", 0x101D),
        ("main", 0x2316),
    ]
    assert "".join(report.originals()) == text


SYMBOLS = """\
MODULE Linux x86_64 0123456789ABCDEF0123456789ABCDEF0 {name}
FILE 0 a.c
FUNC 401000 100 0 leaf
401000 10 1 0
401010 f0 2 0
FUNC 402000 400 0 aeMain
402000 10 3 0
402010 3f0 4 0
"""


class Printed(NamedTuple):
    """What a program prints: its module, the text, the answers."""

    name: str
    text: str
    expected: str
    options: dict[str, Any] = {}  # noqa: RUF012 - not changed


PRINTED = {
    # The first frame is exact, and the others are after calls, also below Java's.
    "OpenJDK 17": Printed(
        "libjvm.so",
        "Native frames: (J=compiled Java code, C=native code)\n"
        "V  [libjvm.so+0x401010]  leaf+0x10\nj  J.main([Ljava/lang/String;)V+23\n"
        "v  ~StubRoutines::call_stub\nV  [libjvm.so+0x402010]  aeMain+0x10\n",
        "leaf:2 aeMain:3",
    ),
    # The number of the frame is before the module; functions tell where that was.
    "clang 22": Printed(
        "libLLVM.so.22.1",
        "Stack dump:\n0  libLLVM.so.22.1      0x00007fae98cb1010 leaf + 16\n"
        "1  libLLVM.so.22.1      0x00007fae98cb2010 aeMain + 16\n"
        "2  libLLVM.so.22.1      0x00007fae98cb2020\n",
        "leaf:2 aeMain:3 aeMain:4",
    ),
    "Node.js 20": Printed(
        "node",
        '{"nativeStack": [{"pc": "0x0000000000401020", "symbol": "leaf [node]"},'
        ' {"pc": "0x0000000000402020", "symbol": "aeMain(int) [node]"}]}',
        "leaf:2 aeMain:4",
    ),
    # The function has 32 hexadecimal digits, which are no build id.
    "Emacs 28": Printed(
        "startup.eln",
        "/x/startup.eln(F6e6f726d616c2d746f702d6c6576656c_top+0x9)[0x7f61422d13bc]\n"
        "/x/startup.eln(aeMain+0x20)[0x7f61422d5316]\n",
        "- aeMain:4",
    ),
    # What the format `#%n %M` of sanitizers makes, of a file with a hyphen.
    "AddressSanitizer": Printed(
        "redis-server",
        "#0 (redis-server+0x401010) <null>\n#1 (redis-server+0x40200f) <null>\n",
        "leaf:2 aeMain:3",
    ),
    "Go 1.19": Printed(
        "compile",
        "SIGQUIT: quit\nPC=0x401010 m=0 sigcode=0\n\ngoroutine 0 [idle]:\n"
        "leaf()\n\t/src/a.s:2 +0x10 fp=0x7f sp=0x7e pc=0x401010\n"
        "aeMain()\n\t/src/a.go:3 +0x10 fp=0x7f sp=0x7e pc=0x402010\n",
        "leaf:2 aeMain:3",
        {"module": "compile"},
    ),
    # Another tool's stack does not make the addresses before modules registers.
    "Mono 6.8": Printed(
        "libc.so.6",
        "\t0x7fae98cb1020 - /lib/libc.so.6 : (null)\n"
        "Memory around native instruction pointer (0x7fae98cb1020)\n"
        "#0  0x00007fae98cb1010 in leaf () from /lib/libc.so.6\n"
        "#1  0x00007fae98cb2020 in aeMain () from /lib/libc.so.6\n",
        "leaf:2 leaf:2 aeMain:4",
        {"load_addresses": {"/lib/libc.so.6": 0x7FAE988B0000}},
    ),
}


@pytest.mark.parametrize("program", PRINTED)
def test_what_programs_print_is_answered(program: str, tmp_path: Path) -> None:
    name, text, expected, options = PRINTED[program]
    (tmp_path / f"{name}.sym").write_text(SYMBOLS.format(name=name))
    store = str(tmp_path / "none")
    report = gsym.symbolicate(text, source=tmp_path, store=store, **options)
    assert answered(report) == expected


def test_two_names_of_one_file_are_not_ambiguous(tmp_path: Path) -> None:
    for name in ("ruby", "ruby3.1"):
        (tmp_path / f"{name}.sym").write_text(SYMBOLS.format(name=name))
    text = "ruby(leaf+0x21) [0x7f0000001021] in /usr/bin/ruby3.1\n"
    report = gsym.symbolicate(text, source=tmp_path, store=str(tmp_path / "none"))
    assert (answered(report), report.notes) == ("leaf:2", ())
    assert "ambiguous" not in str(report)


def test_addresses_outside_of_a_module_have_no_code(tmp_path: Path) -> None:
    (tmp_path / "app.sym").write_text(
        "MODULE Linux x86_64 0123456789ABCDEF0123456789ABCDEF0 app\nFILE 0 a.c\n"
        "FUNC 1000 100 0 f\n1000 100 1 0\n"
    )
    text = "Backtrace:\n/x/app(f+0x10)[0x7f0000001010]\n/x/app[0x500000]\n"
    text += "/x/app[0xffffffffffffffff]\n"
    report = gsym.symbolicate(text, source=tmp_path, store=str(tmp_path / "none"))
    assert [each.calls[0].name for each in report.frames() if each.calls] == ["f"]
    assert "".join(report.originals()) == text
    code = MachineCode()
    for address in (-1, 1 << 64):
        assert (code.is_known(address), code.may_return(address)) == (False, True)


def test_what_registers_and_memory_point_to_is_in_no_stack(tmp_path: Path) -> None:
    (tmp_path / "libapp.so.sym").write_text(SYMBOLS.format(name="libapp.so"))
    text = (
        "C  [libapp.so+0x401021]\n\nNative frames: (J=compiled Java code)\n"
        "C  [libapp.so+0x401021]  leaf+0x21\nC  [libapp.so+0x401031]  leaf+0x31\n\n"
        "R8 =0x0 is NULL\n"
        "R9 =0x7f0000401021: leaf+0x21 in /opt/libapp.so at 0x7f0000000000\n"
        "stack at sp + 0 slots: 0x7f0000401021: leaf+0x21 in /opt/libapp.so"
        " at 0x7f0000000000\n"
    )
    report = gsym.symbolicate(text, source=tmp_path, store=str(tmp_path / "none"))
    assert len([each for each in report.frames() if each.calls]) == 3
