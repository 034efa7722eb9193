"""Tasks of confined processes that misbehave, or tell about their process."""

from __future__ import annotations

import ctypes
import errno
import json
import os
import time
from pathlib import Path
from typing import Any, NoReturn

ANSWER = Path("answer.json")


def sleep() -> None:
    time.sleep(60)


def crash() -> None:
    ctypes.string_at(0)


def fail() -> None:
    raise SystemExit(7)


def end() -> NoReturn:
    os._exit(0)


def answer_half() -> None:
    ANSWER.write_text("{")
    end()


def answer_number() -> None:
    ANSWER.write_text("3")
    end()


def answer_too_much() -> None:
    ANSWER.write_text("{" + " " * 2**24 + "}")
    end()


def answer_link() -> None:
    ANSWER.symlink_to("/etc/passwd")
    end()


def answer_pipe() -> None:
    os.mkfifo(ANSWER)
    end()


def lack_memory() -> None:
    raise OSError(errno.ENOMEM, "failed")


def write_too_much() -> None:
    raise OSError(errno.EFBIG, "failed")


def fill_the_disk() -> None:
    raise OSError(errno.ENOSPC, "failed")


def exceed_the_quota() -> None:
    raise OSError(errno.EDQUOT, "failed")


def read_a_bad_disk() -> None:
    raise OSError(errno.EIO, "failed")


def fill_the_disk_with_the_answer() -> dict[str, Any]:
    vars(json)["dump"] = lambda *_: fill_the_disk()
    return {}


def show_environment() -> dict[str, Any]:
    return dict(os.environ)


def show_parent() -> dict[str, Any]:
    return {"parent": os.getppid()}


def list_descriptors() -> dict[str, Any]:
    def is_open(number: int) -> bool:
        try:
            os.fstat(number)
        except OSError:
            return False
        return True

    return {"open": [number for number in range(64) if is_open(number)]}


def wait_for_the_other(number: int) -> dict[str, Any]:
    """Ends only if another process runs at the same time."""
    Path("here").touch()
    while not Path("..", f"{1 - number}", "here").exists():
        time.sleep(0.01)
    return show_parent()


def sync_nothing() -> dict[str, Any]:
    try:
        os.fsync(63)
    except OSError:
        return {"failed": True}
    return {"failed": False}
