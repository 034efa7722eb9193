"""`/source/v1` of samply's API: the source file that an address leads to.

Only what symbolicating the address yields can be asked for, and of that only what is in
a folder that the operator allows. Why a file cannot be had is not told apart, so that
nobody learns which files there are.
"""

from __future__ import annotations

import msgspec

from gsym.api.extension_request import ExtensionError, decode_request, read_number
from gsym.errors import FormatError
from gsym.store.module_key import key_of_debug_id

__all__ = ["SourceRequest", "answer_source", "read_source_request"]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from gsym.api.source_roots import SourceRoots
    from gsym.symbolizer import Symbolizer

_NOT_FOUND = 404
_TOO_LARGE = 413


class SourceRequest(msgspec.Struct, rename="camel", frozen=True):
    """A source file, and the address that leads to it.

    Attributes:
        debug_name: Of the module.
        debug_id: Of the module.
        module_offset: From the base of the module, as text with 0x.
        file: Its path as `/symbolicate/v5` answers it for that address.
    """

    debug_name: str
    debug_id: str
    module_offset: str
    file: str


def read_source_request(body: bytes) -> SourceRequest:
    """The request in the body of a request.

    Raises:
        ExtensionError: It is not sound.
    """
    request = decode_request(body, SourceRequest)
    read_number(request.module_offset, "moduleOffset")
    return request


def answer_source(
    request: SourceRequest,
    symbolizer: Symbolizer,
    roots: SourceRoots,
    *,
    path_map: Callable[[str], str] | None = None,
    most: int,
) -> bytes:
    """The body of a response; opening the module may take long.

    Args:
        request: What is asked.
        symbolizer: Has the modules.
        roots: The folders that may be read.
        path_map: What `/symbolicate/v5` makes of paths.
        most: Bytes that a source file may have.

    Raises:
        ExtensionError: There is no such file for that address.
    """
    for path in _paths(request, symbolizer):
        if request.file == (path_map(path) if path_map else path):
            try:
                text = roots.read(path, most)
            except OSError:
                text = None
            if text is None:
                break
            if len(text) > most:
                reason = f"the file has more than {most} bytes"
                raise ExtensionError(reason, _TOO_LARGE)
            return msgspec.json.encode(
                {
                    "symbolsLastModified": None,
                    "sourceLastModified": None,
                    "file": request.file,
                    "source": text.decode("utf-8", "replace"),
                }
            )
    raise ExtensionError("there is no such source file for that address", _NOT_FOUND)


def _paths(request: SourceRequest, symbolizer: Symbolizer) -> list[str]:
    """The source files of all frames at the address."""
    try:
        key = key_of_debug_id(request.debug_name, request.debug_id)
    except ValueError:
        raise ExtensionError(f"'{request.debug_id[:80]}' is no debug id") from None
    offset = read_number(request.module_offset, "moduleOffset")
    try:
        found = symbolizer.symbolize(key, offset=offset)
    except FormatError as error:
        raise ExtensionError(f"damaged symbols: {error.reason}", _NOT_FOUND) from None
    if found.lookup is None:
        raise ExtensionError("there are no symbols for that address", _NOT_FOUND)
    return [frame.path for frame in found.lookup.frames if frame.path]
