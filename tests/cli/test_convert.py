"""`gsym convert`: outputs, summaries, warnings, and the files for other tools."""

from __future__ import annotations

import io
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import ANY

import pytest

import gsym
from gsym.cli.main import main
from gsym.cli.terminal import Progress
from gsym.conversion.tree import linked_below
from tests.closed_folders import make_closed_folder
from tests.inputs.dwarf import Dwarf
from tests.inputs.elf import Elf, Section, Symbol, code_section, elf_of
from tests.inputs.line_program import LineProgram, sequence
from tests.inputs.program import function, program, unit
from tests.inputs.split_examples import build

Captured = pytest.CaptureFixture[str]

BUILD_ID = bytes(range(20))
TWO_FUNCTIONS = unit(function("f", 0x1000, 0x1010), function("g", 0x1010, 0x1030))


ONE_FUNCTION_WITH_LINES = program(
    unit(
        function("f", 0x1000, 0x1010),
        version=4,
        lines=LineProgram(sequence((0x1000, 7), end=0x1010)),
    )
)


def with_build_id(build_id: bytes = BUILD_ID) -> bytes:
    debug = [
        Section(name, data) for name, data in Dwarf([TWO_FUNCTIONS]).sections().items()
    ]
    return Elf([code_section(), *debug], build_id=build_id).to_bytes()


@pytest.fixture
def binary(tmp_path: Path) -> str:
    """A binary with two functions and a build id."""
    path = tmp_path / "app"
    path.write_bytes(with_build_id())
    return str(path)


# ---- outputs


def test_output_is_written_beside_the_input(binary: str, capsys: Captured) -> None:
    assert main(["convert", binary]) == 0
    captured = capsys.readouterr()
    first, second, third, fourth = captured.out.splitlines()
    assert first == f"{binary} -> {binary}.gsym"
    assert second.startswith("  2 functions, 0 with lines, 0 with inlined calls; ")
    assert third.startswith("  found in debug information 2, in the symbol table 0; ")
    assert fourth == f"  x86_64, build id {BUILD_ID.hex()}"
    assert captured.err == ""
    assert Path(binary + ".gsym").stat().st_size > 0


def test_many_inputs_go_to_one_folder(binary: str, tmp_path: Path) -> None:
    other = tmp_path / "lib.so"
    other.write_bytes(with_build_id())
    folder = tmp_path / "new" / "out"
    assert main(["convert", "--output-dir", str(folder), binary, str(other)]) == 0
    assert sorted(path.name for path in folder.iterdir()) == [
        "app.gsym",
        "lib.so.gsym",
    ]


def test_one_bad_input_does_not_stop_the_others(
    binary: str, tmp_path: Path, capsys: Captured
) -> None:
    bad = tmp_path / "text"
    bad.write_bytes(b"no binary at all")
    missing = tmp_path / "missing"
    assert main(["convert", str(bad), str(missing), binary]) == 1
    errors = capsys.readouterr().err.splitlines()
    assert len(errors) == 2
    assert errors[0].startswith(f"gsym: error: {bad}: ")
    assert errors[1] == f"gsym: error: {missing}: No such file or directory"
    assert Path(binary + ".gsym").exists()
    assert not Path(f"{bad}.gsym").exists()


def with_lines(build_id: bytes = BUILD_ID) -> bytes:
    lines = LineProgram(sequence((0x1000, 7), end=0x1010))
    one = unit(function("f", 0x1000, 0x1010), version=4, lines=lines)
    debug = [Section(name, data) for name, data in Dwarf([one]).sections().items()]
    return Elf([code_section(), *debug], build_id=build_id).to_bytes()


def stripped(build_id: bytes = BUILD_ID) -> bytes:
    symbols = [Symbol("f", 0x1000, 0x10)]
    return Elf([code_section()], symbols=symbols, build_id=build_id).to_bytes()


def is_kept(folder: Path, old: bytes, new: bytes, *options: str) -> bool:
    """Whether the file of a conversion stays when another one follows."""
    path, output = folder / "app", folder / "app.gsym"
    path.write_bytes(old)
    assert main(["convert", str(path)]) == 0
    before = output.stat().st_ino
    path.write_bytes(new)
    assert main(["convert", str(path), *options]) == 0
    return output.stat().st_ino == before


def test_a_poorer_file_of_one_build_does_not_replace_a_better_one(
    tmp_path: Path, capsys: Captured
) -> None:
    assert is_kept(tmp_path, with_lines(), stripped())
    note = f"{tmp_path}/app.gsym is kept: it has lines, a new file has none"
    assert note in capsys.readouterr().err


@pytest.mark.parametrize(
    ("old", "new", "options"),
    [
        (with_lines(), stripped(), ["--force"]),
        (with_lines(), stripped(b"another build id...."), []),
        (with_lines(), with_lines(), ["--no-index"]),
        (stripped(), with_lines(), []),
        (stripped(), stripped(), []),
    ],
    ids=["forced", "another build", "equal", "better", "both poor"],
)
def test_other_files_are_replaced(
    old: bytes, new: bytes, options: list[str], tmp_path: Path
) -> None:
    assert not is_kept(tmp_path, old, new, *options)


def test_a_kept_file_is_noted_in_python(tmp_path: Path) -> None:
    output = tmp_path / "app.gsym"
    gsym.convert(with_lines(), output)
    report = gsym.convert(stripped(), output)
    assert not report.is_written
    assert any("is kept" in note for note in report.notes)
    assert gsym.convert(stripped(), output, force=True).is_written


def test_inputs_without_functions_may_be_passed_over(
    binary: str, tmp_path: Path, capsys: Captured
) -> None:
    empty, summary = tmp_path / "libdata.so", tmp_path / "summary.json"
    empty.write_bytes(Elf([code_section()], build_id=BUILD_ID).to_bytes())
    arguments = ["convert", str(empty), binary, "--json-summary", str(summary)]
    assert main(arguments) == 1
    assert f"gsym: error: {empty}: no functions" in capsys.readouterr().err
    assert main([*arguments, "--allow-empty"]) == 0
    printed = capsys.readouterr()
    assert f"{empty}: no functions to encode" in printed.err
    assert printed.err.endswith(": passed over\n")
    assert "1 converted, 1 without functions: 2 functions, " in printed.out
    assert json.loads(summary.read_text())["empty"] == [
        {"input": str(empty), "reason": ANY}
    ]
    assert not Path(f"{empty}.gsym").exists()


def test_the_summary_has_the_inputs_that_failed(
    binary: str, tmp_path: Path, capsys: Captured
) -> None:
    summary = tmp_path / "summary.json"
    assert main(["convert", "nofile", binary, "--json-summary", str(summary)]) == 1
    found = json.loads(summary.read_text())
    assert [each["input"] for each in found["conversions"]] == [binary]
    assert [each["input"] for each in found["failures"]] == ["nofile"]
    assert "1 converted, 1 failed: 2 functions, " in capsys.readouterr().out


def test_a_folder_is_converted_and_its_files_keep_their_places(
    binary: str, tmp_path: Path, capsys: Captured
) -> None:
    tree, output = tmp_path / "tree", tmp_path / "out"
    for place in ("a/app", "b/app"):
        (tree / place).parent.mkdir(parents=True)
        shutil.copy(binary, tree / place)
    (tree / "readme.txt").write_text("no binary")
    (tree / "a/app.o").write_bytes(Elf([code_section()], type=1).to_bytes())
    (tree / "a/old.gsym").write_bytes(b"GSYM")
    (tree / "a/link").symlink_to("app")
    assert main(["convert", str(tree), "--output-dir", str(output)]) == 0
    found = sorted(str(each.relative_to(output)) for each in output.rglob("*.gsym"))
    assert found == ["a/app.gsym", "b/app.gsym"]
    assert "2 converted: 4 functions, " in capsys.readouterr().out
    done = gsym.convert_many([tree], tmp_path / "many")
    assert [Path(each.output).relative_to(tmp_path / "many") for each in done] == [
        Path("a/app.gsym"),
        Path("b/app.gsym"),
    ]


def test_kernel_modules_of_a_folder_are_inputs_with_their_debug_files(
    tmp_path: Path,
) -> None:
    names = ["m.ko", "m.ko.debug", "m.o"]  # .ko.debug: as in Fedora
    for name in names:
        (tmp_path / name).write_bytes(Elf([code_section()], type=1).to_bytes())
    found = [Path(each).name for each in linked_below(str(tmp_path))]
    assert found == ["m.ko", "m.ko.debug"]


def test_a_folder_that_cannot_be_read_is_not_passed_over(
    binary: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    closed = tmp_path / "tree/closed"
    make_closed_folder(closed, monkeypatch)
    shutil.copy(binary, tmp_path / "tree/app")
    tree, store = str(tmp_path / "tree"), str(tmp_path / "store")
    assert main(["convert", tree, "--output-dir", str(tmp_path / "out")]) == 1
    assert main(["store", "add", tree, "--store", store]) == 1
    printed = capsys.readouterr()
    assert f"{closed}: Permission denied" in printed.err
    assert "1 converted, 1 failed" in printed.out


def test_a_folder_without_binaries_is_an_error(
    tmp_path: Path, capsys: Captured
) -> None:
    (tmp_path / "readme.txt").write_text("no binary")
    assert main(["convert", str(tmp_path)]) == 1
    assert "a folder without programs" in capsys.readouterr().err


def test_a_damaged_binary_of_a_folder_is_reported(
    binary: str, tmp_path: Path, capsys: Captured
) -> None:
    (tmp_path / "damaged").write_bytes(b"\x7fELF")
    assert main(["convert", str(tmp_path)]) == 1
    printed = capsys.readouterr()
    assert f"{tmp_path}/damaged: " in printed.err
    assert "1 converted, 1 failed" in printed.out
    assert Path(f"{binary}.gsym").exists()


def test_a_file_may_list_the_inputs(
    binary: str, tmp_path: Path, capsys: Captured
) -> None:
    spaced = tmp_path / "my app"
    shutil.copy(binary, spaced)
    names = tmp_path / "list"
    names.write_text(f"{binary}\n'{spaced}'\n# a comment\n")
    assert main(["convert", f"@{names}"]) == 0
    assert Path(f"{binary}.gsym").exists()
    assert Path(f"{spaced}.gsym").exists()
    assert main(["convert", "@nolist"]) == 1
    assert "gsym: error: nolist: No such file" in capsys.readouterr().err
    names.write_text("'open")
    assert main(["convert", f"@{names}"]) == 1
    assert f"{names}: no list of inputs: " in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "status", "text"),
    [
        (["--dwp", "nofile"], 1, "gsym: error: nofile: No such file or directory"),
        (["--debug-file-directory", "nodir"], 0, "no folder nodir"),
        (["--symbol-server", "foo"], 2, "'--symbol-server': 'foo' is not a URL"),
        (["--json"], 2, "did you mean '--json-summary'?"),
        (["--merged"], 2, "did you mean '--merged-functions'?"),
        (["--segment-size", "10x"], 2, "invalid size '10x': expected a number with"),
        (["-q", "--debug-file-directory", "nodir"], 0, "no folder nodir"),
    ],
)
def test_what_cannot_be_used_is_said(
    options: list[str], status: int, text: str, binary: str, capsys: Captured
) -> None:
    assert main(["convert", binary, *options]) == status
    assert text in capsys.readouterr().err


def test_a_failed_conversion_leaves_the_old_output(binary: str, tmp_path: Path) -> None:
    target = Path(binary + ".gsym")
    target.write_bytes(b"old")
    Path(binary).write_bytes(Elf([code_section()]).to_bytes())
    assert main(["convert", binary]) == 1
    assert target.read_bytes() == b"old"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["app", "app.gsym"]


@pytest.mark.parametrize("version", [1, 2])
def test_the_version_of_the_format_can_be_chosen(binary: str, version: int) -> None:
    assert main(["convert", binary, f"--output-version={version}"]) == 0
    header = Path(binary + ".gsym").read_bytes()[:6]
    assert header == b"MYSG" + version.to_bytes(2, "little")


def test_a_build_id_too_long_for_version_1_is_written_in_version_2(
    binary: str, capsys: Captured
) -> None:
    Path(binary).write_bytes(with_build_id(b"\1" * 32))
    assert main(["convert", binary, "--output-version", "1"]) == 1
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert "version 2" in error
    assert main(["convert", binary]) == 0
    assert " bytes of version 2 in " in capsys.readouterr().out
    # So do files that are converted on the way.
    with gsym.open(f"{binary}.gsym") as reader:
        address = hex(reader.header.base_address)
    expected = main(["lookup", f"{binary}.gsym", address]), capsys.readouterr().out
    assert (main(["lookup", binary, address]), capsys.readouterr().out) == expected


def test_segments_are_named_by_their_first_function(
    binary: str, capsys: Captured
) -> None:
    assert main(["convert", binary, "--segment-size", "75"]) == 0
    names = [f"{binary}.gsym-0x1000", f"{binary}.gsym-0x1010"]
    assert capsys.readouterr().out.startswith(f"{binary} -> {', '.join(names)}\n")
    assert [name for name in names if not Path(name).exists()] == []


# ---- what is told


def test_a_missing_split_file_is_reported_if_quiet_and_fails_a_strict_run(
    tmp_path: Path, capsys: Captured
) -> None:
    path = tmp_path / "app"
    path.write_bytes(build("in_split").binary)
    assert main(["convert", "-q", str(path)]) == 0
    printed = capsys.readouterr()
    assert printed.out == ""
    assert f"{path}: warning: Split unit (.dwo) not found (1 time)\n" in printed.err
    Path(f"{path}.gsym").unlink()
    assert main(["convert", "-q", "--strict", str(path)]) == 3
    assert Path(f"{path}.gsym").exists()
    (tmp_path / "complete").write_bytes(program(TWO_FUNCTIONS))
    assert main(["convert", "-q", "--strict", str(tmp_path / "complete")]) == 0


def test_a_binary_without_build_id_is_warned_about(
    tmp_path: Path, capsys: Captured
) -> None:
    path = tmp_path / "app"
    path.write_bytes(program(TWO_FUNCTIONS))
    assert main(["convert", str(path)]) == 0
    assert capsys.readouterr().err.startswith(f"{path}: warning: no build id: ")
    assert main(["convert", str(path), "--uuid", "00ff-10"]) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    assert captured.out.endswith("build id 00ff10\n")


def test_a_binary_without_debug_information_is_warned_about(
    tmp_path: Path, capsys: Captured
) -> None:
    path = tmp_path / "app"
    symbols = [Symbol("f", 0x1000, 0x10)]
    path.write_bytes(
        Elf([code_section()], symbols=symbols, build_id=BUILD_ID).to_bytes()
    )
    debug = f"{tmp_path}/.build-id/{BUILD_ID.hex()[:2]}/{BUILD_ID.hex()[2:]}.debug"
    arguments = ["convert", str(path), f"--debug-file-directory={tmp_path}"]
    assert main(arguments) == 0
    tried = f"no debug information: tried {debug}: not there"
    assert capsys.readouterr().err == f"{path}: warning: {tried}\n"
    assert main([*arguments, "-q"]) == 0
    assert capsys.readouterr() == ("", f"{path}: warning: {tried}\n")


@pytest.mark.parametrize(("uuid", "warns"), [(BUILD_ID.hex(), False), ("abcdef", True)])
def test_an_id_that_replaces_the_build_id_is_warned_about(
    uuid: str, *, warns: bool, binary: str, capsys: Captured
) -> None:
    assert main(["convert", binary, "--uuid", uuid]) == 0
    warning = f"{binary}: warning: the binary's own build id is {BUILD_ID.hex()}\n"
    assert capsys.readouterr().err == (warning if warns else "")


def damaged(tmp_path: Path) -> str:
    """A binary with two functions outside of its code and one inside."""
    path = tmp_path / "app"
    dies = [
        function("far", 0x9000, 0x9010),
        function("farther", 0xA000, 0xA010),
        function("near", 0x1000, 0x1010),
    ]
    path.write_bytes(program(unit(*dies)))
    return str(path)


OUTSIDE = "Address range starts outside executable sections"


def test_verbose_prints_each_warning_with_its_place(
    tmp_path: Path, capsys: Captured
) -> None:
    path = damaged(tmp_path)
    assert main(["convert", "-v", path, "--uuid", "01"]) == 0
    first, second, total = capsys.readouterr().err.splitlines()
    for line, address in ((first, "0x9000"), (second, "0xa000")):
        head, offset = line.split(" at offset ")
        assert head == f"{path}: warning: {OUTSIDE}: {address}"
        assert 0 < int(offset, 0) < 0x100
    assert total == f"{path}: warning: {OUTSIDE} (2 times)"


# ---- files for other tools


def test_json_summary_has_the_whole_report(tmp_path: Path) -> None:
    path = damaged(tmp_path)
    summary = tmp_path / "summary.json"
    arguments = ["-v", "-q", "--uuid", "01ff", "--json-summary", str(summary)]
    assert main(["convert", path, *arguments]) == 0
    (report,) = json.loads(summary.read_text())["conversions"]
    assert report["input"] == path
    assert report["outputs"] == [f"{path}.gsym"]
    assert report["uuid"] == "01ff"
    assert report["functions"] == 1
    assert report["warnings"] == {OUTSIDE: 2}
    assert [detail["value"] for detail in report["details"]] == [0x9000, 0xA000]


@pytest.mark.parametrize("name", ["a\\ b:c", "a%b#", "$(a)", "a\\\\:b"])
def test_make_reads_the_names_of_the_depfile(name: str, tmp_path: Path) -> None:
    if shutil.which("make") is None:
        pytest.skip("not installed: make")
    source = tmp_path / f"{name}.bin"
    source.write_bytes(with_build_id())
    rule, target = tmp_path / "app.d", tmp_path / name
    arguments = ["-q", str(source), "-o", str(target), "--depfile", str(rule)]
    assert main(["convert", *arguments]) == 0
    source.unlink()
    command = ["make", "-rf", str(rule), str(target)]
    subprocess.run(command, check=True)  # without its input there is nothing to do
    rule.write_text(rule.read_text().partition("\n\n")[0] + "\n")
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert f"No rule to make target '{source}', needed by '{target}'" in done.stderr


def test_an_output_that_is_passed_over_leaves_the_depfile(tmp_path: Path) -> None:
    binary, rule = tmp_path / "app", tmp_path / "app.d"
    binary.write_bytes(elf_of({}))
    rule.write_text("app.gsym: app app.dwo\n")
    arguments = ["convert", "-q", str(binary), "--depfile", str(rule)]
    assert main([*arguments, "--allow-empty"]) == 0
    assert rule.read_text() == "app.gsym: app app.dwo\n"


def test_a_conversion_that_fails_leaves_the_depfile(
    binary: str, tmp_path: Path, capsys: Captured
) -> None:
    rule = tmp_path / "app.d"
    arguments = ["convert", "-q", binary, "--depfile", str(rule)]
    assert main(arguments) == 0
    before = rule.read_text()
    assert binary in before
    Path(binary).write_bytes(b"damaged")
    assert main(arguments) == 1
    assert capsys.readouterr().err.startswith(f"gsym: error: {binary}: ")
    assert rule.read_text() == before


def test_the_segments_that_stay_the_same_keep_their_time(binary: str) -> None:
    command = ["convert", "-q", "--if-changed", "--segment-size", "75", binary]
    assert main(command) == 0
    segment = Path(f"{binary}.gsym-0x1000")
    os.utime(segment, ns=(1, 1))
    assert main(command) == 0
    assert segment.stat().st_mtime_ns == 1


def test_if_changed_keeps_the_time_of_an_output_that_stays_the_same(
    binary: str,
) -> None:
    target = Path(binary + ".gsym")
    assert main(["convert", binary]) == 0
    os.utime(target, ns=(1, 1))
    assert main(["convert", "--if-changed", binary]) == 0
    assert target.stat().st_mtime_ns == 1
    assert main(["convert", "--if-changed", "--uuid", "01", binary]) == 0
    assert target.stat().st_mtime_ns > 1
    os.utime(target, ns=(1, 1))
    assert main(["convert", "--uuid", "01", binary]) == 0
    assert target.stat().st_mtime_ns > 1


@pytest.mark.parametrize(
    "words",
    [
        ["convert", "app"],
        ["convert", "app", "--if-changed"],
        ["merge", "app.gsym"],
        ["export", "app.gsym", "--to", "breakpad", "--binary", "app"],
        ["embed", "app.gsym", "app"],
        ["extract", "embedded"],
    ],
    ids=" ".join,
)
def test_an_output_may_be_standard_output(
    words: list[str],
    binary: str,
    capfdbinary: pytest.CaptureFixture[bytes],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    folder = Path(binary).parent
    monkeypatch.chdir(folder)
    assert main(["convert", "-q", "app"]) == 0
    assert main(["embed", "-q", "app.gsym", "app", "-o", "embedded"]) == 0
    files = {*folder.iterdir()}
    assert main([*words, "-o", "-"]) == 0
    printed = capfdbinary.readouterr().out
    assert {*folder.iterdir()} == files
    assert main([*words, "-q", "-o", "out"]) == 0
    assert printed == (folder / "out").read_bytes()


@pytest.mark.parametrize(
    "option", [["--segment-size", "75"], ["--depfile", "d"], ["--json-summary", "j"]]
)
def test_options_about_output_paths_exclude_standard_output(
    option: list[str], binary: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["convert", binary, "-o", "-", *option]) == 2
    assert f"option '{option[0]}' excludes '--output -'" in capsys.readouterr().err


# ---- verification


def test_a_conversion_can_be_verified_at_once(binary: str, capsys: Captured) -> None:
    assert main(["convert", "--quiet", "--verify", binary]) == 0
    assert capsys.readouterr() == ("", "")
    assert main(["convert", "--verify", binary]) == 0
    assert capsys.readouterr().out.endswith(
        f"{binary}.gsym: the structure is valid\n2 functions of 1 of 1 units compared\n"
    )


def test_a_verification_knows_the_rewritten_paths(tmp_path: Path) -> None:
    path = tmp_path / "app"
    path.write_bytes(ONE_FUNCTION_WITH_LINES)
    rule = "--path-map=/src=/home/me"
    assert main(["convert", "-q", "--verify", str(path), rule]) == 0
    assert main(["verify", f"{path}.gsym", "--against", str(path), rule]) == 0
    assert main(["verify", f"{path}.gsym", "--against", str(path)]) == 1


def test_failed_verification_fails_the_conversion(
    binary: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = shutil.copy(binary, f"{binary}2")

    def wrong(path: str, against: str, **_: object) -> bool:
        assert path == f"{against}.gsym"
        if against == binary:
            raise gsym.FormatError("damaged", path=path)
        return against != other

    monkeypatch.setattr("gsym.cli.verbs.verify.verify", wrong)
    third = shutil.copy(binary, f"{binary}3")
    assert main(["convert", "--quiet", "--verify", third]) == 0
    assert main(["convert", "--quiet", "--verify", other]) == 1
    for path in (other, third):
        Path(f"{path}.gsym").unlink()
    assert main(["convert", "--quiet", "--verify", binary, other, third]) == 1
    assert Path(f"{third}.gsym").exists(), "an error stops no other input"


# ---- inputs are spared


@pytest.mark.parametrize("option", ["-o", "--json-summary", "--depfile"])
def test_inputs_are_not_overwritten(
    option: str, binary: str, tmp_path: Path, capsys: Captured
) -> None:
    link = tmp_path / "link"
    link.symlink_to(binary)
    before = Path(binary).read_bytes()
    for path in (binary, str(link)):
        assert main(["convert", binary, option, path]) == 1
        error = capsys.readouterr().err
        assert error == f"gsym: error: {path}: the output would replace an input\n"
    assert Path(binary).read_bytes() == before
    with pytest.raises(ValueError, match="would replace the input"):
        gsym.convert(binary, link)


def test_a_report_that_cannot_be_written_fails(
    binary: str, tmp_path: Path, capsys: Captured
) -> None:
    missing, summary = tmp_path / "no" / "app.d", tmp_path / "summary.json"
    arguments = ["--depfile", str(missing), "--json-summary", str(summary)]
    assert main(["convert", "-q", binary, *arguments]) == 1
    reason = "No such file or directory"
    assert capsys.readouterr().err == f"gsym: error: {missing}: {reason}\n"
    assert summary.exists()


# ---- wrong command lines


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ("", "INPUT is missing"),
        ("a b -o c", "option '--output' takes one INPUT; use '--output-dir'"),
        (". -o c", "'.' is a folder; use '--output-dir'"),
        ("a -o c --output-dir d", "option '--output' excludes '--output-dir'"),
        ("x/a y/a --output-dir d", "'x/a' and 'y/a' have the same output"),
        ("a a", "'a' and 'a' have the same output"),
        ("a --output-version 3", "option '--output-version': choose 1 or 2"),
        ("a --output-version 0", "option '--output-version': choose 1 or 2"),
        ("a --threads 0", "option '--threads': 0 is less than 1"),
        (f"a --threads {1 << 32}", f"option '--threads': {1 << 32} is too large"),
        (f"a --segment-size {1 << 64}", f"option '--segment-size': {1 << 64} is too"),
        ("a --threads 1_0", "option '--threads': '1_0' is not a number"),
        ("a --threads two", "option '--threads': 'two' is not a number"),
        ("a --segment-size 0", "option '--segment-size': 0 is less than 1"),
        ("a --uuid xyz", "option '--uuid': 'xyz' is not a string of hex bytes"),
        (f"a --uuid {'ab' * 65}", "option '--uuid': an id of 65 bytes, more than 64"),
        ("a --uuid=", "option '--uuid': '' is not a string of hex bytes"),
        ("a --path-map /src", "option '--path-map': '/src': expected OLD=NEW"),
        ("a --verify --uuid 01", "option '--verify' excludes '--uuid'"),
        (
            "a --verify --segment-size 9",
            "option '--verify' excludes '--segment-size'",
        ),
        (
            "a --segment-size 9 --data-symbols",
            "option '--data-symbols' excludes '--segment-size'",
        ),
        (
            "a --segment-size 9 --embedded-sources",
            "option '--embedded-sources' excludes '--segment-size'",
        ),
        ("a --path-map =/src", "option '--path-map': '=/src': expected OLD=NEW"),
        ("a --object-prefix-map /o", "option '--object-prefix-map': '/o': expected"),
    ],
)
def test_wrong_command_lines_are_refused(
    capsys: Captured, arguments: str, reason: str
) -> None:
    assert main(["convert", *arguments.split()]) == 2
    assert capsys.readouterr().err.startswith(f"gsym convert: error: {reason}")


# ---- progress


def test_progress_bar_is_shown_for_long_work_only(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = 100.0
    screen = io.StringIO()
    monkeypatch.setattr(sys, "stderr", screen)
    # Not of the module itself: event loops of servers in this process ask it, too.
    clock = SimpleNamespace(monotonic=lambda: now)
    monkeypatch.setattr("gsym.cli.terminal.time", clock)
    progress = Progress("app")
    progress(1, 4)
    progress.clear()
    assert screen.getvalue() == ""
    now = 100.6
    progress(1, 4)
    assert screen.getvalue() == "\rapp [########........................]  25 %"
    progress(2, 4)
    assert screen.getvalue().count("\r") == 1, "redrawn too soon"
    now = 100.8
    progress(4, 4)
    assert screen.getvalue().endswith("\rapp [################################] 100 %")
    progress.clear()
    assert screen.getvalue().endswith("\r\x1b[K")
