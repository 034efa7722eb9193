"""Code that processes made while they ran has names from perf-PID.map and jitdumps."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from gsym.profiles.opening import ProfileOptions
from gsym.profiles.perf_data import read_perf_data
from tests.inputs import perf_data as p

if TYPE_CHECKING:
    from typing import Literal

    from gsym.profiles.model import Profile

pytestmark = pytest.mark.no_engine

PROCESS = 2_147_483_000  # no machine has one of this number
MAP = Path(f"/tmp/perf-{PROCESS}.map")  # noqa: S108 - as its writers name it
START = 0x7F0000001000
both_orders = pytest.mark.parametrize("byteorder", ["little", "big"])


def recorded(folder: Path, perf: p.PerfFile, *paths: str, clock: int = 1) -> Profile:
    """Samples at 1,000 and 3,000 of a function in anonymous memory and its caller."""
    chain = (p.USER_MARKER, START + 0x10, START + 0x120)
    records = [perf.mapping(PROCESS, START, 0x1000, "//anon")]
    for number, path in enumerate(paths):
        place = 0x7E0000000000 + (number << 20)
        records.append(perf.mapping(PROCESS, place, 0x1000, path))
    records += [perf.sample(time, chain, PROCESS) for time in (1000, 3000)]
    made = folder / "perf.data"
    made.write_bytes(perf.file(b"".join(records), (p.Event(clock=clock),)))
    return read_perf_data(str(made), ProfileOptions())


def names(profile: Profile) -> list[list[str]]:
    return [
        [each.name for each in profile.frames_of(sample.stack)]
        for sample in profile.samples
    ]


def test_a_text_names_functions_and_the_last_one_counts(tmp_path: Path) -> None:
    MAP.write_text(
        f"{START:x} 100 old\n{START:x} 40 void app::work(int) x\n"
        f"0x{START + 0x100:x} 0x20 main\nwhat is this\n"
    )
    try:
        os.utime(MAP, (1, 1))
        profile = recorded(tmp_path, p.PerfFile())
        os.utime(MAP, None)
        later = recorded(tmp_path, p.PerfFile())
        os.utime(tmp_path / "perf.data", (1, 1))
        unsure = read_perf_data(str(tmp_path / "perf.data"), ProfileOptions()).unsure
    finally:
        MAP.unlink()
    # A return address behind the last byte is of the call before it.
    assert names(profile) == names(later) == [["void app::work(int) x", "main"]] * 2
    assert profile.mappings[profile.locations[0].mapping or 0].path == str(MAP)
    assert profile.losses == {"lines of perf-PID.map that are not understood": 1}
    assert not profile.unsure
    assert [each.reason for each in unsure] == [
        "it is newer than the profile, and may be of another process"
    ]


class Jitdump:
    """The parts of a jitdump."""

    def __init__(self, perf: p.PerfFile) -> None:
        self.perf = perf
        magic = b"DTiJ" if perf.is_little else b"JiTD"
        self.head = magic + perf.pack("5IQQ", 1, 40, 62, 0, 1, 5, 0)

    def record(self, kind: int, time: int, body: bytes) -> bytes:
        return self.perf.pack("IIQ", kind, 16 + len(body), time) + body

    def load(self, time: int, start: int, number: int, name: str) -> bytes:
        numbers = (PROCESS, PROCESS, start, start, 0x100, number)
        head = self.perf.pack("IIQQQQ", *numbers)
        return self.record(0, time, head + name.encode() + b"\0" + bytes(0x100))

    def lines(self, time: int, start: int, *lines: tuple[int, int, bytes]) -> bytes:
        """Of a function: offsets, lines and paths."""
        body = self.perf.pack("QQ", start, len(lines))
        for offset, line, path in lines:
            body += self.perf.pack("QII", start + offset, line, 0) + path + b"\0"
        return self.record(2, time, body + bytes(-len(body) % 8))


def jitdump(perf: p.PerfFile) -> bytes:
    """Two functions; the first is replaced at 2,000, with lines of its source."""
    made = Jitdump(perf)
    move = perf.pack("IIQ4Q", 1, 1, 0, 0x1000, START + 0x100, 0x100, 2)
    return (
        made.head
        + made.load(500, START, 1, "first")
        + made.load(500, 0x1000, 2, "caller")
        + made.record(1, 600, move)
        + made.lines(2000, START, (8, 12, b"app.js"), (32, 14, b"\xff"))
        + made.load(2000, START, 3, "second")
    )


@pytest.mark.parametrize(
    "name", ["jit-77.dump", "jit-11982-11952.dump", "jit-11982-11952-sVqxb1.dump"]
)
@both_orders
def test_a_jitdump_names_functions_from_their_times_on(
    tmp_path: Path, byteorder: Literal["little", "big"], name: str
) -> None:
    perf, path = p.PerfFile(byteorder), tmp_path / name
    path.write_bytes(jitdump(perf))
    os.utime(path, (1, 1))
    profile = recorded(tmp_path, perf, str(path))
    assert names(profile) == [["first", "caller"], ["second", "caller"]]
    (frame, _) = profile.frames_of(profile.samples[1].stack)
    assert (frame.path, frame.line) == ("app.js", 12)
    assert profile.mappings[profile.locations[0].mapping or 0].path == str(path)
    # Times of another clock say nothing.
    other = recorded(tmp_path, perf, str(path), clock=0)
    assert names(other) == [["second", "caller"]] * 2


def test_a_damaged_jitdump_is_counted(tmp_path: Path) -> None:
    perf, path = p.PerfFile(), tmp_path / "jit-77.dump"
    path.write_bytes(jitdump(perf)[:-4])  # the last record is cut
    assert names(recorded(tmp_path, perf, str(path)))[1] == ["first", "caller"]
    path.write_bytes(b"what is this?" * 9)
    losses = recorded(tmp_path, perf, str(path)).losses
    assert losses == {"jitdumps that are damaged": 1}


# As node 24.4.1 writes them, with --perf-prof.
UTIL = b"node:internal/util"
WEAK_REFERENCE = ((64, 889, UTIL), (78, 890, UTIL), (100, 891, UTIL))
# As Erlang 25.2.3 writes them, with +JPperf true.
FIB = ((-50, 3, b"w.erl"), (64, 4, b"w.erl"), (0xF8, 0, b""))


@pytest.mark.parametrize(
    ("caller", "places"),
    [
        (WEAK_REFERENCE, [("node:internal/util", 890)] * 2),
        (FIB, [("", 0), ("w.erl", 3)]),
    ],
)
def test_lines_of_v8_are_behind_their_code_by_a_header(
    tmp_path: Path,
    caller: tuple[tuple[int, int, bytes], ...],
    places: list[tuple[str, int]],
) -> None:
    made, path = Jitdump(p.PerfFile()), tmp_path / "jit-77.dump"
    path.write_bytes(
        made.head
        + made.lines(0, START, *WEAK_REFERENCE)
        + made.load(0, START, 1, "JS:^WeakReference")
        + made.lines(0, START + 0x110, *caller)
        + made.load(0, START + 0x110, 2, "caller")
    )
    profile = recorded(tmp_path, made.perf, str(path))
    frames = profile.frames_of(profile.samples[0].stack)
    assert [(frame.path, frame.line) for frame in frames] == places


def test_lines_that_do_not_fill_their_record_are_none(tmp_path: Path) -> None:
    made, path = Jitdump(p.PerfFile()), tmp_path / "jit-77.dump"
    name = b"\xac\x9f\x03\0\0\0\0\0k\x87`&\x99\xbc\xbe\x18.js"
    for count in range(1, 12):
        lines = made.lines(0, START, *((at, 1, name) for at in range(count)))
        path.write_bytes(made.head + lines + made.load(0, START, 1, "JS:^fib"))
        profile = recorded(tmp_path, made.perf, str(path))
        (frame, *_) = profile.frames_of(profile.samples[0].stack)
        assert (frame.name, frame.path, frame.line) == ("JS:^fib", "", 0)
