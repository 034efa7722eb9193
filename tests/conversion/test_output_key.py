"""Whether a conversion with `if_changed` runs again."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import gsym
from gsym.cli.main import main
from tests.companions import ID, ID_PATH, debug_file, place, stripped

if TYPE_CHECKING:
    from collections.abc import Callable

BEFORE = 1_000_000_000  # ns: long before any run


@pytest.fixture
def binary(tmp_path: Path) -> Path:
    """A stripped binary; its debug file is found by build id."""
    place(tmp_path / "lib" / ID_PATH, debug_file(ID))
    path = Path(place(tmp_path / "app", stripped(build_id=ID)))
    for each in (path, tmp_path / "lib" / ID_PATH):
        os.utime(each, ns=(BEFORE, BEFORE))
    return path


def convert(binary: Path, **options: object) -> gsym.ConversionReport:
    folders = [str(binary.parent / "lib")]
    return gsym.convert(
        binary,
        if_changed=True,
        debug_file_directories=folders,
        **options,  # type: ignore[arg-type]
    )


def key_of(binary: Path) -> Path:
    return Path(f"{binary}.gsym.gsym-key")


def without_measures(report: gsym.ConversionReport) -> gsym.ConversionReport:
    return report._replace(seconds=0, peak_memory=0, is_written=False)


def test_files_of_the_same_size_and_time_are_not_read_again(binary: Path) -> None:
    first = convert(binary, verbose=True)
    assert first.is_written
    binary.write_bytes(bytes(binary.stat().st_size))  # cannot be converted
    os.utime(binary, ns=(BEFORE, BEFORE))
    again = convert(binary, verbose=True, threads=2)
    assert not again.is_written
    assert without_measures(again) == without_measures(first)


def touch_debug_file(binary: Path) -> None:
    os.utime(binary.parent / "lib" / ID_PATH, ns=(BEFORE + 1, BEFORE + 1))


def touch_output(binary: Path) -> None:
    os.utime(f"{binary}.gsym", ns=(BEFORE, BEFORE))


def damage_key(binary: Path) -> None:
    key_of(binary).write_text(key_of(binary).read_text()[:-9])


def empty_key(binary: Path) -> None:
    key_of(binary).write_text("[]")


@pytest.mark.parametrize(
    "change", [touch_debug_file, touch_output, damage_key, empty_key]
)
def test_another_time_or_key_is_converted_and_compared(
    change: Callable[[Path], None], binary: Path
) -> None:
    convert(binary)
    key = key_of(binary).read_bytes()
    change(binary)
    time = Path(f"{binary}.gsym").stat().st_mtime_ns
    assert not convert(binary).is_written  # the bytes are the same
    assert Path(f"{binary}.gsym").stat().st_mtime_ns == time
    assert key_of(binary).read_bytes() != key or change in {damage_key, empty_key}
    binary.write_bytes(bytes(binary.stat().st_size))
    os.utime(binary, ns=(BEFORE, BEFORE))
    assert not convert(binary).is_written  # by the new key


def test_other_options_and_a_missing_output_are_converted(binary: Path) -> None:
    convert(binary)
    assert convert(binary, uuid=b"other").is_written
    assert not convert(binary, uuid=b"other").is_written
    Path(f"{binary}.gsym").unlink()
    assert convert(binary, uuid=b"other").is_written


def test_a_conversion_that_missed_a_file_leaves_no_key(binary: Path) -> None:
    convert(binary)
    assert key_of(binary).exists()
    (binary.parent / "lib" / ID_PATH).unlink()
    assert convert(binary).is_written  # names only
    assert not key_of(binary).exists()


def test_a_file_that_is_being_modified_leaves_no_key(binary: Path) -> None:
    os.utime(binary, ns=(BEFORE, 1 << 62))
    convert(binary)
    assert not key_of(binary).exists()


def test_the_report_of_a_run_that_wrote_nothing_says_so(
    binary: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place(binary.parent / "whole", debug_file(ID))
    command = ["convert", "--if-changed", str(binary.parent / "whole")]
    for suffix in ("", " (unchanged)"):
        assert main(command) == 0
        first = capsys.readouterr().out.splitlines()[0]
        assert first.endswith(f"whole.gsym{suffix}")


@pytest.mark.parametrize("content", ["", "[", "{", '{"a" 1}', "[]", "nope", "\udc80"])
def test_a_damaged_key_is_no_key(binary: Path, content: str) -> None:
    convert(binary)
    key_of(binary).write_bytes(content.encode("utf-8", "surrogateescape"))
    binary.write_bytes(bytes(binary.stat().st_size))
    os.utime(binary, ns=(BEFORE, BEFORE))
    with pytest.raises(gsym.FormatError):
        convert(binary)


def test_a_decision_imports_no_parser(binary: Path) -> None:
    convert(binary)
    assert not convert(binary).is_written
    folder = str(binary.parent / "lib")
    script = (
        "import sys; from gsym.cli.main import main\n"
        f"assert main(['convert', '-q', '--if-changed', {str(binary)!r},"
        f" '--debug-file-directory', {folder!r}]) == 0\n"
        "assert 'json' not in sys.modules and 're' not in sys.modules\n"
        "assert 'gsym.conversion.inputs.dwarf' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", script], check=True)


def test_many_files_are_not_converted_again(binary: Path, tmp_path: Path) -> None:
    others = [tmp_path / f"app{number}" for number in range(5)]
    for other in others:
        other.write_bytes(binary.read_bytes())
        os.utime(other, ns=(BEFORE, BEFORE))
    folders = [str(tmp_path / "lib")]

    def written() -> list[bool]:
        done = gsym.convert_many(
            others, tmp_path / "out", if_changed=True, debug_file_directories=folders
        )
        return [each.report is not None and each.report.is_written for each in done]

    assert written() == [True] * 5
    assert written() == [False] * 5
    os.utime(others[3], ns=(BEFORE + 1, BEFORE + 1))
    others[3].write_bytes(debug_file(ID) + b"more")
    assert written() == [False] * 3 + [True, False]
