"""Open traces and profiles: paths, pipes and standard input."""

from __future__ import annotations

import os
import stat
import sys

from gsym import import_module
from gsym.containers.recognition import TRACE_MAGICS
from gsym.errors import ErrorsOf, FormatError, GsymError
from gsym.fxt.recognition import HEAD_SIZE, inflated_head, is_trace
from gsym.lazy import tempfile
from gsym.profiles.foreign import require_known_name, require_known_text
from gsym.profiles.input_bytes import (
    MOST_BYTES,
    PIECE_SIZE,
    read_pieces,
    text_decoder,
)
from gsym.profiles.recognition import message_kind, profile_kind
from gsym.records import NamedTuple

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from types import TracebackType
    from typing import Any

    from typing_extensions import Self

    from gsym.profiles.binaries import BuildIds
    from gsym.profiles.model import Profile

STANDARD_INPUT = "-"


class RepeatableInput:
    """A file, a pipe or standard input, which may be read several times.

    At the end of a `with` block copies are deleted, and errors in a copy get the name
    of the input.

    Args:
        path: Of a file, a pipe, a folder of `perf record`, or `STANDARD_INPUT`.

    Raises:
        UnsupportedError: It is a folder with the name of a format that is not read.
    """

    def __init__(self, path: str) -> None:
        # for messages
        self.name: str = "standard input" if path == STANDARD_INPUT else path
        # A folder of `perf record --threads` has a file with the header.
        inside = os.path.join(path, "data")
        # of the file in the folder, or as given
        self.path: str = inside if os.path.isfile(inside) else path
        self._stream: Any = _stream_of(self.path)
        self._head = b""
        self._copy: Any = None
        self._is_complete = False  # the copy

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        error: BaseException | None,
        _traceback: TracebackType | None,
    ) -> None:
        copy = self._copy and self._copy.name
        if self._copy is not None:
            self._copy.close()
        if self._stream is not None and self.path != STANDARD_INPUT:
            self._stream.close()
        if isinstance(error, GsymError) and copy is not None and error.path == copy:
            error.path = self.name

    @property
    def is_pipe(self) -> bool:
        """Whether it can be read only once, except as a copy."""
        return self._stream is not None

    def kind(self) -> str:
        """The format, one of `KINDS`.

        A pipe or device of no known one, which may be endless, is read no further than
        its head.

        Raises:
            FormatError: The format is unknown.
            UnsupportedError: It is not read.
        """
        head = self.file(MOST_BYTES.floor)
        found = profile_kind(head)
        if found:
            return found
        text = next(read_pieces(head), b"")
        require_known_text(text_decoder(text).decode(text), self.name)
        require_known_name(self.name)
        reason = f"unrecognized profile format (known: {', '.join(KINDS)})"
        raise FormatError(reason, path=self.name)

    def is_trace(self) -> bool:
        """Whether this is a Fuchsia trace; a pipe is not read to its end."""
        if self.source() is self:
            head = self._head = self._head or self._stream.read(HEAD_SIZE)
        else:
            with ErrorsOf(self.name), open(self.file(), "rb") as file:
                head = file.read(HEAD_SIZE)
        if not head:
            raise FormatError("the file is empty", path=self.name, offset=0)
        head = inflated_head(head)
        # If nothing can be inflated, the reader reports the reason.
        if not head or head.startswith(TRACE_MAGICS):
            return True
        return is_trace(head) and not message_kind(head, is_whole=False)

    def require_trace(self) -> None:
        """Check that this is a Fuchsia trace."""
        if not self.is_trace():
            raise FormatError("not a Fuchsia trace", path=self.name)

    def file(self, size: int = sys.maxsize) -> str:
        """The path of a regular file with the contents: the file itself, or a copy.

        Of a pipe, *size* bytes or a little more are copied at first.
        """
        if self._stream is None:
            return self.path
        self._copy = self._copy or tempfile.NamedTemporaryFile(prefix="gsym-")
        while not self._is_complete and self._copy.tell() < size:
            self._is_complete = not self._copy.write(self.read(PIECE_SIZE))
        self._copy.flush()
        return str(self._copy.name)

    def source(self) -> str | Self:
        """The input for `open_trace`: a path, or this pipe, to be read once."""
        return self if self._stream is not None and self._copy is None else self.file()

    def read(self, size: int = -1, /) -> bytes:
        """The next bytes of a pipe."""
        if not self._head:
            return bytes(self._stream.read(size))
        piece, self._head = self._head[:size], self._head[size:]
        return piece


def _stream_of(path: str) -> Any:
    """A stream that can be read once; None for a regular file."""
    if path == STANDARD_INPUT:
        return sys.stdin.buffer
    if os.path.isdir(path):
        require_known_name(path)
    mode = os.stat(path).st_mode
    is_kept = stat.S_ISREG(mode) or stat.S_ISDIR(mode)
    return None if is_kept else open(path, "rb")


class ProfileOptions(NamedTuple):
    """Information from the caller about a profile, for formats that need it.

    Attributes:
        build_ids: Of modules by their paths: perf script, perf.data, addresses.
        fields: Those of a text of perf script, whatever it looks like; "": it tells.
        return_addresses: Whether addresses of callers (pprof), or all of a list
            (addresses), are return addresses.
        build_id: Build id of the module of bare addresses: addresses.
        module: Its path: addresses.
        most_bytes: Maximum size of the file, inflated; None: the default of the format.
    """

    build_ids: BuildIds | None = None
    fields: str = ""
    return_addresses: bool = False
    build_id: str = ""
    module: str = ""
    most_bytes: int | None = None


def read_profile(
    path: str | os.PathLike[str], options: ProfileOptions | None = None
) -> Profile:
    """The profile in a file of any format.

    Args:
        path: A file, compressed or not; a pipe; `STANDARD_INPUT`; or a
            folder that `perf record --threads` wrote.
        options: Information about it.

    Raises:
        FormatError: The format is unknown, or the file damaged.
        OSError: The file cannot be read.
        UnsupportedError: The layout is not supported, or a library is not installed.
    """
    options = options or ProfileOptions()
    with RepeatableInput(os.fspath(path)) as source:
        kind = "perf script" if options.fields else source.kind()
        name = source.file()
        module, _, function = _READERS[kind].partition(".")
        # A format is imported when it is read: some need packages that others do not.
        read = getattr(import_module(f"gsym.profiles.{module}"), function)
        with ErrorsOf(name):
            made: Profile = read(name, options)
        made.name_processes()
        if any(os.path.isabs(mapping.path) for mapping in made.mappings):
            symbolizing = import_module("gsym.profiles.symbolizing")
            symbolizing.assume_ids(made, os.stat(name).st_mtime)
        return made


# By format: the module and the function that read it.
_READERS = {
    "pprof": "pprof.read_pprof",
    "otlp": "otlp.read_otlp",
    "perf script": "perf_script.read_perf_script",
    "perf.data": "perf_data.read_perf_data",
    "addresses": "address_list_input.read_addresses",
    "heap": "heap_input.read_heap",
    "go": "heap_input.read_heap",
    "callgrind": "callgrind_input.read_callgrind",
    "dhat": "dhat_input.read_dhat",
    "gperftools": "heap_input.read_cpu_words",
    "collapsed": "collapsed_input.read_collapsed",
    "chrome": "chrome_input.read_chrome",
    "cpuprofile": "chrome_input.read_cpuprofile",
    "heapprofile": "chrome_input.read_heapprofile",
    "speedscope": "speedscope_input.read_speedscope",
    "firefox": "firefox.read_firefox",
    "fxt": "fxt_input.read_fxt_file",
}
KINDS = tuple(_READERS)
"""The formats that are read, by the names that `profile_kind` gives them."""
