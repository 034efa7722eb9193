"""Many files are converted side by side; each ends as it would alone."""

from __future__ import annotations

import _thread
import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import gsym
from gsym.cli.main import main
from gsym.conversion import many
from gsym.conversion.many import run_side_by_side
from tests.companions import ID, debug_file

if TYPE_CHECKING:
    from collections.abc import Callable

    Progress = Callable[[int, int], None]

DEBUG = debug_file(ID)


@pytest.fixture
def inputs(tmp_path: Path) -> list[Path]:
    """Ten binaries of different sizes, of which the third is damaged."""
    paths = [tmp_path / f"in{number}" for number in range(10)]
    for number, path in enumerate(paths):
        path.write_bytes(DEBUG + bytes(number * 7 % 10))
    paths[2].write_bytes(b"junk")
    return paths


def files(tmp_path: Path, *sizes: int) -> list[str]:
    paths = [tmp_path / f"file{number}" for number in range(len(sizes))]
    for path, size in zip(paths, sizes, strict=True):
        path.write_bytes(bytes(size))
    return [*map(str, paths)]


# ---- the call


@pytest.mark.parametrize("threads", [1, 4, None])
def test_each_file_becomes_what_it_becomes_alone(
    inputs: list[Path], threads: int | None, tmp_path: Path
) -> None:
    folder = tmp_path / "made" / "here"
    done = gsym.convert_many(inputs, folder, threads=threads, output_version=2)
    assert [each.input for each in done] == [*map(str, inputs)]
    for path, each in zip(inputs, done, strict=True):
        assert each.output == str(folder / f"{path.name}.gsym")
        if each.error is None:
            assert each.report is not None
            gsym.convert(path, tmp_path / "alone", output_version=2)
            assert Path(each.output).read_bytes() == (tmp_path / "alone").read_bytes()


def test_a_file_that_fails_is_named_and_the_others_are_converted(
    inputs: list[Path], tmp_path: Path
) -> None:
    inputs[5].unlink()
    done = gsym.convert_many(inputs, tmp_path / "out")
    failed = {Path(each.input).name: each for each in done if each.report is None}
    assert {*failed} == {"in2", "in5"}
    assert isinstance(failed["in2"].error, gsym.FormatError)
    assert isinstance(failed["in5"].error, FileNotFoundError)
    assert len([*(tmp_path / "out").iterdir()]) == 8


def test_a_kept_error_keeps_nothing_of_its_conversion_open(
    inputs: list[Path], tmp_path: Path
) -> None:
    error = gsym.convert_many(inputs, tmp_path / "out")[2].error
    assert error is not None
    assert error.__traceback__ is None
    assert error.__context__ is None


@pytest.mark.parametrize(
    ("names", "folder", "reason"),
    [
        (("a/x", "b/x"), "out", "'a/x' and 'b/x' have the same output"),
        (("x", "x.gsym"), ".", "x.gsym: the output would replace an input"),
    ],
)
def test_outputs_that_collide_are_refused_before_any_is_written(
    names: tuple[str, ...],
    folder: str,
    reason: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in names:
        Path(name).parent.mkdir(exist_ok=True)
        Path(name).write_bytes(DEBUG)
    with pytest.raises(ValueError, match=reason):
        gsym.convert_many(names, folder)
    assert [name for name in names if Path(name).read_bytes() != DEBUG] == []
    assert not Path("out").exists()


def test_an_unknown_keyword_is_no_failure_of_a_file(inputs: list[Path]) -> None:
    with pytest.raises(TypeError, match="colour"):
        gsym.convert_many(inputs, inputs[0].parent / "out", colour="red")


def test_progress_counts_the_bytes_of_all_files(
    inputs: list[Path], tmp_path: Path
) -> None:
    seen: list[tuple[int, int]] = []
    gsym.convert_many(
        inputs, tmp_path / "out", progress=lambda *each: seen.append(each)
    )
    total = sum(path.stat().st_size for path in inputs)
    assert seen[-1] == (total, total)
    assert seen == sorted(seen)


def test_outputs_are_synced_but_no_folder(
    inputs: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[bool] = []
    monkeypatch.setattr(
        os, "fsync", lambda file: synced.append(stat.S_ISDIR(os.fstat(file).st_mode))
    )
    gsym.convert_many(inputs, tmp_path / "out")
    assert synced == [False] * 9


def test_nothing_to_convert_is_nothing_converted(tmp_path: Path) -> None:
    assert gsym.convert_many([], tmp_path / "out") == ()


# ---- the order of the work


def test_the_biggest_is_first_and_results_come_in_order(tmp_path: Path) -> None:
    worked: list[int] = []
    taken: list[int] = []

    def work(number: int, _threads: int | None, _: Progress | None) -> int:
        worked.append(number)
        return number

    paths = [*files(tmp_path, 3, 1, 4, 2), str(tmp_path / "none")]
    run_side_by_side(paths, work, taken.append, threads=1, progress=None)
    assert worked == [2, 0, 3, 1, 4]
    assert taken == [0, 1, 2, 3, 4]


def test_big_files_are_alone_with_all_threads_and_small_ones_have_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(many, "_ALONE", 100)
    (tmp_path / "bundle").mkdir()
    paths = [*files(tmp_path, 10, 200, 20, 100), str(tmp_path / "bundle")]
    given: dict[int, int | None] = {}

    def work(number: int, threads: int | None, _: Progress | None) -> None:
        given[number] = threads

    run_side_by_side(paths, work, id, threads=3, progress=None)
    assert given == {1: 3, 3: 3, 4: 3, 2: 1, 0: 1}


def test_no_more_files_than_threads_are_open_at_once(tmp_path: Path) -> None:
    lock = _thread.allocate_lock()
    running, most = 0, 0

    def work(_number: int, _threads: int | None, _: Progress | None) -> None:
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        Path(tmp_path / "file0").read_bytes()  # lets other threads run
        with lock:
            running -= 1

    run_side_by_side(files(tmp_path, *[9] * 50), work, id, threads=3, progress=None)
    assert 1 <= most <= 3


def test_after_an_interrupt_no_other_file_is_begun(tmp_path: Path) -> None:
    begun: list[int] = []
    wait = _thread.allocate_lock()
    wait.acquire()

    def work(number: int, _threads: int | None, _: Progress | None) -> None:
        begun.append(number)
        wait.acquire()
        wait.release()

    def interrupt(_done: int, _total: int) -> None:
        wait.release()
        raise KeyboardInterrupt

    paths = files(tmp_path, *[9] * 50)
    with pytest.raises(KeyboardInterrupt):
        run_side_by_side(paths, work, id, threads=2, progress=interrupt)
    assert len(begun) < len(paths)


# ---- the command


def test_the_command_reports_in_the_order_of_its_inputs(
    inputs: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "out"
    assert main(["convert", f"--output-dir={folder}", *map(str, inputs)]) == 1
    said = capsys.readouterr()
    heads = [line for line in said.out.splitlines() if " -> " in line]
    good = [path for path in inputs if path.name != "in2"]
    assert heads == [f"{path} -> {folder}/{path.name}.gsym" for path in good]
    errors = [line for line in said.err.splitlines() if "error" in line]
    assert len(errors) == 1
    assert errors[0].startswith(f"gsym: error: {inputs[2]}: offset 0x0: neither")
