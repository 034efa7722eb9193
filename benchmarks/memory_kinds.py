"""The memory of a process by kind, and the size of its output."""

from __future__ import annotations

import subprocess
import threading
import time
from pathlib import Path
from typing import IO, NamedTuple

_INTERVAL = 0.002  # seconds between two looks
_BLOCK = 1 << 20


class MemoryKinds(NamedTuple):
    """Peaks in MiB, as they were seen, and bytes of standard output.

    Attributes:
        anonymous: Memory of its own.
        mapped: Pages of files, which the system can take away at any time.
        resident: Both at the same time.
        printed: Bytes of output.
    """

    anonymous: float
    mapped: float
    resident: float
    printed: int


def measure_memory(command: list[str], stdin: Path) -> MemoryKinds:
    """Run *command* and look at its memory again and again.

    Raises:
        CalledProcessError: The command failed.
    """
    anonymous = mapped = resident = 0.0
    printed: list[int] = []
    with (
        stdin.open("rb") as source,
        subprocess.Popen(
            command,
            stdin=source,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            bufsize=0,
        ) as process,
    ):
        assert process.stdout is not None  # noqa: S101 - for the type
        reader = threading.Thread(target=_count, args=(process.stdout, printed))
        reader.start()
        status = Path(f"/proc/{process.pid}/status")
        while process.poll() is None:
            sizes = _sizes(status)
            anonymous = max(anonymous, sizes.get("RssAnon", 0.0))
            mapped = max(mapped, sizes.get("RssFile", 0.0))
            resident = max(resident, sizes.get("VmHWM", 0.0))
            time.sleep(_INTERVAL)
        reader.join()
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command)
    return MemoryKinds(anonymous, mapped, resident, sum(printed))


def _count(stream: IO[bytes], printed: list[int]) -> None:
    while block := stream.read(_BLOCK):
        printed.append(len(block))


def _sizes(status: Path) -> dict[str, float]:
    """The lines of a process's status that are sizes, in MiB."""
    lines = (line.split() for line in status.read_text(encoding="ascii").splitlines())
    return {
        words[0][:-1]: int(words[1]) / 1024 for words in lines if words[-1:] == ["kB"]
    }
