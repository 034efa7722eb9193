"""What a process that was taken over by its input would try, from inside.

    python -m tests.confined.attacks FOLDER OTHER

Confines itself to FOLDER, attacks its parent and the files in OTHER, and prints what
became of each attempt as JSON: "done", or the name of the error.
"""

from __future__ import annotations

import ctypes
import json
import mmap
import os
import resource
import signal
import socket
import sys
import threading
from typing import TYPE_CHECKING, Any

from gsym.confined.confinement import NUMBERS, ChildLimits, confine

if TYPE_CHECKING:
    from collections.abc import Callable

_LIBC = ctypes.CDLL(None, use_errno=True)
_COLUMN = {"x86_64": 0, "aarch64": 1}[os.uname().machine]


def call(name: str, *arguments: int | bytes | None) -> None:
    """A system call by its number, as code without a library would make it."""
    number = NUMBERS[name][_COLUMN]
    if number is None:
        raise PermissionError(f"there is no {name} on this machine")
    if _LIBC.syscall(number, *arguments) < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))


def read(path: str) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    if not os.read(descriptor, 64):
        raise OSError("nothing to read")


def write(path: str) -> None:
    os.write(os.open(path, os.O_WRONLY | os.O_CREAT), b"x")


def connect(family: int, kind: int, address: object) -> None:
    with socket.socket(family, kind) as wire:
        wire.settimeout(1)
        wire.connect(address)  # type: ignore[arg-type] # of any family


def in_turn(*steps: tuple[Any, ...]) -> None:
    for step, *arguments in steps:
        step(*arguments)


def run_memory() -> None:
    """Run a program that is in no file."""
    descriptor = os.memfd_create("program", 0)
    os.write(descriptor, b"#!/bin/sh\n")
    os.execve(descriptor, ["program"], {})


def make_code() -> None:
    """A child by the system call that libraries use today."""
    call("clone", signal.SIGCHLD, 0, 0, 0, 0)


def attacks(other: str) -> dict[str, Callable[[], object]]:
    """By what they try."""
    parent = os.getppid()
    secret, new = f"{other}/secret", f"{other}/new"
    inet, inet6, unix = socket.AF_INET, socket.AF_INET6, socket.AF_UNIX
    stream, datagram = socket.SOCK_STREAM, socket.SOCK_DGRAM
    return {
        "read a file": lambda: read(secret),
        "read by a link": lambda: in_turn((os.symlink, secret, "link"), (read, "link")),
        "read by a path upwards": lambda: read(os.path.relpath(secret)),
        "read after a change of folder": lambda: in_turn(
            (os.chdir, other), (read, "secret")
        ),
        "list a folder": lambda: os.listdir(other),
        "link a file into the folder": lambda: in_turn(
            (os.link, secret, "own"), (read, "own")
        ),
        "read the users": lambda: read("/etc/passwd"),
        "read the home folder": lambda: os.listdir("/root"),
        "list the root": lambda: os.listdir("/"),
        "read a disk": lambda: read("/dev/sda"),
        "read settings of the kernel": lambda: read("/sys/kernel/notes"),
        "write a file": lambda: write(secret),
        "write a new file": lambda: write(new),
        "write in /tmp": lambda: write("/tmp/gsym-attack"),
        "write in shared memory": lambda: write("/dev/shm/gsym-attack"),
        "write a library": lambda: write(f"{os.path.dirname(os.__file__)}/attack.py"),
        "truncate a file": lambda: os.truncate(secret, 0),
        "remove a file": lambda: os.unlink(secret),
        "replace a file": lambda: in_turn(
            (write, "mine"), (os.replace, "mine", secret)
        ),
        "move a file in": lambda: os.rename(secret, "mine"),
        "make a folder": lambda: os.mkdir(new),
        "make a pipe": lambda: os.mkfifo(new),
        "make a link": lambda: os.symlink("/", new),
        "change the mode of a file": lambda: os.chmod(secret, 0o777),
        "change the mode by number": lambda: call(
            "fchmodat2", -100, secret.encode(), 0o777, 0
        ),
        "change the owner of a file": lambda: os.chown(secret, 0, 0),
        "change the times of a file": lambda: os.utime(secret, (1, 1)),
        "change the attributes of a file": lambda: os.setxattr(
            secret, "user.attack", b"x"
        ),
        "memory of the parent": lambda: read(f"/proc/{parent}/mem"),
        "maps of the parent": lambda: read(f"/proc/{parent}/maps"),
        "environment of the parent": lambda: read(f"/proc/{parent}/environ"),
        "command of the parent": lambda: read(f"/proc/{parent}/cmdline"),
        "files of the parent": lambda: os.listdir(f"/proc/{parent}/fd"),
        "root of the parent": lambda: read(f"/proc/{parent}/root{secret}"),
        "folder of init": lambda: read("/proc/1/environ"),
        "settings by /proc": lambda: write("/proc/sys/kernel/core_pattern"),
        "own memory by /proc": lambda: write("/proc/self/mem"),
        "root by /proc": lambda: read(f"/proc/self/root{secret}"),
        "score for lack of memory": lambda: write(f"/proc/{parent}/oom_score_adj"),
        "TCP": lambda: connect(inet, stream, ("127.0.0.1", 9)),
        "TCP over IPv6": lambda: connect(inet6, stream, ("::1", 9)),
        "UDP": lambda: connect(inet, datagram, ("127.0.0.1", 9)),
        "metadata of a cloud": lambda: connect(inet, stream, ("169.254.169.254", 80)),
        "a raw socket": lambda: connect(inet, socket.SOCK_RAW, ("127.0.0.1", 0)),
        "a local socket": lambda: connect(unix, stream, f"{other}/socket"),
        "an abstract socket": lambda: connect(unix, stream, "\0gsym"),
        "a pair of sockets": socket.socketpair,
        "a socket of the kernel": lambda: connect(16, socket.SOCK_RAW, (0, 0)),
        "a socket of the hypervisor": lambda: connect(40, stream, (2, 9)),
        "listen": lambda: socket.create_server(("127.0.0.1", 0)),
        "fork": os.fork,
        "clone": make_code,
        "clone3": lambda: call("clone3", bytes(88), 88),
        "a program": lambda: os.execv("/bin/true", ["true"]),
        "a child with a program": lambda: os.posix_spawn("/bin/true", ["true"], {}),
        "a program in memory": run_memory,
        "signal to the parent": lambda: os.kill(parent, 0),
        "signal to all": lambda: os.kill(-1, 0),
        "signal to the group": lambda: os.killpg(0, 0),
        "signal to a thread": lambda: call("tgkill", parent, parent, 0),
        "signal with data": lambda: call("rt_sigqueueinfo", parent, 0, bytes(128)),
        "descriptor of the parent": lambda: os.pidfd_open(parent),
        "ptrace": lambda: call("ptrace", 16, parent, 0, 0),
        "ptrace by nobody": lambda: call("ptrace", 0, 0, 0, 0),
        "read memory": lambda: call("process_vm_readv", parent, None, 0, None, 0, 0),
        "write memory": lambda: call("process_vm_writev", parent, None, 0, None, 0, 0),
        "limits of the parent": lambda: resource.prlimit(
            parent, resource.RLIMIT_NOFILE, (9, 9)
        ),
        "higher limits": lambda: resource.setrlimit(resource.RLIMIT_AS, (-1, -1)),
        "priority of the parent": lambda: os.setpriority(os.PRIO_PROCESS, parent, 9),
        "priority of all": lambda: os.setpriority(os.PRIO_USER, 0, 9),
        "cores of the parent": lambda: os.sched_setaffinity(parent, {0}),
        "a namespace": lambda: call("unshare", 0x10000000),
        "the namespace of the parent": lambda: call("setns", 0, 0),
        "mount": lambda: call("mount", b"none", b".", b"tmpfs", 0, None),
        "a new mount": lambda: call("fsopen", b"tmpfs", 0),
        "chroot": lambda: os.chroot("."),
        "a file by its handle": lambda: call("open_by_handle_at", 0, None, 0),
        "keys": lambda: call("keyctl", 0, 0),
        "a program in the kernel": lambda: call("bpf", 0, None, 0),
        "a module in the kernel": lambda: call("finit_module", 0, b"", 0),
        "events of others": lambda: call("perf_event_open", None, parent, 0, 0, 0),
        "page faults": lambda: call("userfaultfd", 0),
        "calls by a ring": lambda: call("io_uring_setup", 1, bytes(120)),
    }


def work() -> None:
    """What a conversion does, which has to succeed."""
    write("mine")
    read("mine")
    os.rename("mine", "yours")
    read(os.__file__)
    with mmap.mmap(-1, 1 << 20):
        pass
    thread = threading.Thread(target=os.getpid)
    thread.start()
    thread.join()
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def outcome(attempt: Callable[[], object]) -> str:
    """What became of it."""
    try:
        attempt()
    except OSError as error:
        return type(error).__name__
    except ValueError:  # how `resource` reports EPERM
        return "ValueError"
    return "done"


def main() -> None:
    """Attack."""
    folder, other = sys.argv[1:]
    os.chdir(folder)
    tried = attacks(other)
    measures = confine(ChildLimits(), 20, 2 << 30, folder)
    found = {"work": outcome(work), **{name: outcome(tried[name]) for name in tried}}
    sys.stdout.write(json.dumps([measures, found]))


if __name__ == "__main__":
    main()
