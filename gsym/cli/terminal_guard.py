"""A standard stream that escapes control characters before they reach a terminal.

Code that prints a name escapes it already. This is a second safeguard, for other text
of the drop-in commands and for omissions.
"""

from __future__ import annotations

import io
import re
from codecs import getincrementaldecoder

from gsym.cli.terminal import ESCAPES

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from typing import BinaryIO

    from typing_extensions import Buffer

_IN_STREAMS = {code: text for code, text in ESCAPES.items() if chr(code) not in "\n\t"}
_COLOUR_OR_LINE_END = re.compile(r"(\x1b\[[0-9;]*m|\r\n)")


class _GuardedOutput(io.BufferedIOBase):
    """A binary stream that escapes control characters."""

    def __init__(self, terminal: BinaryIO) -> None:
        self.has_colours = False
        self._terminal = terminal
        self._decoder = getincrementaldecoder("utf-8")("surrogateescape")

    def writable(self) -> bool:
        return True

    def isatty(self) -> bool:
        return True

    def fileno(self) -> int:
        return self._terminal.fileno()

    def write(self, data: Buffer) -> int:
        data = bytes(data)
        self._put(self._decoder.decode(data))
        return len(data)

    def flush(self) -> None:
        if not self._terminal.closed:  # before this, at the end of the process
            self._terminal.flush()

    def close(self) -> None:
        if not self.closed and not self._terminal.closed:
            self._put(self._decoder.decode(b"", final=True))
        super().close()

    def _put(self, text: str) -> None:
        parts = _COLOUR_OR_LINE_END.split(text) if self.has_colours else [text]
        parts[::2] = [part.translate(_IN_STREAMS) for part in parts[::2]]
        self._terminal.write("".join(parts).encode("utf-8", "surrogateescape"))


class GuardedStream(io.TextIOWrapper):
    """A text stream that replaces *terminal*."""

    def __init__(self, terminal: io.TextIOWrapper) -> None:
        terminal.flush()
        self._output = _GuardedOutput(terminal.buffer)  # type: ignore[arg-type]
        super().__init__(
            self._output,  # type: ignore[arg-type]
            encoding=terminal.encoding,
            errors=terminal.errors,
            line_buffering=True,
        )
        self.terminal = terminal  # the stream that it replaces

    def let_colours_through(self) -> None:
        """Pass on colours, and line ends of Windows, which logs contain."""
        self._output.has_colours = True
