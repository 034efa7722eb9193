"""Signals of Linux in words: why one was sent, from where, about which address."""

from __future__ import annotations

from struct import Struct, error as StructError  # noqa: N812 - an exception

from gsym.records import NamedTuple

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Container

SIGNALS = {
    1: "SIGHUP",
    2: "SIGINT",
    3: "SIGQUIT",
    4: "SIGILL",
    5: "SIGTRAP",
    6: "SIGABRT",
    7: "SIGBUS",
    8: "SIGFPE",
    9: "SIGKILL",
    10: "SIGUSR1",
    11: "SIGSEGV",
    12: "SIGUSR2",
    13: "SIGPIPE",
    14: "SIGALRM",
    15: "SIGTERM",
    16: "SIGSTKFLT",
    24: "SIGXCPU",
    25: "SIGXFSZ",
    26: "SIGVTALRM",
    27: "SIGPROF",
    29: "SIGIO",
    30: "SIGPWR",
    31: "SIGSYS",
}
"""Names of the signals that end a program."""

_ABORT, _SYSTEM_CALL, _TRAP, _ILLEGAL, _FLOATING = 6, 31, 5, 4, 8
_SEGMENT, _BUS = 11, 7
_BY_KERNEL, _BY_TIMER = 0x80, -2
# By signal: the meanings of si_code from 1 on, in the order of siginfo.h.
_CODES = {
    _ILLEGAL: (
        *("illegal opcode", "illegal operand", "illegal addressing mode"),
        *("illegal trap", "privileged opcode", "privileged register"),
        *("coprocessor error", "internal stack error", "unimplemented instruction"),
    ),
    _FLOATING: (
        *("integer division by zero", "integer overflow"),
        *("floating-point division by zero", "floating-point overflow"),
        *("floating-point underflow", "inexact floating-point result"),
        *("invalid floating-point operation", "subscript out of range"),
        *("", "", "", "", "", "undiagnosed floating-point exception"),
        "condition trap",
    ),
    _SEGMENT: (
        *("", "no permission", "bounds check failed", "protection key"),
        *("access denied by ADI", "invalid ADI", "ADI disrupting mismatch"),
        *("memory tag mismatch, the address is not known", "memory tag mismatch"),
        "control protection fault",
    ),
    _BUS: (
        *("misaligned address", "nonexistent physical address"),
        *("hardware error", "hardware memory error, action required"),
        "hardware memory error",
    ),
    _TRAP: (
        *("breakpoint", "trace trap", "branch trap", "hardware breakpoint"),
        *("undiagnosed trap", "performance event"),
    ),
    _SYSTEM_CALL: ("not allowed by seccomp", "system call user dispatch"),
}
# Causes that are about no address, or one that is that of the instruction.
_WITHOUT_ADDRESS = {(_SEGMENT, 8), (_SEGMENT, 10)}
_WITH_ADDRESS = {_ILLEGAL, _TRAP, _BUS, _FLOATING, _SEGMENT}
_QUEUED = -1
_OF_KERNEL = {
    _SEGMENT: " (general protection; the address is not known)",
    _TRAP: " (breakpoint)",
}


class Cause(NamedTuple):
    """The contents of a `siginfo_t`.

    Attributes:
        signal: Its number.
        code: `si_code`.
        address: `si_addr`, where *code* has one.
        sender: `si_pid`, where *code* has one.
    """

    signal: int
    code: int
    address: int = 0
    sender: int = 0


def read_cause(data: bytes | memoryview, word: int, order: str) -> Cause | None:
    """The contents of a `siginfo_t`; None if it is cut."""
    try:
        signal, _, code = Struct(order + "3i").unpack_from(data)
        fields = 16 if word == 8 else 12  # noqa: PLR2004 - bytes of a word
        (address,) = Struct(order + ("Q" if word == 8 else "I")).unpack_from(  # noqa: PLR2004
            data, fields
        )
        (sender,) = Struct(order + "i").unpack_from(data, fields)
    except StructError:
        return None
    return Cause(signal, code, address, sender)


def describe(cause: Cause, own: Container[int] = ()) -> str:
    """The cause in words."""
    signal, code, address, sender = cause
    name = SIGNALS.get(signal, f"signal {signal}")
    if code == _BY_TIMER:
        return f"{name} of a timer"
    if code <= 0 and sender in own:
        # What abort and raise do.
        return name if signal == _ABORT else f"{name} sent by the program itself"
    if code <= 0:
        return f"{name} {'queued' if code == _QUEUED else 'sent'} by process {sender}"
    if code == _BY_KERNEL:
        return name + _OF_KERNEL.get(signal, "")
    known = _CODES.get(signal, ())
    what = known[code - 1] if code <= len(known) else f"code {code}"
    has_address = signal in _WITH_ADDRESS and (signal, code) not in _WITHOUT_ADDRESS
    where = f" at {address:#x}" if has_address else ""
    return f"{name}{where} ({what})" if what else name + where
