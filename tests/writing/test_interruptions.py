"""Commands that are killed, and disks that fail, leave whole files or none."""

from __future__ import annotations

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

# How often each kind is interrupted.
KILLS = {"files": 40, "batch": 20, "eviction": 40, "uploads": 6}
CALLS = ("write", "fsync", "rename")
ERRORS = ("ENOSPC", "EIO")


@pytest.mark.parametrize("kind", KILLS)
def test_a_command_killed_at_any_instant_leaves_a_whole_file_or_none(
    kind: str, tmp_path: Path
) -> None:
    if kind == "batch":
        pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    command = [sys.executable, "-m", "tests.writing.killing", kind, str(tmp_path), "1"]
    done = subprocess.run(
        [*command, str(KILLS[kind])],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 0  # some were under way


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
