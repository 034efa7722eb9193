"""Requests of an upload as files, in the place of sending them."""

from __future__ import annotations

import os

from gsym.errors import GsymError, ServerError
from gsym.net.web_address import read_web_address, request_headers
from gsym.symbfile.upload import ENDPOINTS, part_headers
from gsym.writing.atomic_file import AtomicFile

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from gsym.symbfile.upload import UploadPart

_HIDDEN = "***"
_PIECE_SIZE = 1 << 20


class UploadFolder:
    """A folder of requests: `HEX.KIND-N.head` with the head of each, and its body.

    Both together are the bytes that would be sent, but for the API key. The body is
    `HEX.KIND-N.symbfile`, HEX the FileID.

    Args:
        path: Folder, which is made; it may be there, and then is empty.
        url: Of the server, as for `SymbfileClient`.
        has_key: Whether the requests would show an API key.

    Raises:
        GsymError: There is something in the folder.
        OSError: It cannot be made.
        ServerError: *url* is no URL of http or https.
    """

    def __init__(self, path: str, url: str, *, has_key: bool) -> None:
        try:
            self._address = read_web_address(url)
        except ValueError as error:
            raise ServerError(str(error)) from None
        os.makedirs(path, exist_ok=True)
        if os.listdir(path):
            raise GsymError("the folder is not empty", path=path)
        self._path = path
        self._has_key = has_key

    def write(self, parts: Iterable[UploadPart]) -> list[str]:
        """Write the requests of parts; returns the paths of their heads.

        Raises:
            OSError: A file cannot be read or written.
        """
        return [self._write(part) for part in parts]

    def _write(self, part: UploadPart) -> str:
        name = f"{part.file_id.hex()}.{part.kind}-{part.file_part}"
        head = os.path.join(self._path, f"{name}.head")
        with AtomicFile(head) as file:
            file.write(self._head(part))
        with (
            open(part.path, "rb") as body,
            AtomicFile(os.path.join(self._path, f"{name}.symbfile")) as file,
        ):
            while piece := body.read(_PIECE_SIZE):
                file.write(piece)
        return head

    def _head(self, part: UploadPart) -> bytes:
        address = self._address.below(ENDPOINTS[part.kind])
        headers = part_headers(part, _HIDDEN if self._has_key else "")
        if address.authorization:
            headers.append(("Authorization", f"Basic {_HIDDEN}"))
        lines = [f"POST {address.target} HTTP/1.1"]
        lines += [
            f"{name}: {value}" for name, value in request_headers(address, headers)
        ]
        return "\r\n".join([*lines, "", ""]).encode("ascii")
