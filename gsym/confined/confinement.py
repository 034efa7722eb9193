"""Confines a process before it reads untrusted files.

Every measure that the system supports is taken, and those in effect are reported to the
operator. The process cannot undo them.
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import resource
import socket
import struct
import sys
from collections.abc import Iterable, Sequence
from contextlib import suppress

from gsym.records import NamedTuple

# System calls that are refused or restricted: name, number on x86-64 and on AArch64, or
# "-" if the machine has no such call.
_CALLS = """
socket 41 198
connect 42 203
accept 43 202
sendto 44 206
sendmsg 46 211
bind 49 200
listen 50 201
socketpair 53 199
accept4 288 242
sendmmsg 307 269
fork 57 -
vfork 58 -
execve 59 221
execveat 322 281
kill 62 129
tkill 200 130
tgkill 234 131
rt_sigqueueinfo 129 138
rt_tgsigqueueinfo 297 240
pidfd_send_signal 424 424
pidfd_open 434 434
pidfd_getfd 438 438
ptrace 101 117
process_vm_readv 310 270
process_vm_writev 311 271
mount 165 40
umount2 166 39
pivot_root 155 41
chroot 161 51
open_tree 428 428
move_mount 429 429
fsopen 430 430
fsconfig 431 431
fsmount 432 432
fspick 433 433
mount_setattr 442 442
open_by_handle_at 304 265
setns 308 268
unshare 272 97
bpf 321 280
perf_event_open 298 241
userfaultfd 323 282
io_uring_setup 425 425
io_uring_enter 426 426
io_uring_register 427 427
add_key 248 217
request_key 249 218
keyctl 250 219
init_module 175 105
finit_module 313 273
delete_module 176 106
kexec_load 246 104
# Landlock does not cover what changes a file by its path without opening it.
chmod 90 -
fchmodat 268 53
fchmodat2 452 452
chown 92 -
lchown 94 -
fchown 93 55
fchownat 260 54
utime 132 -
utimes 235 -
futimesat 261 -
utimensat 280 88
setxattr 188 5
lsetxattr 189 6
fsetxattr 190 7
setxattrat 463 463
removexattr 197 14
lremovexattr 198 15
fremovexattr 199 16
removexattrat 466 466
file_setattr 469 469
# Calls that change limits and schedules of other processes of the same user.
setpriority 141 140
ioprio_set 251 30
sched_setparam 142 118
sched_setscheduler 144 119
sched_setaffinity 203 122
sched_setattr 314 274
migrate_pages 256 238
move_pages 279 239
kcmp 312 272
process_madvise 440 440
process_mrelease 448 448
prlimit64 302 261
clone 56 220
clone3 435 435
fsync 74 82
fdatasync 75 83
"""
NUMBERS: dict[str, tuple[int | None, int | None]] = {
    name: (None if x86 == "-" else int(x86), None if arm == "-" else int(arm))
    for name, x86, arm in (
        line.split() for line in _CALLS.splitlines() if line and line[0] != "#"
    )
}

_MACHINES = {"x86_64": (0, 0xC000003E), "aarch64": (1, 0xC00000B7)}  # audit numbers
_X32 = 0x40000000  # bit of calls of the x32 ABI, which has numbers of its own

_LOAD = 0x20  # BPF_LD | BPF_W | BPF_ABS
_IS_EQUAL = 0x15  # BPF_JMP | BPF_JEQ | BPF_K
_IS_AT_LEAST = 0x35  # BPF_JMP | BPF_JGE | BPF_K
_HAS_BITS = 0x45  # BPF_JMP | BPF_JSET | BPF_K
_RETURN = 0x06  # BPF_RET | BPF_K
_NUMBER_AT, _MACHINE_AT, _FIRST_ARGUMENT_AT = 0, 4, 16  # in struct seccomp_data

_KILL = 0x80000000
_REFUSE = 0x00050000  # the error number is added
_ALLOW = 0x7FFF0000
_CLONE_THREAD = 0x10000

_PR_SET_SECCOMP, _MODE_FILTER = 22, 2


class _Program(ctypes.Structure):
    _fields_ = (("count", ctypes.c_ushort), ("steps", ctypes.c_char_p))


def filter_program(machine: str) -> bytes | None:
    """The filter as the kernel takes it; None for an unsupported machine."""
    if machine not in _MACHINES:
        return None
    column, audit = _MACHINES[machine]
    numbers = {name: both[column] for name, both in NUMBERS.items()}
    steps = [
        _step(_LOAD, _MACHINE_AT),
        _step(_IS_EQUAL, audit, 1, 0),
        _step(_RETURN, _KILL),
        _step(_LOAD, _NUMBER_AT),
        _step(_IS_AT_LEAST, _X32, 0, 1),
        _step(_RETURN, _REFUSE | errno.EPERM),
        # A filter cannot see the flags of clone3; without it, libc falls back to clone.
        _step(_IS_EQUAL, numbers.pop("clone3") or 0, 0, 1),
        _step(_RETURN, _REFUSE | errno.ENOSYS),
        _step(_IS_EQUAL, numbers.pop("clone") or 0, 0, 4),
        _step(_LOAD, _FIRST_ARGUMENT_AT),
        _step(_HAS_BITS, _CLONE_THREAD, 0, 1),
        _step(_RETURN, _ALLOW),
        _step(_RETURN, _REFUSE | errno.EPERM),
        # A process may lower its own limits, whose number is 0.
        _step(_IS_EQUAL, numbers.pop("prlimit64") or 0, 0, 4),
        _step(_LOAD, _FIRST_ARGUMENT_AT),
        _step(_IS_EQUAL, 0, 0, 1),
        _step(_RETURN, _ALLOW),
        _step(_RETURN, _REFUSE | errno.EPERM),
    ]
    for name in ("fsync", "fdatasync"):
        # Skipped, as if it had worked: who keeps a file of the process syncs it.
        steps.append(_step(_IS_EQUAL, numbers.pop(name) or 0, 0, 1))
        steps.append(_step(_RETURN, _REFUSE))
    for number in numbers.values():
        if number is not None:
            steps.append(_step(_IS_EQUAL, number, 0, 1))
            steps.append(_step(_RETURN, _REFUSE | errno.EPERM))
    steps.append(_step(_RETURN, _ALLOW))
    return b"".join(steps)


def install_filter() -> bool:
    """Install the filter for this thread and its children; return whether that worked.

    The process must have set PR_SET_NO_NEW_PRIVS.
    """
    steps = filter_program(platform.machine())
    if steps is None:
        return False
    program = _Program(len(steps) // struct.calcsize("HBBI"), steps)
    prctl = ctypes.CDLL(None, use_errno=True).prctl
    return bool(prctl(_PR_SET_SECCOMP, _MODE_FILTER, ctypes.byref(program), 0, 0) == 0)


def _step(code: int, value: int, when: int = 0, otherwise: int = 0) -> bytes:
    return struct.pack("HBBI", code, when, otherwise, value)


_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446  # on all machines
_VERSION_FLAG = 1
_RULE_PATH_BENEATH = 1

_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR = 1, 2, 4, 8
_TRUNCATE, _IOCTL = 1 << 14, 1 << 15
_OF_FILES = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE | _IOCTL
_READ = _EXECUTE | _READ_FILE | _READ_DIR
_ALL_NETWORK = 3  # bind and connect by TCP
_ALL_SCOPES = 3  # abstract sockets and signals
# Number of file rights in each version of the interface.
_RIGHTS = {1: 13, 2: 14, 3: 15, 4: 15}
_MOST_RIGHTS = 16
_NETWORK_SINCE, _SCOPES_SINCE = 4, 6


def restrict_files(readable: Iterable[str], writable: Iterable[str]) -> int:
    """Allow access only to these files and folders, and to files below them.

    Args:
        readable: Files and folders to read; missing ones are skipped.
        writable: Folders in which to read, write and create files.

    Returns:
        The version of Landlock; 0 if the kernel does not support it and nothing is
        restricted.
    """
    call = ctypes.CDLL(None, use_errno=True).syscall
    version = call(_CREATE_RULESET, None, 0, _VERSION_FLAG)
    if version <= 0:
        return 0
    handled = (1 << _RIGHTS.get(version, _MOST_RIGHTS)) - 1
    words = [handled]
    if version >= _NETWORK_SINCE:
        words.append(_ALL_NETWORK)
    if version >= _SCOPES_SINCE:
        words.append(_ALL_SCOPES)
    attributes = struct.pack(f"{len(words)}Q", *words)
    ruleset = call(_CREATE_RULESET, attributes, len(attributes), 0)
    if ruleset < 0:
        return 0
    try:
        rules = [(path, handled & _READ) for path in readable]
        rules += [(path, handled) for path in writable]
        for path, rights in rules:
            _allow(call, ruleset, path, rights)
        return int(version) if call(_RESTRICT_SELF, ruleset, 0) == 0 else 0
    finally:
        os.close(ruleset)


def _allow(
    call: ctypes._NamedFuncPointer, ruleset: int, path: str, rights: int
) -> None:
    try:
        descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return
    try:
        if not os.path.isdir(path):
            rights &= _OF_FILES
        rule = struct.pack("=Qi", rights, descriptor)
        call(_ADD_RULE, ruleset, _RULE_PATH_BENEATH, rule, 0)
    finally:
        os.close(descriptor)


class ChildLimits(NamedTuple):
    """Limits of a confined process."""

    memory: int = 2 << 30  # bytes of address space, in addition to mapped inputs
    seconds: int = 60  # processor time and real time
    seconds_per_100_mib: int = 20  # additional seconds for each 100 MiB of input
    output: int = 8 << 30  # bytes of each file that it writes
    files: int = 64  # number of open files


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
    """Give up what converting a file does not need; return the measures in effect.

    Args:
        limits: Limits of output and open files.
        seconds: Processor time.
        memory: Bytes of address space.
        folder: Files below it can be read and written; no others, except Python and
            libraries for reading, if the kernel supports that.
        readable: Further files and folders to read.
    """
    _limit(resource.RLIMIT_CORE, 0)
    _limit(resource.RLIMIT_AS, memory)
    _limit(resource.RLIMIT_CPU, seconds)
    _limit(resource.RLIMIT_FSIZE, limits.output)
    _limit(resource.RLIMIT_NOFILE, limits.files)
    measures = ["limits"]
    if not sys.platform.startswith("linux"):
        return measures
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(_PR_SET_PDEATHSIG, _SIGKILL, 0, 0, 0)
    if libc.prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0) == 0:
        measures.append("not dumpable")
    if _has_own_network(libc):
        measures.append("network namespace")
    if libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0:
        measures.append("no new privileges")
        python = [*sys.path, sys.prefix, sys.base_prefix]
        needed = [*python, *_LIBRARIES, *_DEVICES, *readable]
        if version := restrict_files(filter(None, needed), [folder]):
            measures.append(f"landlock {version}")
        if install_filter():
            measures.append("seccomp")
    if _is_offline():
        measures.append("no network")
    return measures


def _limit(kind: int, value: int) -> None:
    """Lower a limit; keep a lower hard limit."""
    _, hard = resource.getrlimit(kind)
    if hard != resource.RLIM_INFINITY:
        value = min(value, hard)
    resource.setrlimit(kind, (value, value))


def _has_own_network(libc: ctypes.CDLL) -> bool:
    """Move to an empty network namespace."""
    user = os.getuid(), os.getgid()
    if libc.unshare(_NEW_USER | _NEW_NETWORK | _NEW_IPC) != 0:
        return False
    # Map to the same ids, or the process would see its own files as owned by nobody.
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
    """Whether the network is unreachable, found by trying."""
    try:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            probe.connect(("192.0.2.1", 9))  # sends nothing
    except OSError:
        return True
    return False
