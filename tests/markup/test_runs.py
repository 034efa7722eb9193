"""Runs of lines that the engine answers: the same as line by line."""

from __future__ import annotations

import gc
import io
import random
from mmap import mmap
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, strategies as st

import gsym
from gsym.markup import line_runs
from gsym.markup.address_space import AddressSpace
from gsym.markup.filter import MarkupFilter
from gsym.markup.line_filter import LineFilter
from gsym.markup.line_runs import LineRuns
from gsym.markup.outputs import Output
from gsym.markup.parser import Mmap, Module
from gsym.markup.settings import FilterSettings
from gsym.markup.symbols import SymbolOptions, Symbols
from gsym.modules.open_module import OpenModule
from tests.guarded import GuardedMemory
from tests.markup_modules import BUILD_ID, CONTEXT, Modules

if TYPE_CHECKING:
    from gsym.modules.key import ModuleKey

pytestmark = pytest.mark.long

MORE = (
    b"{{{module:1:b.o:elf:12}}}\n{{{mmap:0x3000:0x10:load:1:r:0}}}\n"
    b"{{{mmap:0x2000:0x40:load:0:rx:0x10}}}\n{{{mmap:0xfffffffffffffff0:0xf:load:0:r:0}}}\n"
    b"{{{module:2:c.o:elf:abcdef}}}\n{{{mmap:0x5000:0x100:load:2:r:0xffffffffffffff80}}}\n"
)
PLAIN_ADDRESSES = (
    *("0x1010", "0x1011", "0x1018", "0x1019", "0x1020", "0x1021", "0x1030", "0x1041"),
    *("0x1000", "0x10ff", "0x2000", "0x2001", "0x2018", "0x3001", "0x5001"),
    *("0x5010", "0x5090", "0x5098", "0x50a5", "0x50b0"),
)
ADDRESSES = (
    *PLAIN_ADDRESSES,
    *("0x1100", "0x0", "0xfffffffffffffff0", "0xFFFFFFFFFFFFFFFF"),
    *("0x00000000000001019", "0x", "1019"),
)
NUMBERS = ("0", "7", "12", "99999", "123456", "00012", "9" * 18, "9" * 19, "", "-1")
KINDS = (
    *("", "", "", ":ra", ":pc", ":ra", ":pc", ":", ":sp", ":ra:x", ":pc:", ":rax"),
    *(":sp 0x3f5:4", ":pc:a b", ":a{b", ":a}b", ":\x1b[1m", ":\xff\0"),
)
BEFORE = (
    "",
    "",
    " ",
    "\t ",
    "[1] ",
    "{{",
    "{",
    "\x1b[31m",
    "{{{",
    "}}}",
    "{{{symbol:a}}}",
)
BEHIND = ("", "", " tail", "\r", "}", "{{{x", " {{{bt:0:0x1011:pc}}}", "\x1b[0m", "\0")
RESET = "{{{reset}}}\n" + (CONTEXT + MORE).decode().rstrip("\n")
TEXTS = ("", "plain", RESET, "{{{data:0x1011}}}", "\x1b[1mbold", "{{{", "x" * 300)


def line(source: random.Random) -> str:
    if source.random() < 0.2:
        return source.choice(TEXTS)
    elements = [element(source)]
    while source.random() < 0.3:
        elements += [source.choice(("", " ", " at ")), element(source)]
    return source.choice(BEFORE) + "".join(elements) + source.choice(BEHIND)


def element(source: random.Random) -> str:
    address, kind = source.choice(ADDRESSES), source.choice(KINDS)
    if source.random() < 0.5:
        return f"{{{{{{pc:{address}{kind}}}}}}}"
    return f"{{{{{{bt:{source.choice(NUMBERS)}:{address}{kind}}}}}}}"


def plain_frame(source: random.Random) -> str:
    address = source.choice(PLAIN_ADDRESSES)
    return f" {{{{{{bt:{source.choice(NUMBERS[:6])}:{address}}}}}}}"


def plain_locations(source: random.Random) -> str:
    count = source.randrange(4)
    addresses = (source.choice(PLAIN_ADDRESSES) for _ in range(count))
    return " from ".join(
        f"{{{{{{pc:{address}{source.choice(KINDS[:7])}}}}}}}" for address in addresses
    )


def log(seed: int) -> bytes:
    source = random.Random(seed)  # noqa: S311
    make = (line, plain_frame, plain_locations)[seed % 3]
    lines = "\n".join(make(source) for _ in range(200))
    ends = "\n" * source.randrange(2)
    return CONTEXT + MORE + (lines + ends).encode("latin-1")


def filtered(
    text: bytes, style: str, options: SymbolOptions, settings: FilterSettings
) -> tuple[bytes, bytes, list[str]]:
    told: list[bytes] = []
    made = MarkupFilter(
        Modules(), style=style, symbols=options, settings=settings, tell=told.append
    )
    shown = made.feed(text) + made.finish()
    return shown, b"".join(told), sorted(made.summary())


OPTIONS = (
    SymbolOptions(),
    SymbolOptions(demangle=False, basenames=True),
    SymbolOptions(inlines=False),
    SymbolOptions(functions="none"),
    SymbolOptions(functions="short"),
)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(60))
def test_a_run_is_answered_as_its_lines_are(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = random.Random(seed)  # noqa: S311
    style, options = source.choice(["spec", "llvm", "fuchsia"]), source.choice(OPTIONS)
    limit, colour = source.choice([1 << 20, 200]), source.choice([False, True])
    settings = FilterSettings(line_limit=limit, colour=colour)
    ran = filtered(log(seed), style, options, settings)
    monkeypatch.setattr(LineFilter, "filter_run", lambda *_arguments: 0)
    assert ran == filtered(log(seed), style, options, settings)


def refuse(_self: object, found: bytes) -> None:
    raise AssertionError(found)


PLAIN = (
    "  {{{bt:0:0x1019}}} x\r",
    "{{{bt:12:0x1041:pc}}}",
    "{{{bt:1:0x1090:ra}}}",
    "a {{{pc:0x1011}}} b {{{pc:0x1019:ra}}} {{{pc:0x1041:pc}}}",
    "{{{pc:0x1090}}}",
)


FUCHSIA = (
    "{{{bt:1:0x1011:pc:sp 0x10}}}",
    "x" * 4093 + "{{{bt:1:0x1019}}} xx\r\r",
    "x" * 4093 + "{{{bt:1:0x1019}}} xxx\r\r",
)


@pytest.mark.parametrize("text", [*PLAIN, *FUCHSIA])
@pytest.mark.parametrize(
    ("style", "settings"),
    [
        ("fuchsia", FilterSettings()),
        ("llvm", FilterSettings(colour=True)),
        ("spec", FilterSettings()),
    ],
)
def test_plain_lines_are_answered_as_runs(
    text: str, style: str, settings: FilterSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    if ":sp" in text and style != "fuchsia":
        pytest.skip("messages are of that style only")
    lines = f"text\n{text}\n".encode()
    one = MarkupFilter(Modules(), style=style, settings=settings)
    one.feed(CONTEXT + b"text\n")
    with monkeypatch.context() as patched:
        patched.setattr(LineFilter, "filter_run", lambda *_arguments: 0)
        expected = one.feed(lines)
    many = MarkupFilter(Modules(), style=style, settings=settings)
    many.feed(CONTEXT + b"text\n")
    monkeypatch.setattr(LineFilter, "filter", refuse)
    assert many.feed(lines * 100) == expected * 100


def test_a_module_without_symbols_ends_no_run(monkeypatch: pytest.MonkeyPatch) -> None:
    made = MarkupFilter(Modules())
    made.feed(MORE.partition(b"{{{mmap:0x2000")[0] + b"text\n")
    monkeypatch.setattr(LineFilter, "filter", refuse)
    shown = made.feed(b"{{{bt:0:0x3001:pc}}}\n" * 3)
    assert shown == b"    #0    0x0000000000003001 (b.o+0x1)\n" * 3
    assert len(made.summary()) == 1
    assert made.summary()[0].startswith("3 unresolved in 'b.o'")


class Nameless:
    """Opens a module with an inlined call that has no name, and a file without one."""

    def __init__(self) -> None:
        call = gsym.InlineInfo("", "/src/b.c", 4, (gsym.Range(0x10, 0x18),))
        root = gsym.InlineInfo("f", "", 0, (gsym.Range(0x10, 0x30),), (call,))
        lines = (gsym.LineEntry(0x10, "/src/a.c", 3),)
        with gsym.Creator(uuid=BUILD_ID) as creator:
            creator.add(gsym.FunctionInfo(0x10, 0x20, "f", lines, root))
            lines = (gsym.LineEntry(0x40, "", 3),)
            creator.add(gsym.FunctionInfo(0x40, 0x20, "g", lines))
            self._module = OpenModule(None, gsym.Reader(creator.to_bytes()))

    def open(self, _key: ModuleKey) -> OpenModule:
        return self._module


@pytest.mark.parametrize(
    ("style", "colour"), [("spec", False), ("llvm", True), ("fuchsia", False)]
)
def test_unnamed_calls_look_the_same_in_a_run(
    style: str,
    colour: bool,  # noqa: FBT001 - a parameter of the test
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    text = CONTEXT + b"".join(
        b"{{{bt:0:%#x:pc}}}\n{{{pc:%#x:pc}}}\n" % (address, address)
        for address in (0x1011, 0x1041, 0x1071)
    )
    settings = FilterSettings(colour=colour)
    ran = MarkupFilter(Nameless(), style=style, settings=settings).feed(text)
    assert ran.count(b"/src/") == 3
    monkeypatch.setattr(LineFilter, "filter_run", lambda *_arguments: 0)
    assert ran == MarkupFilter(Nameless(), style=style, settings=settings).feed(text)


def loaded(numbers: range) -> bytes:
    """Modules 0x1000 bytes apart, which are all the same one."""
    return b"".join(
        b"{{{module:%d:%d.o:elf:abcdef}}}\n{{{mmap:%#x:0x100:load:%d:rx:0}}}\n"
        % (number, number, 0x10000 + 0x1000 * number, number)
        for number in numbers
    )


def frames_in_turn(count: int) -> bytes:
    return b"".join(
        b"{{{bt:%d:%#x}}}\n" % (number, 0x10019 + 0x1000 * number)
        for number in range(count)
    )


def test_frames_of_several_modules_are_one_run(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made = MarkupFilter(Modules())
    made.feed(loaded(range(3)))
    expected = made.feed(frames_in_turn(3)).partition(b"]]]\n")[2]
    assert expected.count(b" second /src/b.h:8 (2.o+0x18)\n") == 1
    runs: list[int] = []
    whole = LineFilter.filter_run

    def run(
        lines: LineFilter,
        text: memoryview,
        element: int,
        number: int,
        process: bytes | None,
    ) -> int:
        runs.append(whole(lines, text, element, number, process))
        return runs[-1]

    monkeypatch.setattr(LineFilter, "filter_run", run)
    monkeypatch.setattr(LineFilter, "filter", refuse)
    assert made.feed(frames_in_turn(3) * 100) == expected * 100
    assert runs == [len(frames_in_turn(3)) * 100]


def test_run_of_many_modules_is_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    count = 65  # one more than are remembered
    text = loaded(range(count)) + frames_in_turn(count) * 5
    options, settings = SymbolOptions(), FilterSettings()
    ran = filtered(text, "spec", options, settings)
    monkeypatch.setattr(LineFilter, "filter_run", lambda *_arguments: 0)
    assert ran == filtered(text, "spec", options, settings)


def test_large_names_are_forgotten(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made = MarkupFilter(Modules())
    made.feed(loaded(range(2)))
    expected = made.feed(frames_in_turn(2)).partition(b"]]]\n")[2]
    monkeypatch.setattr(line_runs, "_MAX_NAME_BYTES", 0)
    assert b"".join(made.feed(frames_in_turn(2)) for _ in range(3)) == expected * 3


@pytest.mark.parametrize("seed", range(3))
def test_runs_are_written_as_they_come(seed: int) -> None:
    text, written = log(seed), io.BytesIO()
    made = MarkupFilter(Modules(), output=Output(written.write))
    for line in text.splitlines(keepends=True):
        written.write(made.feed(line))
    written.write(made.finish())
    collected = MarkupFilter(Modules())
    assert written.getvalue() == collected.feed(text) + collected.finish()


def test_a_large_run_is_not_kept() -> None:
    frame = b"    #1    0x0000000000001041 bare (a.o+0x40)\n"
    count = (1 << 20) // len(frame) + 1
    written = io.BytesIO()
    made = MarkupFilter(Modules(), output=Output(written.write))
    made.feed(CONTEXT + b"text\n")
    element = b"{{{bt:1:0x1041}}}\n"
    assert made.feed(b"{{{data:0x1018}}}\n" + element) == b"first()+0x8\n" + frame
    shown = made.feed(b"{{{data:0x1018}}}\n" + element * count + b"text\n")
    assert written.getvalue() + shown == b"first()+0x8\n" + frame * count + b"text\n"
    assert len(shown) < 1 << 16


def test_engine_answers_plain_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    frames = b"text\n  {{{bt:0:0x1011:pc}}} x\r\n{{{bt:1:0x1041}}}\n" * 20_000
    made = MarkupFilter(Modules())
    made.feed(CONTEXT + b"text\n")
    monkeypatch.setattr(LineFilter, "filter", refuse)
    shown = made.feed(frames)
    assert shown == (
        b"text\n      #0    0x0000000000001011 first() /src/a.c:3 (a.o+0x11) x\r\n"
        b"    #1    0x0000000000001041 bare (a.o+0x40)\n" * 20_000
    )


class ManyFunctions:
    """Opens a module of functions with long names."""

    COUNT, SIZE = 3000, 4000

    def __init__(self) -> None:
        with gsym.Creator(uuid=BUILD_ID) as creator:
            for number in range(self.COUNT):
                name = f"{number}{'x' * self.SIZE}"
                creator.add(gsym.FunctionInfo(0x10 * number, 0x10, name))
            self._module = OpenModule(None, gsym.Reader(creator.to_bytes()))

    def open(self, _key: ModuleKey) -> OpenModule:
        return self._module

    @classmethod
    def frames(cls, seed: int) -> tuple[bytes, bytes]:
        """Lines of a log, and what becomes of them."""
        source = random.Random(seed)  # noqa: S311
        lines, shown = [], []
        for number in range(2 * cls.COUNT):
            most = source.choice((10, 100, cls.COUNT - 1))
            function, depth = source.randrange(most), source.randrange(120_000)
            name = b"%d%s" % (function, b"x" * cls.SIZE)
            if number % 3 == 0:
                lines.append(b"{{{pc:%#x:pc}}}\n" % (0x1000 + 0x10 * function))
                shown.append(name + b"\n")
                continue
            kind, less = source.choice(((b"pc", 0), (b"ra", 1)))
            address = 0x10 * function + less
            lines.append(b"{{{bt:%d:%#x:%s}}}\n" % (depth, 0x1000 + address, kind))
            place = address - less
            shown.append(
                b"%6s   " % (b"#%d" % depth)
                + b" 0x%016x %s (a.o+%#x)\n" % (0x1000 + address, name, place)
            )
        return b"".join(lines), b"".join(shown)


def test_many_long_names_are_right(monkeypatch: pytest.MonkeyPatch) -> None:
    made = MarkupFilter(ManyFunctions())
    made.feed(CONTEXT.replace(b"0x100:", b"0x100000:") + b"text\n")
    monkeypatch.setattr(LineFilter, "filter", refuse)
    for seed in range(4):
        lines, shown = ManyFunctions.frames(seed)
        assert made.feed(lines) == shown


LARGE_FUNCTIONS = 200


def large_file() -> bytes:
    """Functions with records of 100,000 bytes."""
    with gsym.Creator(uuid=BUILD_ID) as creator:
        for number in range(LARGE_FUNCTIONS):
            more = {1000: bytes(100_000)}
            creator.add(gsym.FunctionInfo(number, 1, f"f{number}", extra=more))
        return creator.to_bytes()


def large_frames() -> tuple[bytes, bytes]:
    """A frame of each function, and what becomes of it."""
    lines = [b"{{{bt:0:%#x}}}\n" % (0x1001 + at) for at in range(LARGE_FUNCTIONS)]
    shown = [
        b"    #0    0x%016x f%d (a.o+%#x)\n" % (0x1001 + at, at, at)
        for at in range(LARGE_FUNCTIONS)
    ]
    return b"".join(lines), b"".join(shown)


class Large:
    """Opens one module."""

    def __init__(self, reader: gsym.Reader) -> None:
        self._module = OpenModule(None, reader)

    def open(self, _key: ModuleKey) -> OpenModule:
        return self._module


def resident(path: Path) -> int:
    """Bytes of a mapped file that are in the memory of this process."""
    counted, is_counted = 0, False
    for row in Path("/proc/self/smaps").read_text(encoding="utf-8").splitlines():
        name, *words = row.split()
        if not name.endswith(":"):
            is_counted = row.endswith(str(path))
        elif is_counted and name == "Rss:":
            counted += 1024 * int(words[0])
    return counted


@pytest.mark.skipif(not Path("/proc/self/smaps").exists(), reason="needs Linux")
def test_records_that_were_passed_do_not_stay_in_memory(tmp_path: Path) -> None:
    path = tmp_path / "large.gsym"
    path.write_bytes(large_file())
    lines, shown = large_frames()
    with gsym.open(path) as reader:
        made = MarkupFilter(Large(reader))
        made.feed(CONTEXT + b"text\n")
        for _ in range(3):
            assert made.feed(lines) == shown
        assert 0 < resident(path) < path.stat().st_size // 2


def test_anonymous_memory_stays() -> None:
    whole = large_file()
    lines, shown = large_frames()
    with mmap(-1, len(whole)) as memory:
        memory[:] = whole
        with gsym.Reader(memory) as reader:
            made = MarkupFilter(Large(reader))
            made.feed(CONTEXT + b"text\n")
            assert [made.feed(lines) for _ in range(3)] == [shown] * 3
        assert memory[:] == whole
        del made, reader
        gc.collect()


@pytest.mark.parametrize("style", ["spec", "llvm", "fuchsia"])
def test_a_later_mmap_replaces_an_earlier_one_in_a_run(style: str) -> None:
    made = MarkupFilter(Modules(), style=style)
    element = b"{{{bt:0:0x2001:pc}}} {{{pc:0x2001:pc}}}\n"
    lines = element.replace(b" ", b"\n") * 200
    shown = []
    for _ in range(2):
        for address in (b"0x10", b"0x40", b"0x90"):
            made.feed(b"{{{reset}}}\n" + CONTEXT)
            made.feed(b"{{{mmap:0x2000:0x40:load:0:rx:%s}}}\ntext\n" % address)
            shown.append(made.feed(lines))
    assert [text.count(b"first()") for text in shown] == [400, 0, 0, 400, 0, 0]
    assert [text.count(b"bare") for text in shown] == [0, 400, 0, 0, 400, 0]
    assert shown[:3] == shown[3:]


def test_another_mmap_is_heeded() -> None:
    made = MarkupFilter(Modules())
    frame = b"{{{bt:0:0x2001:pc}}}\n"
    shown = made.feed(CONTEXT + b"{{{bt:0:0x1011:pc}}}\n" + frame)
    assert b"[[[bt:0:0x2001:pc]]]" in shown
    shown = made.feed(b"{{{mmap:0x2000:0x40:load:0:rx:0x10}}}\n" + frame * 2)
    assert shown.count(b" first() /src/a.c:3 (a.o+0x11)\n") == 2
    assert b"[[[bt:0:0x2001:pc]]]" in made.feed(b"{{{reset}}}\n" + frame)


# ---- the engine by itself


class Engine:
    def __init__(self, line_limit: int = 1 << 20) -> None:
        space = AddressSpace()
        space.add_module(Module(0, "a.o", b"\xab\xcd\xef"))
        space.add_segment(Mmap(0x1000, 0x100, 0, "rx", 0))
        self._output = Output()
        self._runs = LineRuns(
            FilterSettings(line_limit=line_limit),
            Symbols(Modules(), SymbolOptions()),
            space,
            self._output,
            lambda *_unknown: None,
        )

    def __call__(self, lines: bytes | memoryview) -> tuple[int, bytes]:
        used = self._runs.answer(memoryview(lines), 1, b"", None)
        return used, self._output.take()


@pytest.fixture(scope="module")
def memory() -> GuardedMemory:
    return GuardedMemory(1 << 16)


@given(st.integers(0, 1 << 16), st.integers(0, 400))
def test_no_byte_behind_the_lines_is_read(
    memory: GuardedMemory, seed: int, size: int
) -> None:
    lines = log(seed)[-400:][:size]
    held = memory.hold(lines)
    assert Engine()(held)[0] <= len(lines)


@given(st.binary(max_size=80), st.binary(max_size=40))
def test_any_bytes_are_answered_or_left(
    memory: GuardedMemory, front: bytes, behind: bytes
) -> None:
    lines = front + b"{{{bt:0:0x1011:pc" + behind + b"\n"
    used, shown = Engine()(memory.hold(lines))
    assert used <= len(lines)
    assert used == 0 or lines[used - 1 : used] == b"\n"
    assert b"{{{bt" not in shown


@pytest.mark.parametrize("limit", [22, 23, 24])
def test_too_long_line_is_left_by_the_engine(limit: int) -> None:
    lines = b"x {{{bt:0:0x1041:pc}}}\n"
    assert len(lines) == 23
    assert bool(Engine(limit)(lines)[0]) == (limit >= 23)
