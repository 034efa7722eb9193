"""The link-time address of a place in a file, from the segments of the binary."""

from __future__ import annotations

import os
import shutil
import struct
import subprocess
from typing import TYPE_CHECKING

import pytest

import gsym
from gsym.containers.headers import Segment, file_address, load_segments
from gsym.modules.finder import find_in
from gsym.profiles.binaries import (
    Binaries,
    PathModule,
    module_at,
)
from gsym.profiles.opening import read_profile
from gsym.profiles.pprof import pprof_file
from gsym.profiles.symbolizing import GUESSED, symbolize
from tests.conftest import find_peer
from tests.profiles.loaded_program import CHAIN, build, frames, profile_of, run
from tests.profiles.symbols import OneModule

if TYPE_CHECKING:
    from pathlib import Path

    from gsym.profiles.model import Profile

pytestmark = pytest.mark.no_engine

# As lld lays a program out: a page between segments in memory, none in the file.
SEGMENTS = (
    Segment(0, 0x6D8, 0, is_executable=False),
    Segment(0x6E0, 0x220, 0x16E0, is_executable=True),
    Segment(0x900, 0x208, 0x2900, is_executable=False),
)


@pytest.mark.parametrize(
    ("offset", "address"),
    [
        (0x6D7, 0x6D7),
        (0x6D8, None),
        (0x6DF, None),
        (0x6E0, 0x16E0),
        (0x8FF, 0x18FF),
        (0x900, 0x2900),
        (0xB08, None),
    ],
)
def test_segments_that_share_a_page_have_their_own_bytes(
    offset: int, address: int | None
) -> None:
    assert file_address(offset, SEGMENTS) == address


def test_code_wins_where_segments_overlap() -> None:
    data = Segment(0, 0x2000, 0x5000, is_executable=False)
    code = Segment(0x1000, 0x1000, 0x9000, is_executable=True)
    assert file_address(0x1800, (data, code)) == 0x9800


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A position-independent program that lld linked."""
    compiler = find_peer("clang-19")
    if os.uname().machine != "x86_64":
        pytest.skip("the program asks an x86-64 for its program counter")
    find_peer("ld.lld-19")
    folder = tmp_path_factory.mktemp("lld")
    made = build(folder, compiler, "-fuse-ld=lld-19", "-pie", "-fPIE")
    gsym.convert(made, folder / "chain.gsym")
    return made


def seen_by(program: Path, path: str | None = None) -> Profile:
    return profile_of(
        run(program),
        str(program) if path is None else path,
        module_at(str(program), {}).build_id,
    )


def test_a_program_of_lld_is_symbolized_by_its_segments(program: Path) -> None:
    profile = seen_by(program)
    modules = OneModule(program.with_suffix(".gsym"))
    symbolize(profile, modules)
    assert frames(profile) == CHAIN
    assert not profile.losses


def test_file_offsets_alone_are_guessed(program: Path) -> None:
    profile = seen_by(program, "/nowhere/chain")
    symbolize(profile, OneModule(program.with_suffix(".gsym")), Binaries(find_in(())))
    assert frames(profile) != CHAIN
    assert profile.losses == {GUESSED: 1}


@pytest.mark.parametrize("place", ["chain", ".build-id/{0}/{1}.debug"])
def test_a_binary_is_found_in_a_folder(
    program: Path, tmp_path: Path, place: str
) -> None:
    digits = module_at(str(program), {}).build_id
    kept = tmp_path / place.format(digits[:2], digits[2:])
    kept.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(program, kept)
    profile = seen_by(program, "/nowhere/chain")
    binaries = Binaries(find_in([str(tmp_path)]))
    symbolize(profile, OneModule(program.with_suffix(".gsym")), binaries)
    assert frames(profile) == CHAIN


def test_a_debug_file_is_sufficient(
    program: Path, tmp_path: Path, objcopy: str
) -> None:
    subprocess.run(
        [objcopy, "--only-keep-debug", program, tmp_path / "chain.debug"],
        check=True,
        capture_output=True,
    )
    profile = seen_by(program, "/nowhere/chain")
    binaries = Binaries(find_in([str(tmp_path)]))
    symbolize(profile, OneModule(program.with_suffix(".gsym")), binaries)
    assert frames(profile) == CHAIN


def test_a_debug_file_without_places_of_code_is_passed_over(
    program: Path, tmp_path: Path
) -> None:
    data = bytearray(program.read_bytes())
    start, size, count = struct.unpack_from("<Q14xHH", data, 32)
    for place in range(start, start + size * count, size):
        kind, flags, _, address = struct.unpack_from("<IIQQ", data, place)
        if kind == 1:  # PT_LOAD: nothing of it is here, where it was is not kept
            struct.pack_into("<Q", data, place + 8, address % 0x1000)
            struct.pack_into("<Q", data, place + 32, 0)
            if flags & 1:  # large code, so that others begin in its place
                struct.pack_into("<Q", data, place + 40, 0x2000)
    digits = module_at(str(program), {}).build_id
    kept = tmp_path / f".build-id/{digits[:2]}/{digits[2:]}.debug"
    kept.parent.mkdir(parents=True)
    kept.write_bytes(data)
    assert load_segments(memoryview(data), None) == ()
    profile = seen_by(program)
    binaries = Binaries(find_in((), [str(tmp_path)], at_paths=True))
    symbolize(profile, OneModule(program.with_suffix(".gsym")), binaries)
    assert frames(profile) == CHAIN
    assert GUESSED not in profile.losses


def test_a_binary_with_another_build_id_is_ignored(
    program: Path, tmp_path: Path
) -> None:
    shutil.copy(program, tmp_path / "chain")
    profile = seen_by(program, "/nowhere/chain")
    (mapping,) = profile.mappings
    binaries = Binaries(find_in([str(tmp_path)]))
    assert binaries.segments(mapping)
    assert not binaries.segments(mapping._replace(build_id="ab" * 20))
    assert not binaries.segments(mapping._replace(build_id=""))


def test_an_address_outside_of_all_segments_has_a_reason(program: Path) -> None:
    profile = seen_by(program)
    (first, *_) = profile.locations
    outside = profile.mappings[0].limit - 1
    profile.locations = [first._replace(address=outside)]
    symbolize(profile, OneModule(program.with_suffix(".gsym")))
    assert profile.locations[0].reason == "not in a segment of its binary"


def test_other_files_have_no_build_id(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("no binary")
    for path in (tmp_path / "text", tmp_path / "missing", tmp_path):
        assert module_at(str(path), {}) == PathModule()


def test_a_profile_without_ids_has_those_of_the_files_at_its_paths(
    program: Path, tmp_path: Path
) -> None:
    profile = seen_by(program)
    build_id = profile.mappings[0].build_id
    for index, mapping in enumerate(profile.mappings):
        profile.mappings[index] = mapping._replace(build_id="")
    path = tmp_path / "profile.pb.gz"
    path.write_bytes(pprof_file(profile))
    read = read_profile(path)
    assert [each.build_id for each in read.mappings] == [build_id]
    symbolize(read, OneModule(program.with_suffix(".gsym")))
    assert frames(read) == CHAIN
    assert [each.module for each in read.unsure] == [str(program)]
