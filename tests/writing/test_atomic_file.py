"""Files appear whole or not at all, whatever goes wrong on the way."""

from __future__ import annotations

import errno
import os
import signal
import stat
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from gsym.errors import ClosedError, EmptyError
from gsym.model import FunctionInfo
from gsym.reading.reader import open as open_gsym
from gsym.writing.atomic_file import AtomicFile
from gsym.writing.creator import Creator
from tests.conftest import REPOSITORY
from tests.creations import create

if TYPE_CHECKING:
    from collections.abc import Callable

    from typing_extensions import Buffer

FUNCTION = FunctionInfo(0x1000, 16, "main")


class StopError(Exception):
    """Something goes wrong in the block."""


def write(path: Path | str, *pieces: Buffer, keep_same: bool = False) -> None:
    with AtomicFile(path, keep_same=keep_same) as file:
        for piece in pieces:
            file.write(piece)


@pytest.mark.parametrize("name", ["missing/a", "folder"])
def test_errors_name_the_file_that_was_asked_for(tmp_path: Path, name: str) -> None:
    (tmp_path / "folder").mkdir()
    path = str(tmp_path / name)
    with pytest.raises(OSError, match="directory") as caught:
        write(path, b"x")
    assert caught.value.filename == path


def test_a_full_device_is_named() -> None:
    if not Path("/dev/full").exists():
        pytest.skip("there is no /dev/full")
    with pytest.raises(OSError, match="No space") as caught:
        write("/dev/full", b"x")
    assert caught.value.filename == "/dev/full"


# ---- success --------------------------------------------------------------------


@pytest.mark.parametrize("old", [None, b"", b"old" * 1000])
def test_what_was_written_replaces_what_was_there(
    tmp_path: Path, old: bytes | None
) -> None:
    path = tmp_path / "a"
    if old is not None:
        path.write_bytes(old)
    write(str(path), b"one ", bytearray(b"two "), memoryview(b"three"))
    assert path.read_bytes() == b"one two three"
    assert os.listdir(tmp_path) == ["a"]  # noqa: PTH208 - names


def test_nothing_is_seen_before_the_end(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"old")
    with AtomicFile(path) as file:
        file.write(b"new")
        assert path.read_bytes() == b"old"
    assert path.read_bytes() == b"new"


def test_a_short_write_is_continued(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = os.write
    monkeypatch.setattr(os, "write", lambda fd, data: whole(fd, bytes(data[:3])))
    write(tmp_path / "a", b"0123456789")
    assert (tmp_path / "a").read_bytes() == b"0123456789"


def test_file_and_directory_are_synced_in_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps: list[str] = []

    def sync(descriptor: int) -> None:
        is_directory = stat.S_ISDIR(os.fstat(descriptor).st_mode)
        steps.append("sync directory" if is_directory else "sync file")

    replace = os.replace

    def rename(source: str, target: str) -> None:
        steps.append("rename")
        replace(source, target)

    monkeypatch.setattr(os, "fsync", sync)
    monkeypatch.setattr(os, "replace", rename)
    write(tmp_path / "a", b"x")
    assert steps == ["sync file", "rename", "sync directory"]


@pytest.mark.parametrize("mask", [0o022, 0o077, 0o002])
def test_the_mode_is_that_of_any_new_file(tmp_path: Path, mask: int) -> None:
    old = os.umask(mask)
    try:
        write(tmp_path / "a", b"x")
    finally:
        os.umask(old)
    assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == 0o666 & ~mask


def test_a_pipe_without_a_path_is_written_to() -> None:
    source, target = os.pipe()
    write(f"/dev/fd/{target}", b"x")
    os.close(target)
    with os.fdopen(source, "rb") as pipe:
        assert pipe.read() == b"x"


@pytest.mark.parametrize("mode", [0o600, 0o444])
def test_a_mode_holds_from_the_first_byte_on(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "a"
    with AtomicFile(path, mode=mode) as file:
        file.write(b"x")
        (temporary,) = tmp_path.iterdir()
        assert stat.S_IMODE(temporary.stat().st_mode) == mode
    assert stat.S_IMODE(path.stat().st_mode) == mode


def test_a_symbolic_link_is_followed(tmp_path: Path) -> None:
    (tmp_path / "to").mkdir()
    target, link = tmp_path / "to" / "a", tmp_path / "link"
    link.symlink_to(target)
    write(link, b"new")
    assert link.is_symlink()
    assert target.read_bytes() == b"new"


def test_a_name_may_be_as_long_as_names_can_be(tmp_path: Path) -> None:
    for name in ("n" * 255, "\N{SNOWMAN}" * 85):
        write(tmp_path / name, b"x")
        assert (tmp_path / name).read_bytes() == b"x"


def test_a_pipe_is_written_to(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        write(pipe, b"through")
        assert os.read(reader, 100) == b"through"
    finally:
        os.close(reader)
    assert pipe.is_fifo()


def test_an_old_file_that_is_mapped_stays_readable(tmp_path: Path) -> None:
    path = tmp_path / "a.gsym"
    path.write_bytes(create([FUNCTION]))
    with open_gsym(path) as reader:
        write(path, create([FUNCTION._replace(name="other")]))
        assert list(reader.functions()) == [FUNCTION]


# ---- the same bytes -------------------------------------------------------------


@pytest.mark.parametrize(
    ("old", "is_kept"),
    [(b"same", True), (b"sama", False), (b"sam", False), (b"same!", False)],
)
def test_a_file_that_would_stay_the_same_is_kept_on_request(
    tmp_path: Path, old: bytes, *, is_kept: bool
) -> None:
    path = tmp_path / "a"
    path.write_bytes(old)
    before = path.stat().st_ino
    write(path, b"same", keep_same=True)
    assert path.read_bytes() == b"same"
    assert (path.stat().st_ino == before) == is_kept
    assert os.listdir(tmp_path) == ["a"]  # noqa: PTH208 - names


def test_the_same_bytes_are_written_anew_otherwise(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"same")
    with path.open("rb"):  # keeps its inode from being used again
        before = path.stat().st_ino
        write(path, b"same")
        assert path.stat().st_ino != before


def test_keeping_the_same_file_creates_a_new_one(tmp_path: Path) -> None:
    write(tmp_path / "a", b"", keep_same=True)
    assert (tmp_path / "a").read_bytes() == b""


# ---- failure --------------------------------------------------------------------


def fail_in_block(path: Path) -> None:
    with AtomicFile(path) as file:
        file.write(b"half")
        raise StopError


def failing(name: str) -> Callable[[pytest.MonkeyPatch], None]:
    def fail(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    return lambda monkeypatch: monkeypatch.setattr(os, name, fail)


@pytest.mark.parametrize("old", [None, b"old"])
def test_an_exception_leaves_everything_as_it_was(
    tmp_path: Path, old: bytes | None
) -> None:
    path = tmp_path / "a"
    if old is not None:
        path.write_bytes(old)
    with pytest.raises(StopError):
        fail_in_block(path)
    assert [entry.read_bytes() for entry in tmp_path.iterdir()] == (
        [] if old is None else [old]
    )


@pytest.mark.parametrize("call", ["write", "fsync", "replace"])
def test_a_full_device_leaves_everything_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"old")
    with monkeypatch.context() as patch:
        failing(call)(patch)
        with pytest.raises(OSError, match="No space left"):
            write(path, b"new")
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["a"]  # noqa: PTH208 - names


def test_a_file_system_that_cannot_sync_folders_is_no_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def sync(descriptor: int) -> None:
        if stat.S_ISDIR(os.fstat(descriptor).st_mode):
            raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))

    monkeypatch.setattr(os, "fsync", sync)
    write(tmp_path / "a", b"x")
    assert (tmp_path / "a").read_bytes() == b"x"


def test_runs_that_write_the_same_file_at_once_do_not_interfere(
    tmp_path: Path,
) -> None:
    path = tmp_path / "a"
    with ExitStack() as stack:
        first, *others = [stack.enter_context(AtomicFile(path)) for _ in range(12)]
        first.write(b"first")
        for number, other in enumerate(others):
            other.write(b"%d" % number)
    assert path.read_bytes() == b"first"
    assert os.listdir(tmp_path) == ["a"]  # noqa: PTH208 - names


# Begins a file, prints a line, and waits for a signal.
BEGIN = """
import sys, time
from gsym.writing.atomic_file import AtomicFile
from gsym.cli.program import run_program
def work(_):
    with AtomicFile(sys.argv[1], mode=int(sys.argv[2], 8)) as file:
        file.write(b"half")
        print("begun", flush=True)
        time.sleep(60)
sys.exit(run_program([], lambda _: (work, None), print))
"""


def killed(path: Path, how: signal.Signals, mode: str = "644") -> int:
    """The exit status of a process that gets a signal while it writes *path*."""
    command = [sys.executable, "-c", BEGIN, str(path), mode]
    with subprocess.Popen(command, cwd=REPOSITORY, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"begun\n"
        process.send_signal(how)
        return process.wait()


def test_a_terminated_run_leaves_no_temporary_file(tmp_path: Path) -> None:
    assert killed(tmp_path / "a", signal.SIGTERM) == 128 + signal.SIGTERM
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("mode", ["644", "444"])
def test_temporary_files_of_a_killed_run_are_removed_by_the_next(
    tmp_path: Path, mode: str
) -> None:
    path = tmp_path / "a"
    with AtomicFile(path):  # so that the leftover file does not have the first number
        killed(path, signal.SIGKILL, mode)
    assert len(list(tmp_path.glob(".a.*"))) == 1
    write(path, b"whole")
    assert path.read_bytes() == b"whole"
    assert os.listdir(tmp_path) == ["a"]  # noqa: PTH208 - names


def test_a_file_that_another_machine_began_is_neither_published_nor_removed(
    tmp_path: Path,
) -> None:
    path, temporary = tmp_path / "a", tmp_path / ".a.0.tmp"
    write(path, b"old")

    def write_while_it_is_taken() -> None:
        with AtomicFile(path) as file:
            file.write(b"whole")
            temporary.unlink()  # by a machine that does not share locks
            temporary.write_bytes(b"half")

    with pytest.raises(OSError, match="Another machine removed"):
        write_while_it_is_taken()
    assert path.read_bytes() == b"old"
    assert temporary.read_bytes() == b"half"


def test_a_file_system_without_locks_is_written_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_descriptor: int, _operation: int) -> None:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr("gsym.writing.atomic_file.flock", refuse)
    with AtomicFile(tmp_path / "a") as first:
        first.write(b"first")
        write(tmp_path / "a", b"second")
    assert (tmp_path / "a").read_bytes() == b"first"
    assert os.listdir(tmp_path) == ["a"]  # noqa: PTH208 - names


# ---- the creator's files --------------------------------------------------------


def test_a_creator_saves_the_bytes_it_would_give(tmp_path: Path) -> None:
    path = tmp_path / "a.gsym"
    with Creator() as creator:
        creator.add(FUNCTION)
        creator.save(path)
        assert creator.report is not None
        assert creator.report.file_size == path.stat().st_size
    assert path.read_bytes() == create([FUNCTION])


def test_a_creator_that_cannot_make_a_file_is_not_used_up(tmp_path: Path) -> None:
    with Creator() as creator:
        creator.add(FUNCTION)
        with pytest.raises(FileNotFoundError):
            creator.save(tmp_path / "none" / "a.gsym")
        creator.save(tmp_path / "a.gsym")
    assert (tmp_path / "a.gsym").read_bytes() == create([FUNCTION])


def test_a_creator_leaves_nothing_behind_when_its_file_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Creator() as creator:
        creator.add(FUNCTION)
        with monkeypatch.context() as patch:
            failing("write")(patch)
            with pytest.raises(OSError, match="No space left"):
                creator.save(tmp_path / "a.gsym")
        with pytest.raises(ClosedError):
            creator.save(tmp_path / "a.gsym")
    assert list(tmp_path.iterdir()) == []


def test_a_creator_without_functions_leaves_no_file(tmp_path: Path) -> None:
    with Creator() as creator, pytest.raises(EmptyError):
        creator.save(tmp_path / "a.gsym")
    assert list(tmp_path.iterdir()) == []
