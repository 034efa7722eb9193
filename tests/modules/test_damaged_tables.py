"""Damage inside a GSYM file: it costs the answers of its module, and is said."""

from __future__ import annotations

import json
import os
import re
import struct
from typing import TYPE_CHECKING

import pytest

import gsym
from gsym.cli.main import main
from gsym.markup.filter import MarkupFilter
from gsym.markup.symbols import SymbolOptions
from gsym.memory.report_modules import ReportModules
from gsym.modules.finder import find_in
from gsym.modules.symbolizer import Symbolizer
from gsym.profiles.model import Location, Mapping, Profile
from gsym.profiles.symbolizing import symbolize
from gsym.reports.log_stacks import LogStacks
from tests.markup_modules import Modules
from tests.store_modules import build_id, identity, write_gsym

if TYPE_CHECKING:
    from pathlib import Path
    from typing import Any

pytest.importorskip("msgspec")

from gsym.api.request import RequestLimits, read_v4, read_v5
from gsym.api.response import answer_v4, answer_v5
from gsym.api.symbolication import Symbolication

BAD, GOOD = identity(1), identity(2)
REPORT = """\
#0 0x1004 in ?? (/gone/lib1.so+0x1004) (BuildId: {})
#1 0x1008 in ?? (/gone/lib2.so+0x1008) (BuildId: {})
""".format(*(build_id(number).hex() for number in (1, 2)))


def no_offsets(data: bytearray, offsets: int, count: int) -> None:
    """Let all entries of the address table point outside the file."""
    struct.pack_into(f"<{count}I", data, offsets, *[len(data) - 1] * count)


def cut_records(data: bytearray, offsets: int, count: int) -> None:
    """Let the first part of each record be longer than the file."""
    for record in struct.unpack_from(f"<{count}I", data, offsets):
        struct.pack_into("<2I", data, record + 8, 1, len(data))


@pytest.fixture(params=[no_offsets, cut_records])
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A folder with a damaged file of `lib1.so`, and a sound one of `lib2.so`."""
    write_gsym(tmp_path / "lib2.so.gsym", 2)
    path = tmp_path / "lib1.so.gsym"
    write_gsym(path, 1)
    data = bytearray(path.read_bytes())
    width, (count,) = data[6], struct.unpack_from("<I", data, 16)
    request.param(data, -(-(48 + width * count) // 4) * 4, count)
    path.write_bytes(data)
    return tmp_path


def is_said(text: str, folder: Path) -> bool:
    """Whether a text has the file, the offset and a reason."""
    place = re.escape(os.fspath(folder / "lib1.so.gsym"))
    return re.search(rf"{place}: offset 0x[0-9a-f]+: \w+", text) is not None


def test_a_report_has_the_answers_of_the_other_modules(
    folder: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    report = gsym.symbolicate(REPORT, source=folder)
    bad, good = report.frames()
    assert [each.demangled for each in good.calls] == ["f2_1"]
    assert not bad.calls
    assert is_said(bad.reason, folder)
    assert [each.state for each in report.modules] == ["missing", "found"]
    assert is_said(report.modules[0].reason, folder)
    (tmp_path / "report").write_text(REPORT)
    sources = ["--source", os.fspath(folder)]
    assert main(["symbolicate", *sources, os.fspath(tmp_path / "report")]) == 0
    assert is_said(capfd.readouterr().err, folder)


def test_a_damaged_file_is_to_a_report_as_none(folder: Path) -> None:
    """Also where the modules of the report are only known by its readings."""
    text = f"{REPORT}lib3.so+0x12 lib2.so+0x8 lib1.so+0x9\n[4] lib2.so+0x100c\n"
    damaged = gsym.symbolicate(text, source=folder)
    (folder / "lib1.so.gsym").unlink()
    missing = gsym.symbolicate(text, source=folder)
    assert [str(damaged), damaged.form] == [str(missing), missing.form]
    assert str(damaged).count("f2_1") > 1
    for one, other in zip(damaged.modules, missing.modules, strict=True):
        assert (one.name, one.state) == (other.name, other.state)


def test_a_file_that_is_cut_anywhere_costs_its_own_answers(tmp_path: Path) -> None:
    """Its code, places and return addresses are not asked again either."""
    for number in (1, 2):
        write_gsym(tmp_path / f"lib{number}.so.gsym", number)
    path = tmp_path / "lib1.so.gsym"
    whole = path.read_bytes()
    text = REPORT + "#2 0x7f (/gone/lib1.so+0x1004)\n#2 0x7f (/gone/lib2.so+0x1008)\n"
    found = {}
    for size in range(0, len(whole), 3):
        path.write_bytes(whole[:size])
        found[size] = str(gsym.symbolicate(text, source=tmp_path)).count("f2_1")
    assert found == dict.fromkeys(found, 2)


def test_a_log_has_the_answers_of_the_other_modules(folder: Path) -> None:
    stacks = LogStacks(lambda: ReportModules(folder), SymbolOptions())
    made = MarkupFilter(Modules(), stacks=stacks)
    assert b"f2_1 + 8 (lib2.so" in made.feed(REPORT.encode()) + made.feed(b"more\n")
    (said,) = made.summary()
    assert said.startswith("1 unresolved in 'lib1.so': ")
    assert is_said(said, folder)


@pytest.mark.parametrize("form", ["text", "json"])
def test_markup_has_the_answers_of_the_other_modules(
    folder: Path, tmp_path: Path, form: str, capfd: pytest.CaptureFixture[str]
) -> None:
    lines = []
    for number in (1, 2):
        identifier, start = build_id(number).hex(), number << 16
        lines += [
            f"{{{{{{module:{number}:lib{number}.so:elf:{identifier}}}}}}}",
            f"{{{{{{mmap:{start:#x}:0x4000:load:{number}:rx:0x0}}}}}}",
            *[f"{{{{{{bt:0:{start + 0x1004:#x}:pc}}}}}}"] * (3 - number),
            f"{{{{{{bt:1:{start + 0x1006:#x}:pc}}}}}} and {{{{{{pc:0x1}}}}}}",
        ]
    (tmp_path / "log").write_text("\n".join(lines) + "\n")
    options = ["--json"] if form == "json" else []
    places = [os.fspath(tmp_path / "log"), "--gsym-dir", os.fspath(folder)]
    assert main(["filter", *options, *places]) == 0
    printed = capfd.readouterr()
    assert printed.out.count("f2_1") == 2
    if form == "json":
        elements = map(json.loads, printed.out.splitlines())
        reasons = [each.get("reason") for each in elements if each["element"] == "bt"]
        assert reasons == ["damaged record"] * 3 + [None] * 2
    said, *_ = printed.err.splitlines()
    assert said.startswith("gsym: 3 unresolved in 'lib1.so' ")
    assert is_said(said, folder)


def test_a_response_has_the_answers_of_the_other_modules(folder: Path) -> None:
    modules: Any = find_in([os.fspath(folder)])
    for address in (4, "f1_1+4"):
        job = {
            "memoryMap": [[each.debug_file, each.debug_id] for each in (BAD, GOOD)],
            "stacks": [[[0, address], [1, 8]]],
        }
        jobs = read_v5(json.dumps({"jobs": [job]}).encode(), RequestLimits())
        work = Symbolication(jobs)
        work.open_all(Symbolizer(modules))
        (answer,) = json.loads(bytes(answer_v5(work)))["results"]
        assert [each.get("function") for each in answer["stacks"][0]] == [None, "f2_1"]
        (error,) = answer["module_errors"][f"{BAD.debug_file}/{BAD.debug_id}"]
        assert error["name"] == "FileRefused"
        assert is_said(error["message"], folder)
        assert len(answer["module_errors"]) == 1


def test_a_response_of_version_4_says_it_as_well(folder: Path) -> None:
    modules: Any = find_in([os.fspath(folder)])
    memory_map = [[each.debug_file, each.debug_id] for each in (BAD, GOOD)]
    job = {"version": 4, "memoryMap": memory_map, "stacks": [[[0, 4], [1, 8]]]}
    work = Symbolication(read_v4(json.dumps(job).encode(), RequestLimits()))
    work.open_all(Symbolizer(modules))
    answer = json.loads(answer_v4(work))
    assert answer["symbolicatedStacks"] == [["0x4 (in lib1.so)", "f2_1 (in lib2.so)"]]
    ((error,),) = answer["moduleErrors"].values()
    assert is_said(error["message"], folder)
    assert "moduleErrors" not in json.loads(answer_v4(work, has_errors=False))


def test_a_profile_has_the_answers_of_the_other_modules(folder: Path) -> None:
    profile = Profile()
    for number in (1, 2):
        start = number << 16
        known = "", build_id(number).hex()
        profile.mappings.append(Mapping(start, start + 0x4000, 0, 0, *known))
        profile.locations.append(Location(start + 0x1008, number - 1))
    symbolize(profile, find_in([os.fspath(folder)]))
    bad, good = profile.locations
    assert [each.name for each in good.frames] == ["f2_1"]
    assert not bad.frames
    assert is_said(bad.reason, folder)
