"""Exceptions that gsym raises; each names the file, the offset and the reason.

A lookup that finds nothing is a value (`None`), never an exception.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class CopyableError(Exception):
    """An exception that can be pickled and copied, whatever its constructor takes."""

    def __reduce__(self) -> tuple[Any, ...]:
        from copyreg import __newobj__  # type: ignore[attr-defined]

        # By default an exception is made again from `args`, which few of these take.
        return __newobj__, (type(self), *self.args), self.__dict__ or None


class GsymError(CopyableError):
    """Base of all errors of this package.

    Attributes:
        path: File at fault, or None for bytes in memory.
        offset: Byte offset from the start of that file (or of the section that
            the message names), or None where no single place is at fault.
        reason: What is wrong, without path and offset.
    """

    def __init__(
        self, reason: str, *, path: str | None = None, offset: int | None = None
    ) -> None:
        super().__init__(reason, path, offset)
        self.reason = reason
        self.path = path
        self.offset = offset

    def __str__(self) -> str:
        where = "" if self.path is None else f"{self.path}: "
        if self.offset is not None:
            where += f"offset {self.offset:#x}: "
        return where + self.reason


class FormatError(GsymError):
    """The bytes are damaged, or of another format than expected."""


class UnsupportedError(GsymError):
    """The bytes are sound but use a version or encoding that is not known."""


class ArchitectureError(GsymError):
    """The file holds nothing, or too much, for the architecture that was asked for."""


class MemberError(GsymError):
    """The archive has no such object file, or several to choose from."""


class LimitError(GsymError):
    """The result does not fit the chosen output version; the text names the way out."""


class EmptyError(GsymError):
    """The input holds no function."""


class MissingDebugInfoError(GsymError):
    """The files that hold the debug information of a binary are not there."""


class UuidMismatchError(GsymError):
    """The file belongs to another binary than the caller asked for."""


class ServerError(GsymError):
    """A server gave no answer, or none of use; *path* is its URL."""


class NotFoundError(GsymError):
    """A source answered that it does not have the file."""


class SourceError(GsymError):
    """A source gave no answer, or no usable file.

    Attributes:
        may_retry: Whether a later request may succeed.
        status: The HTTP status of the answer; 0 where there was none.
    """

    def __init__(
        self,
        reason: str,
        *,
        path: str | None = None,
        may_retry: bool = False,
        status: int = 0,
    ) -> None:
        super().__init__(reason, path=path)
        self.may_retry = may_retry
        self.status = status


class CancelledError(GsymError):
    """The work was stopped before it was done."""


class ClosedError(GsymError, ValueError):
    """The reader or creator was used after it was closed."""
