"""Runs a task in a separate, confined process.

The process is forked for the task by one that has loaded the code. It reads and writes
in a folder of its own. Its answer is a file there, of which only a limited size is
read. It is killed when it times out or the server ends.
"""

from __future__ import annotations

import errno
import json
import os
import signal
from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module
from typing import Any

from gsym.confined.confinement import ChildLimits, confine
from gsym.confined.forkserver import ForkServer
from gsym.errors import FormatError, GsymError, LimitError, reason_of
from gsym.writing.atomic_file import FULL_DISK

ANSWER = "answer.json"
FULL = 28  # exit code of a process whose answer does not fit on the disk
_LARGEST_ANSWER = 16 << 20  # bytes: names and modules of thousands of files
_STARTING = 10  # additional seconds of real time, for a process to start
_PER_SIZE = 100 << 20
_MEMORY_PER_BYTE = 6  # of input, which is mapped, inflated and turned into tables


class ConfinedError(GsymError):
    """The process was stopped or failed before it had an answer."""


def run_confined(  # noqa: PLR0913 - all that defines a process
    task: str,
    arguments: dict[str, Any],
    folder: str,
    limits: ChildLimits,
    *,
    inputs: Sequence[str] = (),
    companions: Sequence[str] = (),
    readable: Sequence[str] = (),
) -> dict[str, Any]:
    """Run a task and return its answer.

    Args:
        task: A key of `TASKS`.
        arguments: Its arguments, as JSON values. Paths are below *folder*.
        folder: Folder of the process; its contents are untrusted afterwards.
        limits: Limits of the process.
        inputs: Files that it reads. The time limit grows with their total size, the
            memory limit with the largest.
        companions: Files elsewhere that it may read together with an input. Both limits
            grow with their total size.
        readable: Other files and folders that it may read.

    Raises:
        ConfinedError: The process was stopped or failed.
        LimitError: The input exceeds a limit.
    """
    sizes = [os.path.getsize(path) for path in inputs]
    companion_size = sum(map(os.path.getsize, companions))
    read = sum(sizes) + companion_size
    seconds = limits.seconds + limits.seconds_per_100_mib * read // _PER_SIZE
    order = {
        "task": TASKS[task],
        "arguments": arguments,
        "folder": folder,
        "limits": list(limits),
        "seconds": seconds,
        "memory": limits.memory
        + _MEMORY_PER_BYTE * (max(sizes, default=0) + companion_size),
        "readable": [*readable, *companions],
    }
    with suppress(FileNotFoundError):
        os.unlink(os.path.join(folder, ANSWER))  # of the previous task
    status = FORKS.run(order, seconds + _STARTING)
    answer = _read_answer(folder) if status == 0 else None
    if status == FULL:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    if answer is None:
        raise ConfinedError(_ending(status, seconds))
    if answer.get("is_full"):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    if answer.get("is_limit"):
        raise LimitError(str(answer.get("error")))
    if "error" in answer:
        raise FormatError(str(answer["error"]))
    return answer


def confinement_report(folder: str, limits: ChildLimits) -> list[str]:
    """The measures in effect for confined processes on this system, found by a trial.

    Raises:
        ConfinedError: The process fails before it can report.
    """
    measures = run_confined("probe", {}, folder, limits).get("measures")
    return [str(each) for each in measures] if isinstance(measures, list) else []


def _read_answer(folder: str) -> dict[str, Any] | None:
    """The answer, if it is valid; the process that wrote it is untrusted."""
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        with open(
            os.open(os.path.join(folder, ANSWER), flags), "rb", closefd=True
        ) as file:
            answer = json.loads(file.read(_LARGEST_ANSWER))
    except (OSError, ValueError, RecursionError):
        return None
    return answer if isinstance(answer, dict) else None


def _ending(status: int | None, seconds: int) -> str:
    if status is None or -status in {signal.SIGXCPU, signal.SIGKILL}:
        return f"processing took more than {seconds} seconds or too much memory"
    if status < 0:
        return f"the process was killed by signal {-status}"
    return f"the process ended without an answer (exit status {status})"


_LIMITS = {errno.ENOMEM, errno.EFBIG}  # of this process
_FULL = FULL_DISK - _LIMITS


def run_order(order: dict[str, Any]) -> None:
    """Give up privileges, run the task and write the answer."""
    folder = order["folder"]
    limits = ChildLimits(*order["limits"])
    module, name = order["task"]
    # Imported first: without memory for its own code, Python raises misleading errors.
    task = getattr(import_module(module), name)
    measures = confine(
        *(limits, order["seconds"], order["memory"]), folder, order["readable"]
    )
    try:
        answer = {"measures": measures, **task(**order["arguments"])}
    except LimitError as error:
        answer = {"measures": measures, "error": error.reason, "is_limit": True}
    except MemoryError:
        answer = {"measures": measures, "error": "out of memory", "is_limit": True}
    except OSError as error:
        answer = {"measures": measures, "error": _reason(error)}
        answer |= {"is_limit": error.errno in _LIMITS, "is_full": error.errno in _FULL}
    except (GsymError, ValueError) as error:
        answer = {"measures": measures, "error": _reason(error)}
    try:
        with open(os.path.join(folder, ANSWER), "x", encoding="utf-8") as file:
            json.dump(answer, file)
    except OSError as error:
        raise SystemExit(FULL if error.errno in _FULL else 1) from None


def probe() -> dict[str, Any]:
    """Do nothing; the answer lists how the process is confined."""
    return {}


def _reason(error: Exception) -> str:
    """The reason without paths, which would be paths of the server."""
    offset = error.offset if isinstance(error, GsymError) else None
    return ("" if offset is None else f"offset {offset:#x}: ") + reason_of(error)


# Module and function of each task.
TASKS = {
    "probe": (__name__, "probe"),
    "unpack": ("gsym.confined.uploads", "unpack_upload"),
    "convert": ("gsym.confined.uploads", "convert_members"),
    "add": ("gsym.confined.adding", "add_alone"),
    "facts": ("gsym.confined.binaries", "confined_facts"),
    "index": ("gsym.confined.binaries", "confined_index"),
    "extract": ("gsym.confined.binaries", "confined_extract"),
    "dump": ("gsym.reports.confined_dump", "read_confined_dump"),
    "assemble": ("gsym.confined.symbfile_parts", "assemble"),
}
# Loaded when first needed: by nearly every conversion.
_LATE = (
    *("gsym.conversion.inputs.dwarf", "encodings.ascii"),
    "gsym.containers.cabinet_library",  # which starts processes to find its library
)
# The confined processes, and the one that waits for the next task.
FORKS: ForkServer = ForkServer(
    f"{__name__}:run_order", [*(module for module, _ in TASKS.values()), *_LATE]
)
