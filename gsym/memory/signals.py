"""Signals in words: why one was sent, from where, about which address."""

from __future__ import annotations

from struct import Struct, error as StructError  # noqa: N812 - an exception

from gsym.records import NamedTuple

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Container

_BY_KERNEL, _BY_TIMER, _QUEUED = 0x80, -2, -1
_FREEBSD_SIGINFO = 32  # bytes up to the end of si_addr
# Values of si_code that say who sent the signal.
_FREEBSD_TO_LINUX = dict(
    enumerate((0, _QUEUED, _BY_TIMER, -4, -3, _BY_KERNEL, -6), 0x10001)
)


def _numbered(*meanings: str) -> dict[int, str]:
    """Signals, or meanings of `si_code`, from 1 on in the order of the header."""
    return dict(enumerate(meanings, 1))


_ILLEGAL = _numbered(
    *("illegal opcode", "illegal operand", "illegal addressing mode"),
    *("illegal trap", "privileged opcode", "privileged register"),
    *("coprocessor error", "internal stack error", "unimplemented instruction"),
)
_FLOATING = _numbered(
    *("integer division by zero", "integer overflow"),
    *("floating-point division by zero", "floating-point overflow"),
    *("floating-point underflow", "inexact floating-point result"),
    *("invalid floating-point operation", "subscript out of range"),
    *("", "", "", "", "", "undiagnosed floating-point exception"),
    "condition trap",
)


class Signals(NamedTuple):
    """The signals of an operating system."""

    names: dict[int, str]  # by number
    codes: dict[str, dict[int, str]]  # by name: the meanings of `si_code`

    def name(self, number: int) -> str:
        """The name of a signal."""
        return self.names.get(number, f"signal {number}")


LINUX = Signals(
    _numbered(
        *("SIGHUP", "SIGINT", "SIGQUIT", "SIGILL", "SIGTRAP", "SIGABRT", "SIGBUS"),
        *("SIGFPE", "SIGKILL", "SIGUSR1", "SIGSEGV", "SIGUSR2", "SIGPIPE", "SIGALRM"),
        *("SIGTERM", "SIGSTKFLT"),
    )
    | {24: "SIGXCPU", 25: "SIGXFSZ", 26: "SIGVTALRM", 27: "SIGPROF"}
    | {29: "SIGIO", 30: "SIGPWR", 31: "SIGSYS"},
    {
        "SIGILL": _ILLEGAL,
        "SIGFPE": _FLOATING,
        "SIGSEGV": _numbered(
            *("", "no permission", "bounds check failed", "protection key"),
            *("access denied by ADI", "invalid ADI", "ADI disrupting mismatch"),
            "memory tag mismatch, the address is not known",
            *("memory tag mismatch", "control protection fault"),
        )
        | {_BY_KERNEL: "general protection; the address is not known"},
        "SIGBUS": _numbered(
            *("misaligned address", "nonexistent physical address"),
            *("hardware error", "hardware memory error, action required"),
            "hardware memory error",
        ),
        "SIGTRAP": _numbered(
            *("breakpoint", "trace trap", "branch trap", "hardware breakpoint"),
            *("undiagnosed trap", "performance event"),
        )
        | {_BY_KERNEL: "breakpoint"},
        "SIGSYS": _numbered("not allowed by seccomp", "system call user dispatch"),
    },
)
FREEBSD = Signals(
    LINUX.names
    | {7: "SIGEMT", 10: "SIGBUS", 12: "SIGSYS", 16: "SIGURG", 17: "SIGSTOP"}
    | {23: "SIGIO", 29: "SIGINFO", 30: "SIGUSR1", 31: "SIGUSR2"}
    | {32: "SIGTHR", 33: "SIGLIBRT"},
    {
        "SIGILL": _ILLEGAL,
        "SIGFPE": _FLOATING | {1: _FLOATING[2], 2: _FLOATING[1], 9: "denormal operand"},
        "SIGSEGV": {1: "", 2: "no permission", 100: "protection key"},
        "SIGBUS": {
            1: "misaligned address",
            2: "nonexistent physical address",
            3: "object-specific error, on x86-64 also general protection",
            100: "out of memory",
        },
        "SIGTRAP": _numbered(
            *("breakpoint", "trace trap", "DTrace", "capability violation")
        ),
    },
)
# Causes that are about no address, or one that is that of the instruction.
_WITHOUT_ADDRESS = {("SIGSEGV", 8), ("SIGSEGV", 10)}
_WITH_ADDRESS = {"SIGILL", "SIGTRAP", "SIGBUS", "SIGFPE", "SIGSEGV"}


class Cause(NamedTuple):
    """The contents of a `siginfo_t`."""

    signal: int  # its number
    code: int  # `si_code`
    address: int = 0  # `si_addr`, where *code* has one
    sender: int = 0  # `si_pid`, where *code* has one


def read_cause(data: bytes | memoryview, word: int, order: str) -> Cause | None:
    """The contents of a `siginfo_t`; None if it is cut."""
    form = Struct(order + ("3i4xQ" if word == 8 else "3iI"))  # noqa: PLR2004 - 64 bits
    try:
        signal, _, code, address = form.unpack_from(data)
        (sender,) = Struct(order + "i").unpack_from(data, form.size - word)
    except StructError:
        return None
    return Cause(signal, code, address, sender)


def read_freebsd_cause(data: bytes | memoryview, order: str) -> Cause | None:
    """The contents of a `siginfo_t` of FreeBSD; None if it is cut or says nothing.

    Who sent the signal is said by the code that Linux has for it.
    """
    if len(data) < _FREEBSD_SIGINFO:
        return None
    signal, code, sender, address = Struct(order + "i4xii8xQ").unpack_from(data)
    code = _FREEBSD_TO_LINUX.get(code, code or None)
    return None if code is None else Cause(signal, code, address, sender)


def describe(cause: Cause, pids: Container[int] = (), signals: Signals = LINUX) -> str:
    """The cause in words."""
    signal, code, address, sender = cause
    name = signals.name(signal)
    if code == _BY_TIMER:
        return f"{name} of a timer"
    if code <= 0 and sender in pids:
        # What abort and raise do.
        return name if name == "SIGABRT" else f"{name} sent by the program itself"
    if code <= 0:
        return f"{name} {'queued' if code == _QUEUED else 'sent'} by process {sender}"
    known = signals.codes.get(name, {})
    what = known.get(code, "" if code == _BY_KERNEL else f"code {code}")
    has_address = name in _WITH_ADDRESS and (name, code) not in _WITHOUT_ADDRESS
    where = f" at {address:#x}" if has_address and code != _BY_KERNEL else ""
    return f"{name}{where} ({what})" if what else name + where
