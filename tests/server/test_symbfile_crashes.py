"""Receivers of symbfiles that are killed: nothing half-published, and all goes on."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.server.running import RunningServer, token_lines
from tests.server.symbfile_pushes import (
    KEY,
    TAKEN,
    download,
    function_at,
    push,
    ranges,
    records,
)

if TYPE_CHECKING:
    from typing_extensions import Self

pytestmark = pytest.mark.confined

ROOT = Path(__file__).resolve().parents[2]
FEWEST_STEPS = 20


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["ranges", "returnpads"])
def test_a_receiver_killed_at_any_step_publishes_all_or_nothing(
    tmp_path: Path, kind: str
) -> None:
    process = subprocess.run(
        [sys.executable, "-m", "tests.server.symbfile_killing", kind, str(tmp_path)],
        check=False,
        capture_output=True,
        text=True,
        cwd=ROOT,
    )
    assert process.returncode == 0, process.stderr
    answer = json.loads(process.stdout)
    seen = [tuple(each) for each in answer["seen"]]
    whole = answer["whole"]
    # Killed in front of the publication, behind it, and in the end not at all.
    assert len(seen) > FEWEST_STEPS
    assert sorted(set(seen), key=seen.index) == [
        (True, 0),
        (True, whole),
        (False, whole),
    ]


class OtherProcess(RunningServer):
    """`gsym serve` with two workers, killed at the end of the `with` block."""

    def __init__(self, store: Path) -> None:
        command = [sys.executable, "-m", "gsym", "serve", "--port=0", "--workers=2"]
        tokens = store.parent / "tokens"
        tokens.write_text(token_lines({KEY: "upload"}))
        self._process = subprocess.Popen(
            [*command, f"--store={store}", f"--set=token_files={tokens}"],
            stderr=subprocess.PIPE,
            start_new_session=True,
            text=True,
        )

    def __enter__(self) -> Self:
        assert self._process.stderr is not None
        lines = iter(self._process.stderr.readline, "")  # until it has ended
        greeting = next(line for line in lines if "serving at" in line)
        self._port = int(json.loads(greeting)["message"].rpartition(":")[2])
        return self

    @property
    def port(self) -> int:
        return self._port

    def __exit__(self, *_: object) -> None:
        os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        assert self._process.stderr is not None
        self._process.stderr.close()


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="only Linux spreads connections")
def test_a_restarted_server_keeps_received_parts(
    tmp_path: Path,
) -> None:
    parts = 6
    bodies = [ranges(1, 3 * part) for part in range(parts)]
    for some in (range(4), range(3, 6)):
        with OtherProcess(tmp_path) as server:
            for part in some:
                assert push(server, 1, bodies[part], part, parts).json == TAKEN
            is_whole = download(server, 1, "ranges").status == 200
            assert is_whole == (parts - 1 in some)
            if is_whole:
                assert function_at(server, 1, 0x1000) == "f1_0"
                whole = records(download(server, 1, "ranges").body)
    assert whole == [each for body in bodies for each in records(body)]
    assert not list(tmp_path.glob(".symbfiles/*"))
