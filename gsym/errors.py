"""Exceptions of gsym, which contain the file, the offset and the reason.

A lookup without an answer returns `None` and raises no exception.
"""

from __future__ import annotations

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any


class CopyableError(Exception):
    """An exception that can be pickled and copied, with any constructor."""

    def __reduce__(self) -> tuple[Any, ...]:
        from copyreg import __newobj__  # type: ignore[attr-defined]

        # By default an exception is recreated from `args`, which few of these accept.
        return __newobj__, (type(self), *self.args), self.__dict__ or None


class GsymError(CopyableError):
    """Base of all errors of this package.

    Attributes:
        path: The file with the error, or None for bytes in memory.
        offset: Byte offset from the start of that file (or of the section named in the
            message), or None if the error has no location.
        reason: The error, without path and offset.
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
    """The bytes are damaged, or not in the expected format."""


class UnsupportedError(GsymError):
    """The bytes are valid but use an unknown version or encoding."""


class ArchitectureError(GsymError):
    """The file has no slice, or several, for the requested architecture."""


class MemberError(GsymError):
    """The archive does not have the object file, or none was selected of several."""


class LimitError(GsymError):
    """A limit was exceeded, such as one of the output version; the text has advice."""


class EmptyError(GsymError):
    """The input contains no function."""


class UuidMismatchError(GsymError):
    """The file belongs to another binary than requested."""


class AmbiguousModuleError(GsymError):
    """Several modules have the requested id; the text names them."""


class ServerError(GsymError):
    """A server gave no usable answer; *path* is its URL.

    Attributes:
        status: The HTTP status of the answer; 0 if there was none.
    """

    def __init__(
        self, reason: str, *, path: str | None = None, status: int = 0
    ) -> None:
        super().__init__(reason, path=path)
        self.status = status


class NotFoundError(GsymError):
    """A source answered that it does not have the file."""


class SourceError(GsymError):
    """A source gave no answer, or no usable file.

    Attributes:
        may_retry: Whether a later request may succeed.
        status: The HTTP status of the answer; 0 if there was none.
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
    """The operation was cancelled."""


class ClosedError(GsymError, ValueError):
    """The reader or creator was used after it was closed."""


class ErrorsOf:
    """Names a file in the errors of a `with` block that name none.

    Calls that have only the descriptor of a file, or its bytes, raise such errors.
    """

    def __init__(self, path: str) -> None:
        self._path = path

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, _: object) -> None:
        if isinstance(error, OSError) and error.filename is None:
            error.filename = self._path
        if isinstance(error, (FormatError, UnsupportedError)) and error.path is None:
            error.path = self._path


def reason_of(error: Exception) -> str:
    """The reason of any exception in words, without the file that it is about."""
    if isinstance(error, GsymError):
        return error.reason
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return str(error) or type(error).__name__


def listed(names: Sequence[str], most: int) -> str:
    """The first *most* names, and the number of others."""
    more = len(names) - most
    return ", ".join(names[:most]) + (f" and {more} more" if more > 0 else "")


def first_line(error: Exception) -> str:
    """The first line of a message, at most 500 characters; libraries append more."""
    return str(error).partition("\n")[0][:500] or type(error).__name__
