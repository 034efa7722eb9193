"""Commands that are killed, and disks that fail, leave whole files or none."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.conftest import REPOSITORY, find_peer
from tests.sanitizer import no_sanitizer

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.slow, no_sanitizer]

# How often runs of each kind are interrupted.
TIMES = {"files": 40, "batch": 6, "adding": 12, "eviction": 12, "uploads": 6}
ENDED_BY_LIMIT = {"files", "adding"}  # others may write little, or go on
# With calls that fail, and with -DSHORT writes of half of the bytes.
DISK = r"""
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static int *left; /* of calls until one fails; also of forked processes */
static int failure;

__attribute__((constructor)) static void begin(void) {
    int kind = MAP_SHARED | MAP_ANONYMOUS;
    left = mmap(NULL, sizeof *left, PROT_READ | PROT_WRITE, kind, -1, 0);
}

/* Let a call fail, the first one if `when` is 1; what was left of the one before. */
int fail_call(int when, int error) {
    int was_left = *left;
    *left = when;
    failure = error;
    return was_left;
}

static int fails(void) {
    if (*left == 0 || --*left > 0) return 0;
    errno = failure;
    return 1;
}

static int is_file(int descriptor) {
    struct stat status;
    return fstat(descriptor, &status) == 0 &&
           (S_ISREG(status.st_mode) || S_ISDIR(status.st_mode));
}

ssize_t write(int descriptor, const void *bytes, size_t size) {
    if (is_file(descriptor)) {
        if (fails()) return -1;
#ifdef SHORT
        size -= size / 2;
#endif
    }
    return syscall(SYS_write, descriptor, bytes, size);
}

int fsync(int descriptor) {
    return is_file(descriptor) && fails() ? -1 : syscall(SYS_fsync, descriptor);
}

int ftruncate(int descriptor, off_t size) {
    if (is_file(descriptor) && fails()) return -1;
    return syscall(SYS_ftruncate, descriptor, size);
}

int rename(const char *old_path, const char *new_path) {
    /* It is never interrupted. */
    return failure != EINTR && fails() ? -1 : syscall(SYS_rename, old_path, new_path);
}
"""


def interrupt(
    kind: str, folder: Path, times: int | str, **environment: str
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


@pytest.mark.parametrize("kind", ["files", "batch", "adding", "eviction", "uploads"])
def test_a_command_interrupted_at_any_instant_leaves_what_is_complete_or_nothing(
    kind: str, tmp_path: Path
) -> None:
    signals, limit = interrupt(kind, tmp_path / "kind", TIMES[kind])
    assert signals > 0
    assert limit > 0 or kind not in ENDED_BY_LIMIT


def disk(folder: Path, *options: str) -> dict[str, str]:
    """The environment of a process whose calls may fail."""
    if sys.platform != "linux":
        pytest.skip("needs LD_PRELOAD")
    source, library = folder / "disk.c", folder / "disk.so"
    source.write_text(DISK)
    command = [find_peer("cc", "gcc"), *options, "-shared", "-fPIC", "-O1"]
    subprocess.run([*command, "-o", str(library), str(source)], check=True)
    return {"LD_PRELOAD": str(library)}


@pytest.mark.parametrize("kind", ["files", "adding", "batch", "uploads"])
def test_writes_that_take_half_of_the_bytes_change_nothing(
    kind: str, tmp_path: Path
) -> None:
    short = disk(tmp_path, "-DSHORT")
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


def test_a_call_that_fails_leaves_what_is_complete_or_nothing(tmp_path: Path) -> None:
    """And one that is interrupted is made again."""
    failed, _ = interrupt("files", tmp_path / "files", "calls", **disk(tmp_path))
    assert failed > 40
