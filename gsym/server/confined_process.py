"""Runs a task in a confined process of its own.

The process gets a folder, in which it reads and writes. Its answer is a file there too,
of which only a limited size is read. When the time is up, or its parent is gone, it is
killed.
"""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
from contextlib import suppress
from importlib import import_module

from gsym.errors import FormatError, GsymError, LimitError
from gsym.server.confinement import ChildLimits, confine
from gsym.writing.atomic_file import FULL_DISK

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any


ANSWER = "answer.json"
FULL = 28  # exit code of a process whose answer does not fit on the disk
_LARGEST_ANSWER = 16 << 20  # bytes: names and modules of thousands of files
_STARTING = 10  # seconds more by the clock, for an interpreter to start
_PER_SIZE = 100 << 20
_MEMORY_PER_BYTE = 6  # of input: it is mapped, inflated, and becomes tables
_BOOTSTRAP = (
    "import json, sys; order = json.load(sys.stdin.buffer); "
    "sys.path[:] = order['path']; "
    "from gsym.server.confined_process import run_order; run_order(order)"
)
# What an engine with sanitizers needs; nothing else of the environment is handed on,
# for it may hold credentials.
_KEPT_VARIABLES = (
    *("LD_PRELOAD", "LD_LIBRARY_PATH", "ASAN_OPTIONS", "LSAN_OPTIONS"),
    *("UBSAN_OPTIONS", "LANG", "LC_ALL"),
)


class ConfinedError(GsymError):
    """The process was stopped, or broke down, before it had an answer."""


def run_confined(  # noqa: PLR0913 - what a process is told
    task: str,
    arguments: dict[str, Any],
    folder: str,
    limits: ChildLimits,
    *,
    inputs: Sequence[str] = (),
    companions: Sequence[str] = (),
    readable: Sequence[str] = (),
) -> dict[str, Any]:
    """What a task answers.

    Args:
        task: One of those of `confined_tasks`.
        arguments: Its own, as JSON can have them. Paths in it are below *folder*.
        folder: Belongs to the process; nothing in it is to be trusted afterwards.
        limits: What the process may use.
        inputs: What it reads. Its time grows with their size, and its memory with
            that of the largest.
        companions: Files elsewhere that it may read together with an input. Its time
            and its memory grow with their size.
        readable: Files and folders elsewhere that it may read.

    Raises:
        ConfinedError: It was stopped or broke down.
        FormatError: The task found its input to be of no use.
        LimitError: It found it to be too much.
        OSError: The process cannot be started, or the disk is full.
    """
    sizes = [os.path.getsize(path) for path in inputs]
    beside = sum(map(os.path.getsize, companions))
    read = sum(sizes) + beside
    seconds = limits.seconds + limits.seconds_per_100_mib * read // _PER_SIZE
    order = {
        "path": [os.path.abspath(each) for each in sys.path if each],
        "task": task,
        "arguments": arguments,
        "folder": folder,
        "limits": list(limits),
        "seconds": seconds,
        "memory": limits.memory + _MEMORY_PER_BYTE * (max(sizes, default=0) + beside),
        "readable": [*readable, *companions],
    }
    with suppress(FileNotFoundError):
        os.unlink(os.path.join(folder, ANSWER))  # of a task before
    status = _run(json.dumps(order), folder, seconds + _STARTING)
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
    """What holds for such processes on this system, in words; tried once.

    Raises:
        ConfinedError: No such process gets as far as to tell.
        OSError: None can be started.
    """
    holds = run_confined("probe", {}, folder, limits).get("holds")
    return [str(each) for each in holds] if isinstance(holds, list) else []


def _run(order: str, folder: str, seconds: float) -> int | None:
    """How the process ended: its exit code, or None when it had to be killed."""
    kept = {name: os.environ[name] for name in _KEPT_VARIABLES if name in os.environ}
    # -I: neither the environment nor the current folder names modules to load.
    with subprocess.Popen(  # noqa: S603 - the interpreter that runs this
        [sys.executable, "-I", "-B", "-c", _BOOTSTRAP],
        cwd=folder,
        env={**kept, "TMPDIR": folder, "MALLOC_ARENA_MAX": "2"},
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    ) as process:
        try:
            process.communicate(order.encode(), seconds)
        except subprocess.TimeoutExpired:
            return None
        finally:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
        return process.returncode


def _read_answer(folder: str) -> dict[str, Any] | None:
    """The answer, unless it is none: whoever wrote it may be anybody's by now."""
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
        return f"reading it took more than {seconds} seconds, or too much memory"
    if status < 0:
        return f"reading it ended with signal {-status}"
    return f"reading it ended without an answer (exit code {status})"


_LIMITS = {errno.ENOMEM, errno.EFBIG}  # of this process
_FULL = FULL_DISK - _LIMITS


def run_order(order: dict[str, Any]) -> None:
    """Give up all rights, do the task and write the answer."""
    folder = order["folder"]
    limits = ChildLimits(*order["limits"])
    module, name = _TASKS[order["task"]]
    # Imported first: without memory for its own code, Python raises misleading errors.
    task = getattr(import_module(module), name)
    holds = confine(
        *(limits, order["seconds"], order["memory"]), folder, order["readable"]
    )
    try:
        answer = {"holds": holds, **task(**order["arguments"])}
    except LimitError as error:
        answer = {"holds": holds, "error": error.reason, "is_limit": True}
    except MemoryError:
        answer = {"holds": holds, "error": "it takes too much memory", "is_limit": True}
    except OSError as error:
        answer = {"holds": holds, "error": _reason(error)}
        answer |= {"is_limit": error.errno in _LIMITS, "is_full": error.errno in _FULL}
    except (GsymError, ValueError) as error:
        answer = {"holds": holds, "error": _reason(error)}
    try:
        with open(os.path.join(folder, ANSWER), "x", encoding="utf-8") as file:
            json.dump(answer, file)
    except OSError as error:
        raise SystemExit(FULL if error.errno in _FULL else 1) from None


def probe() -> dict[str, Any]:
    """Do nothing: the answer says how the process is confined."""
    return {}


def _reason(error: Exception) -> str:
    """Without paths: they are those of the server."""
    if isinstance(error, GsymError):
        where = "" if error.offset is None else f"offset {error.offset:#x}: "
        return where + error.reason
    if isinstance(error, OSError):
        return error.strerror or type(error).__name__
    return str(error)


# Module and function of each.
_TASKS = {
    "probe": (__name__, "probe"),
    "take apart": ("gsym.server.upload_tasks", "take_apart"),
    "convert": ("gsym.server.upload_tasks", "convert_members"),
    "add": ("gsym.server.confined_modules", "add_alone"),
    "assemble": ("gsym.server.symbfiles.assembly", "assemble"),
}
