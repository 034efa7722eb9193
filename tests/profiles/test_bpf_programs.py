"""Programs of BPF in profiles: lines that perf.data has, names that perf prints."""

from __future__ import annotations

import random
from struct import pack
from typing import TYPE_CHECKING, Literal

import pytest

from gsym.cli.main import main
from gsym.profiles.opening import read_profile
from gsym.profiles.perf_features import BPF_PROGRAMS, BPF_TYPES
from tests.inputs import perf_data as p

if TYPE_CHECKING:
    from pathlib import Path

    from gsym.profiles.model import Profile

CODE = 0xFFFFFFFFC0001000
TAGS = bytes.fromhex("6deef7357e7b45300123456789abcdef")
NAMES = ("bpf_prog_6deef7357e7b4530_on_switch", "bpf_prog_0123456789abcdef_count")
STRINGS = b"\0on_switch\0count\0/src/prog.bpf.c\0map\0"
PATH = STRINGS.index(b"/src")
# Of the two functions: where the code of a line starts, and the line.
LINES = ((0, 10), (0x20, 12), (0x40, 30), (0x48, 31))


def btf(order: str) -> bytes:
    def kind(name: bytes, number: int, count: int = 0, rest: bytes = b"") -> bytes:
        at = STRINGS.index(name) if name else 0
        return pack(f"{order}III", at, number << 24 | count, 0) + rest

    types = (
        kind(b"", 1, rest=bytes(4)),
        kind(b"map", 4, 2, bytes(24)),
        kind(b"", 13, 1, bytes(8)),
        kind(b"on_switch", 12),
        kind(b"count", 12, 1),
    )
    joined = b"".join(types)
    sizes = 0, len(joined), len(joined), len(STRINGS)
    header = pack(f"{order}HBBIIIII", 0xEB9F, 1, 0, 24, *sizes)
    return header + joined + STRINGS


def features(order: str, *, has_types: bool = True) -> dict[int, bytes]:
    arrays = {
        3: pack(f"{order}QQ", CODE, CODE + 0x40),
        4: pack(f"{order}II", 0x40, 0x10),
        5: pack(f"{order}IIII", 0, 4, 9, 5),
        6: b"".join(
            pack(f"{order}IIII", at, PATH, 0, line << 10 | 5)
            for at, (_, line) in enumerate(LINES)
        ),
        7: pack(f"{order}4Q", *(CODE + at for at, _ in LINES)),
        8: TAGS,
    }
    places, data = {}, b""
    for number, each in arrays.items():
        places[number] = len(data)
        data += each.ljust(-(-len(each) // 8) * 8, b"\0")
    info = pack(f"{order}II8s", 26, 3, TAGS[:8]).ljust(64, b"\0") + b"on_switch"
    info = info.ljust(104, b"\0") + pack(f"{order}IIQQ", 2, 2, places[3], places[4])
    info += pack(f"{order}IIQII", 1, 8, places[5], 2, 4)
    info += pack(f"{order}QQIIIIQ", places[6], places[7], 4, 16, 8, 2, places[8])
    info = info.ljust(232, b"\0")
    bits = sum(1 << number for number in arrays)
    programs = pack(f"{order}IIIQ", 1, len(info), len(data), bits) + info + data
    found = {BPF_PROGRAMS: programs}
    if has_types:
        types = btf(order)
        found[BPF_TYPES] = pack(f"{order}III", 1, 1, len(types)) + types
    return found


def recording(
    others: dict[int, bytes], byteorder: Literal["little", "big"] = "little"
) -> bytes:
    perf = p.PerfFile(byteorder)
    kernel = perf.mapping(-1, 0xFFFFFFFF81000000, 0x7E000000, "[kernel.kallsyms]_text")
    chain = 2**64 - 128, CODE + 0x24, CODE + 0x44, CODE + 0x48, CODE + 0x60
    return perf.file(kernel + perf.sample(1000, chain), others=others)


def shown(profile: Profile) -> list[tuple[str, str, int | None]]:
    return [
        (frame.name, frame.path, frame.line)
        for location in profile.locations
        for frame in location.frames
    ]


@pytest.mark.parametrize("byteorder", ["little", "big"])
def test_lines_of_compiled_programs_are_in_the_recording(
    byteorder: Literal["little", "big"], tmp_path: Path
) -> None:
    path = tmp_path / "perf.data"
    order = "<" if byteorder == "little" else ">"
    path.write_bytes(recording(features(order), byteorder))
    profile = read_profile(path)
    assert shown(profile) == [
        (NAMES[0], "/src/prog.bpf.c", 12),
        (NAMES[1], "/src/prog.bpf.c", 30),
        (NAMES[1], "/src/prog.bpf.c", 30),  # of the call before a return address
    ]
    assert NAMES[0] in {mapping.path for mapping in profile.mappings}
    assert not profile.losses


def test_without_types_there_are_tags(tmp_path: Path) -> None:
    path = tmp_path / "perf.data"
    path.write_bytes(recording(features("<", has_types=False)))
    assert [name for name, _, _ in shown(read_profile(path))] == [
        *("bpf_prog_6deef7357e7b4530", "bpf_prog_0123456789abcdef"),
        "bpf_prog_0123456789abcdef",
    ]


def test_damaged_programs_are_counted(tmp_path: Path) -> None:
    path = tmp_path / "perf.data"
    chance = random.Random(1)  # noqa: S311 - no secret
    outcomes = set()
    for _ in range(300):
        others = features("<")
        number = chance.choice((BPF_PROGRAMS, BPF_TYPES))
        damaged = bytearray(others[number])
        damaged[chance.randrange(len(damaged))] = chance.choice((0, 0x7F, 0xFF))
        others[number] = bytes(damaged[: chance.choice((len(damaged), 60))])
        path.write_bytes(recording(others))
        profile = read_profile(path)
        outcomes.add((len(shown(profile)), bool(profile.losses)))
    assert {has_loss for _, has_loss in outcomes} == {True, False}
    assert max(count for count, _ in outcomes) == len(LINES) - 1


@pytest.mark.parametrize(("size", "shown_size"), [(4096, 4096), (4097, 4096)])
def test_a_path_has_at_most_4_kib(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int, shown_size: int
) -> None:
    long = STRINGS.replace(b"/src/prog.bpf.c", b"/" * size)
    monkeypatch.setitem(globals(), "STRINGS", long)
    path = tmp_path / "perf.data"
    path.write_bytes(recording(features("<")))
    assert {len(each) for _, each, _ in shown(read_profile(path))} == {shown_size}


# In the info of a program: the size of a line, the offsets of arrays.
@pytest.mark.parametrize(
    ("at", "value"),
    [
        *((172, pack("<I", 0)), (176, pack("<I", 0)), (172, pack("<I", 2**32 - 1))),
        *((at, pack("<Q", 2**64 - 1)) for at in (112, 120, 136, 152, 160, 184)),
        (148, pack("<I", 2**32 - 1)),
    ],
)
def test_sizes_and_places_of_arrays_are_checked(
    tmp_path: Path, at: int, value: bytes
) -> None:
    others = features("<")
    start = 4 + 4 + 4 + 8 + at
    programs = bytearray(others[BPF_PROGRAMS])
    programs[start : start + len(value)] = value
    path = tmp_path / "perf.data"
    path.write_bytes(recording({**others, BPF_PROGRAMS: bytes(programs)}))
    profile = read_profile(path)
    assert profile.losses or not any(line for _, _, line in shown(profile))


SCRIPT = f"""\
app  1234 [000] 100.000001:     250000 cpu-clock:
\tffffffffc0123456 {NAMES[0]}+0x3a ({NAMES[0]})
\tffffffffc0123556 bpf_prog_0123456789abcdef_F+0x12 ([kernel.kallsyms])
\tffffffffc0123999 bpf_trampoline_6442476541+0x99 ([kernel.kallsyms])
\tffffffff81012345 trace_call_bpf+0x55 ([kernel.kallsyms])

"""


def test_names_that_perf_prints_are_kept(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """No file has the code of such a program, whose address is of this boot alone."""
    path = tmp_path / "app.txt"
    path.write_text(SCRIPT)
    folded = tmp_path / "app.folded"
    command = ["trace", "convert", str(path), "--to", "collapsed", "-o", str(folded)]
    assert main(command) == 0
    capsys.readouterr()
    stack = folded.read_text().rpartition(" ")[0].split(";")
    assert stack == [
        *("trace_call_bpf", "bpf_trampoline_6442476541"),
        *("bpf_prog_0123456789abcdef_F", NAMES[0]),
    ]
    assert main(["symbolicate", str(path)]) in {0, 1, 3}
    printed = capsys.readouterr()
    assert f"{NAMES[0]}+0x3a" in printed.out
    assert f"no symbols: {NAMES[0]}" in printed.err
