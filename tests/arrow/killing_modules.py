"""Modules whose user is killed once, in the middle of its work."""

from __future__ import annotations

import itertools
import os
import signal
from typing import TYPE_CHECKING, Any

from gsym.arrow import Modules

if TYPE_CHECKING:
    from gsym.modules.open_module import OpenModule

_BEFORE = 30  # searches of a process before its end: some batches are answered
_searches = itertools.count()


class KillingModules(Modules):
    """Kills the first process that has searched for a few modules.

    Args:
        source: As for `Modules`.
        flag: A file that is made just before.
    """

    def __init__(self, source: str, flag: str) -> None:
        super().__init__(source)
        self._made = source, flag

    def __reduce__(self) -> tuple[Any, ...]:
        return KillingModules, self._made

    def find(self, module: bytes | str) -> OpenModule:
        if next(_searches) > _BEFORE:
            try:
                os.close(os.open(self._made[1], os.O_CREAT | os.O_EXCL))
            except FileExistsError:
                pass
            else:
                os.kill(os.getpid(), signal.SIGKILL)
        return super().find(module)
