"""Which files a process may use from now on: Landlock of the Linux kernel."""

from __future__ import annotations

import ctypes
import os
import struct

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446  # on all machines
_VERSION_FLAG = 1
_RULE_PATH_BENEATH = 1

_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR = 1, 2, 4, 8
_TRUNCATE, _IOCTL = 1 << 14, 1 << 15
_OF_FILES = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE | _IOCTL
_READ = _EXECUTE | _READ_FILE | _READ_DIR
_ALL_NETWORK = 3  # bind and connect by TCP
_ALL_SCOPES = 3  # abstract sockets and signals of others
# How many rights to files each version of the interface knows.
_RIGHTS = {1: 13, 2: 14, 3: 15, 4: 15}
_MOST_RIGHTS = 16
_NETWORK_SINCE, _SCOPES_SINCE = 4, 6


def restrict_files(readable: Iterable[str], writable: Iterable[str]) -> int:
    """Allow no file but these and what is below them.

    Args:
        readable: Files and folders to read; those that are not there are passed over.
        writable: Folders to read, to write and to make files in.

    Returns:
        The version of the kernel's interface; 0 where it has none and nothing is
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
