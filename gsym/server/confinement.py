"""What a process gives up before it reads what strangers made.

Each measure that the system has is taken; what holds is told, so that an operator can
see it. Nothing of it can be taken back by the process.
"""

from __future__ import annotations

import ctypes
import os
import resource
import socket
import sys
from contextlib import suppress

from gsym.records import NamedTuple
from gsym.server.file_access import restrict_files
from gsym.server.system_calls import install_filter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence


class ChildLimits(NamedTuple):
    """How much a confined process may use.

    Attributes:
        memory: Bytes of address space, beyond those of mapped inputs.
        seconds: Of processor time and of the clock.
        seconds_per_100_mib: As many more for each 100 MiB of input.
        output: Bytes of each file that it writes.
        files: How many it may have open.
    """

    memory: int = 2 << 30
    seconds: int = 60
    seconds_per_100_mib: int = 20
    output: int = 8 << 30
    files: int = 64


_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE, _PR_SET_NO_NEW_PRIVS = 1, 4, 38
_SIGKILL = 9
_NEW_USER, _NEW_NETWORK, _NEW_IPC = 0x10000000, 0x40000000, 0x08000000
_LIBRARIES = ("/usr", "/lib", "/lib64", "/etc/ld.so.cache", "/nix/store")
_DEVICES = ("/dev/null", "/dev/urandom", "/proc/self")


def confine(
    limits: ChildLimits,
    seconds: int,
    memory: int,
    folder: str,
    readable: Sequence[str] = (),
) -> list[str]:
    """Give up what converting a file does not take.

    Args:
        limits: Limits of files.
        seconds: Of processor time.
        memory: Bytes of address space.
        folder: What is below it can be read and written, all else (but Python and
            libraries) neither, where the kernel can do that.
        readable: Further files and folders to read.

    Returns:
        What holds from now on, in words.
    """
    _limit(resource.RLIMIT_CORE, 0)
    _limit(resource.RLIMIT_AS, memory)
    _limit(resource.RLIMIT_CPU, seconds)
    _limit(resource.RLIMIT_FSIZE, limits.output)
    _limit(resource.RLIMIT_NOFILE, limits.files)
    holds = ["limits"]
    if not sys.platform.startswith("linux"):
        return holds
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(_PR_SET_PDEATHSIG, _SIGKILL, 0, 0, 0)
    if libc.prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0) == 0:
        holds.append("not dumpable")
    if _has_own_network(libc):
        holds.append("network namespace")
    if libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0:
        holds.append("no new privileges")
        python = [*sys.path, sys.prefix, sys.base_prefix]
        needed = [*python, *_LIBRARIES, *_DEVICES, *readable]
        if version := restrict_files(filter(None, needed), [folder]):
            holds.append(f"landlock {version}")
        if install_filter():
            holds.append("seccomp")
    if _is_offline():
        holds.append("no network")
    return holds


def _limit(kind: int, value: int) -> None:
    """Lower a limit; one that is lower already stays."""
    _, hard = resource.getrlimit(kind)
    if hard != resource.RLIM_INFINITY:
        value = min(value, hard)
    resource.setrlimit(kind, (value, value))


def _has_own_network(libc: ctypes.CDLL) -> bool:
    """Leave the network of the system for an empty one."""
    user = os.getuid(), os.getgid()
    if libc.unshare(_NEW_USER | _NEW_NETWORK | _NEW_IPC) != 0:
        return False
    # As itself: files of its own must not look like those of nobody.
    with suppress(OSError):
        for name, text in (
            ("setgroups", "deny"),
            ("uid_map", f"{user[0]} {user[0]} 1"),
            ("gid_map", f"{user[1]} {user[1]} 1"),
        ):
            with open(f"/proc/self/{name}", "w", encoding="ascii") as file:
                file.write(text)
    return True


def _is_offline() -> bool:
    """Whether there is no way out: tried, not concluded."""
    try:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            probe.connect(("192.0.2.1", 9))  # sends nothing
    except OSError:
        return True
    return False
