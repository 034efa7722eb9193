"""Commands that are killed, and disks that fail, leave whole files or none."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.conftest import REPOSITORY, find_peer
from tests.inputs.scaled import functions_of_a_unit
from tests.sanitizer import no_sanitizer

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.long, no_sanitizer]

# How often runs of each kind are interrupted.
TIMES = {"files": 40, "batch": 6, "adding": 12, "eviction": 12, "uploads": 6}
ENDED_BY_LIMIT = {"files", "adding"}  # others may write little, or go on
SLOW = pytest.mark.slow
SHORT_WRITES = """
#define _GNU_SOURCE
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
ssize_t write(int descriptor, const void *bytes, size_t size) {
    struct stat status;
    if (fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode)) size -= size / 2;
    return syscall(SYS_write, descriptor, bytes, size);
}
"""
CALLS = ("write", "fsync", "rename")
ERRORS = ("ENOSPC", "EIO")


def interrupt(
    kind: str, folder: Path, times: int, **environment: str
) -> tuple[int, int]:
    """Interrupt runs of a kind; how many a signal ended, and how many the limit."""
    if kind == "batch":
        pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    if kind == "uploads":
        pytest.importorskip("uvicorn", reason="the extra `server` is not installed")
    folder.mkdir()
    command = [sys.executable, "-m", "tests.writing.killing", kind, str(folder), "1"]
    done = subprocess.run(
        [*command, str(times)],
        cwd=REPOSITORY,
        # Byte code would be cut like other files, and stay.
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1", **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    signals, limit = map(int, done.stdout.split())
    return signals, limit


@pytest.mark.parametrize(
    "kind",
    ["files", "batch", "adding", "eviction", pytest.param("uploads", marks=SLOW)],
)
def test_a_command_interrupted_at_any_instant_leaves_what_is_complete_or_nothing(
    kind: str, tmp_path: Path
) -> None:
    signals, limit = interrupt(kind, tmp_path / "kind", TIMES[kind])
    assert signals > 0
    assert limit > 0 or kind not in ENDED_BY_LIMIT


@pytest.mark.skipif(sys.platform != "linux", reason="needs LD_PRELOAD")
@pytest.mark.parametrize(
    "kind",
    [
        "files",
        "adding",
        *(pytest.param(kind, marks=SLOW) for kind in ("batch", "uploads")),
    ],
)
def test_writes_that_take_half_of_the_bytes_change_nothing(
    kind: str, tmp_path: Path
) -> None:
    source, library = tmp_path / "short.c", tmp_path / "short.so"
    source.write_text(SHORT_WRITES)
    compiler = find_peer("cc", "gcc")
    command = [compiler, "-shared", "-fPIC", "-o", str(library), str(source)]
    subprocess.run(command, check=True)
    short = {"LD_PRELOAD": str(library)}
    command = [sys.executable, "-c", "import os; os.write(1, b'1234')"]
    with (tmp_path / "half").open("wb") as half:
        subprocess.run(command, env=short, stdout=half, check=True)
    assert (tmp_path / "half").read_bytes() == b"12"
    interrupt(kind, tmp_path / "short", 3, **short)
    if kind == "files":
        interrupt(kind, tmp_path / "whole", 0)
        outputs = list(tmp_path.glob("whole/outputs/*"))
        assert outputs
        for path in outputs:
            other = tmp_path / "short" / "outputs" / path.name
            assert other.read_bytes() == path.read_bytes()


def run_with_fault(folder: Path, call: str, error: str, when: int) -> tuple[int, bool]:
    """The exit status of a conversion, and whether the *when*-th call failed."""
    strace = find_peer("strace")
    log = folder / "strace"
    fault = f"inject={call}:error={error}:when={when}"
    command = [strace, "-f", "-o", str(log), "-e", f"trace={call}", "-e", fault]
    words = ["convert", str(folder / "program"), "-o", str(folder / "out" / "a.gsym")]
    done = subprocess.run(
        [*command, sys.executable, "-m", "gsym", *words, "-q"],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=False,
    )
    if "ptrace" in done.stderr:
        pytest.skip("no process can be traced here")
    return done.returncode, "(INJECTED)" in log.read_text()


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("error", ERRORS)
def test_a_call_that_fails_leaves_the_old_file(
    call: str, error: str, tmp_path: Path
) -> None:
    (tmp_path / "program").write_bytes(functions_of_a_unit(20))
    (tmp_path / "out").mkdir()
    output = tmp_path / "out" / "a.gsym"
    status, _ = run_with_fault(tmp_path, call, error, 1000)
    assert status == 0
    whole = output.read_bytes()
    for when in range(1, 10):
        output.write_bytes(b"old")
        status, failed = run_with_fault(tmp_path, call, error, when)
        if not failed:
            break
        # The sync of the folder comes after the renaming.
        assert output.read_bytes() in {b"old", whole}
        assert status in {0, 1}
        assert status == 1 or output.read_bytes() == whole
        assert [path.name for path in output.parent.iterdir()] == ["a.gsym"]
    assert when > 1
    assert not failed


def test_an_interrupted_call_is_made_again(tmp_path: Path) -> None:
    (tmp_path / "program").write_bytes(functions_of_a_unit(20))
    (tmp_path / "out").mkdir()
    for call in ("write", "fsync"):
        assert run_with_fault(tmp_path, call, "EINTR", 1) == (0, True)
