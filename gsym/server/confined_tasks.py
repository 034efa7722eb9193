"""What a confined process can be asked to do; runs in that process."""

from __future__ import annotations

import errno
import json
import os

from gsym.errors import GsymError, LimitError
from gsym.server.confined_process import ANSWER
from gsym.server.confinement import ChildLimits, confine

__all__ = ["run_order"]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


_LIMITS = {errno.ENOMEM, errno.EFBIG}  # of this process
_FULL = {errno.ENOSPC, errno.EDQUOT}


def run_order(order: dict[str, Any]) -> None:
    """Give up all rights, do the task and write the answer."""
    folder = order["folder"]
    limits = ChildLimits(*order["limits"])
    holds = confine(
        *(limits, order["seconds"], order["memory"]), folder, order["readable"]
    )
    try:
        answer = {"holds": holds, **_TASKS[order["task"]](**order["arguments"])}
    except LimitError as error:
        answer = {"holds": holds, "error": error.reason, "is_limit": True}
    except MemoryError:
        answer = {"holds": holds, "error": "it takes too much memory", "is_limit": True}
    except OSError as error:
        answer = {"holds": holds, "error": _reason(error)}
        answer |= {"is_limit": error.errno in _LIMITS, "is_full": error.errno in _FULL}
    except (GsymError, ValueError) as error:
        answer = {"holds": holds, "error": _reason(error)}
    with open(os.path.join(folder, ANSWER), "x", encoding="utf-8") as file:
        json.dump(answer, file)


def _probe() -> dict[str, Any]:
    return {}


def _take_apart(**arguments: Any) -> dict[str, Any]:
    from gsym.server.upload_tasks import take_apart

    return take_apart(**arguments)


def _convert(**arguments: Any) -> dict[str, Any]:
    from gsym.server.upload_tasks import convert_members

    return convert_members(**arguments)


def _add(**arguments: Any) -> dict[str, Any]:
    from gsym.server.confined_adding import add_alone

    return add_alone(**arguments)


def _assemble(**arguments: Any) -> dict[str, Any]:
    from gsym.server.symbfiles.assembly_tasks import assemble

    return assemble(**arguments)


def _reason(error: Exception) -> str:
    """Without paths: they are those of the server."""
    if isinstance(error, GsymError):
        where = "" if error.offset is None else f"offset {error.offset:#x}: "
        return where + error.reason
    if isinstance(error, OSError):
        return error.strerror or type(error).__name__
    return str(error)


_TASKS: dict[str, Callable[..., dict[str, Any]]] = {
    "probe": _probe,
    "take apart": _take_apart,
    "convert": _convert,
    "add": _add,
    "assemble": _assemble,
}
