"""What a confined process can be asked to do; runs in that process."""

from __future__ import annotations

import errno
import json
import os
from importlib import import_module

from gsym.errors import GsymError, LimitError
from gsym.server.confined_process import ANSWER, FULL
from gsym.server.confinement import ChildLimits, confine
from gsym.writing.atomic_file import FULL_DISK

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


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
    "add": ("gsym.server.confined_adding", "add_alone"),
    "assemble": ("gsym.server.symbfiles.assembly_tasks", "assemble"),
}
