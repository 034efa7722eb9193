"""A soak: servers with faults, stores with full disks, kills and jumps of the clock.

    python -m tests.soak [MINUTES]

Each round has another seed. It ends with the first problem, or after so many minutes.
"""

from __future__ import annotations

import random
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from hypothesis import Phase, seed, settings
from hypothesis.stateful import run_state_machine_as_test

from benchmarks.breakpad_tree import place
from benchmarks.soak import Plan, run
from tests.server.test_eviction import Eviction
from tests.symbol_files import symbols

if TYPE_CHECKING:
    from benchmarks.soak_load import Tally

_ROOT = Path(__file__).resolve().parents[1]
_MODULES = 3
_LOAD = Plan(4, 16, 2, 0.3, True, pool=20, peak_seconds=0.5)  # noqa: FBT003 - faults
_MODEL = settings(
    max_examples=10,
    stateful_step_count=50,
    deadline=None,
    database=None,
    phases=[Phase.explicit, Phase.generate],
)
# Kinds of turmoil, and how much of it.
_TURMOIL = {"crash": 40, "together": 4}
_FULL = (
    'mount -t tmpfs -o size=400k none "$0" || exit 77; '
    'head -c 100000 /dev/zero > "$0/ballast"; '
    f'exec "{sys.executable}" -m tests.store.turmoil full "$0" $1 100'
)
_NO_MOUNT = 77
_MOST_UNANSWERED = 0.01  # of the requests about stored modules


def _say(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()


def load(folder: Path, seconds: float) -> str:
    """A server whose sources fail, under load."""
    files = []
    for number in range(_MODULES):
        path = folder / f"{number}.sym"
        path.write_bytes(symbols(number, functions=50))
        files.append(place(path, folder / "symbols"))
    outcome = run(files, folder, _LOAD._replace(seconds=seconds))
    check(outcome.stored)
    stored, faults = outcome.stored, sum(outcome.faults.values())
    killed = f"{len(outcome.restarts)} killed workers"
    lost = f"{stored.unanswered.total()} hung up, {stored.met_no_worker} met no worker"
    return f"{stored.statuses[200]} answers, {faults} faults, {killed}, {lost}"


def check(stored: Tally) -> None:
    """Check what became of requests about stored modules.

    The client of a killed worker is hung up, and sends its request again, so that few
    have no answer.

    Raises:
        AssertionError: Answers are wrong or refusals, or requests without an answer are
            more than one in a hundred, those that met no worker apart.
    """
    if stored.wrong or set(stored.statuses) - {200, 0}:
        raise AssertionError(f"{stored.wrong} wrong answers, {stored.statuses}")
    asked = stored.statuses.total() - stored.met_no_worker
    lost = stored.unanswered.total()
    if lost > asked * _MOST_UNANSWERED or not stored.statuses[200]:
        reasons = "; ".join(
            f"{count} {reason}" for reason, count in stored.unanswered.most_common()
        )
        raise AssertionError(
            f"{lost} of {asked} requests had no answer ({reasons}), and "
            f"{stored.met_no_worker} more met no worker"
        )


def turmoil(folder: Path, number: int) -> str:
    """Processes of a store that are killed, that work together, on a full disk."""
    module = [sys.executable, "-m", "tests.store.turmoil"]
    for kind, count in _TURMOIL.items():
        (place_of := folder / kind).mkdir()
        command = [*module, kind, str(place_of), str(number), str(count)]
        subprocess.run(command, check=True, cwd=_ROOT)
    (disk := folder / "disk").mkdir()
    full = ["unshare", "-m", "sh", "-c", _FULL, str(disk), str(number)]
    done = subprocess.run(full, check=False, cwd=_ROOT, stderr=subprocess.PIPE)
    if done.returncode == _NO_MOUNT or b"unshare" in done.stderr:
        return "no file system can be mounted"
    if done.returncode:
        raise AssertionError(done.stderr.decode())
    return "kills, processes, a full disk"


def main() -> None:
    """Go on for the minutes on the command line; by default 30."""
    minutes = float(sys.argv[1]) if len(sys.argv) > 1 else 30
    end = time.monotonic() + 60 * minutes
    number = 0
    while time.monotonic() < end:
        number = random.SystemRandom().randrange(1 << 31)
        _say(f"seed {number}: ")
        with TemporaryDirectory(prefix="gsym-soak-") as folder:
            for name in ("load", "turmoil"):
                Path(folder, name).mkdir()
            done = [
                load(Path(folder, "load"), min(60.0, 60 * minutes / 3)),
                turmoil(Path(folder, "turmoil"), number),
            ]
        run_state_machine_as_test(seed(number)(Eviction), settings=_MODEL)
        _say(f"{'; '.join(done)}; eviction by the model\n")


if __name__ == "__main__":
    main()
