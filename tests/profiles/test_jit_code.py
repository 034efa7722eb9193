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


def jitdump(perf: p.PerfFile) -> bytes:
    """Two functions; the first is replaced at 2,000, with lines of its source."""

    def record(kind: int, time: int, body: bytes) -> bytes:
        return perf.pack("IIQ", kind, 16 + len(body), time) + body

    def load(time: int, start: int, number: int, name: str) -> bytes:
        numbers = perf.pack("IIQQQQ", PROCESS, PROCESS, start, start, 0x100, number)
        return record(0, time, numbers + name.encode() + b"\0" + bytes(0x100))

    entries = perf.pack("QII", START + 8, 12, 0) + b"app.js\0"
    entries += perf.pack("QII", START + 32, 14, 0) + b"\xff\0"
    lines = record(2, 2000, perf.pack("QQ", START, 2) + entries)
    head = (b"DTiJ" if perf.is_little else b"JiTD") + perf.pack("5I", 1, 40, 62, 0, 1)
    return (
        head
        + perf.pack("QQ", 5, 0)
        + load(500, START, 1, "first")
        + load(500, 0x1000, 2, "caller")
        + record(1, 600, perf.pack("IIQ4Q", 1, 1, 0, 0x1000, START + 0x100, 0x100, 2))
        + lines
        + load(2000, START, 3, "second")
    )


@both_orders
def test_a_jitdump_names_functions_from_their_times_on(
    tmp_path: Path, byteorder: Literal["little", "big"]
) -> None:
    perf, path = p.PerfFile(byteorder), tmp_path / "jit-77.dump"
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
