"""A filter of system calls for a process that reads what strangers made.

It refuses what makes connections, starts programs, and reaches other processes or the
kernel's inner parts. Threads stay allowed. The numbers are those of x86-64 and AArch64;
elsewhere there is no filter.
"""

from __future__ import annotations

import ctypes
import errno
import platform
import struct

# Name: numbers on x86-64 and on AArch64; None where there is no such call.
NUMBERS: dict[str, tuple[int | None, int | None]] = {
    "socket": (41, 198),
    "connect": (42, 203),
    "accept": (43, 202),
    "sendto": (44, 206),
    "sendmsg": (46, 211),
    "bind": (49, 200),
    "listen": (50, 201),
    "socketpair": (53, 199),
    "accept4": (288, 242),
    "sendmmsg": (307, 269),
    "fork": (57, None),
    "vfork": (58, None),
    "execve": (59, 221),
    "execveat": (322, 281),
    "kill": (62, 129),
    "tkill": (200, 130),
    "tgkill": (234, 131),
    "rt_sigqueueinfo": (129, 138),
    "rt_tgsigqueueinfo": (297, 240),
    "pidfd_send_signal": (424, 424),
    "pidfd_open": (434, 434),
    "pidfd_getfd": (438, 438),
    "ptrace": (101, 117),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "mount": (165, 40),
    "umount2": (166, 39),
    "pivot_root": (155, 41),
    "chroot": (161, 51),
    "open_tree": (428, 428),
    "move_mount": (429, 429),
    "fsopen": (430, 430),
    "fsconfig": (431, 431),
    "fsmount": (432, 432),
    "fspick": (433, 433),
    "mount_setattr": (442, 442),
    "open_by_handle_at": (304, 265),
    "setns": (308, 268),
    "unshare": (272, 97),
    "bpf": (321, 280),
    "perf_event_open": (298, 241),
    "userfaultfd": (323, 282),
    "io_uring_setup": (425, 425),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    "add_key": (248, 217),
    "request_key": (249, 218),
    "keyctl": (250, 219),
    "init_module": (175, 105),
    "finit_module": (313, 273),
    "delete_module": (176, 106),
    "kexec_load": (246, 104),
    "clone": (56, 220),
    "clone3": (435, 435),
}

_MACHINES = {"x86_64": (0, 0xC000003E), "aarch64": (1, 0xC00000B7)}  # audit numbers
_X32 = 0x40000000  # the bit of the x32 ABI, whose calls have numbers of their own

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
    """The filter in the kernel's form; None for a machine that it is not made for."""
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
        # Of clone3 the flags cannot be seen; without it, clone is used.
        _step(_IS_EQUAL, numbers.pop("clone3") or 0, 0, 1),
        _step(_RETURN, _REFUSE | errno.ENOSYS),
        _step(_IS_EQUAL, numbers.pop("clone") or 0, 0, 4),
        _step(_LOAD, _FIRST_ARGUMENT_AT),
        _step(_HAS_BITS, _CLONE_THREAD, 0, 1),
        _step(_RETURN, _ALLOW),
        _step(_RETURN, _REFUSE | errno.EPERM),
    ]
    for number in numbers.values():
        if number is not None:
            steps.append(_step(_IS_EQUAL, number, 0, 1))
            steps.append(_step(_RETURN, _REFUSE | errno.EPERM))
    steps.append(_step(_RETURN, _ALLOW))
    return b"".join(steps)


def install_filter() -> bool:
    """Let the filter hold from now on, for all threads to come; whether it does.

    The process must have given up getting more rights (PR_SET_NO_NEW_PRIVS).
    """
    steps = filter_program(platform.machine())
    if steps is None:
        return False
    program = _Program(len(steps) // struct.calcsize("HBBI"), steps)
    prctl = ctypes.CDLL(None, use_errno=True).prctl
    return bool(prctl(_PR_SET_SECCOMP, _MODE_FILTER, ctypes.byref(program), 0, 0) == 0)


def _step(code: int, value: int, when: int = 0, otherwise: int = 0) -> bytes:
    return struct.pack("HBBI", code, when, otherwise, value)
