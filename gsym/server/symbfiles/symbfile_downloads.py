"""Symbfiles where devfiler asks for them: by the first letters of the FileID.

/xx/yy/xxyy.../metadata.json   /xx/yy/xxyy.../ranges   /xx/yy/xxyy.../returnpads

The FileID is in base64 for URLs. The first two are devfiler's, the last is ours; both
files are symbfiles in a zstd stream.
"""

from __future__ import annotations

import os
from io import FileIO

import msgspec
from starlette.responses import Response

from gsym.errors import GsymError
from gsym.server.downloads import FileRoute
from gsym.server.errors import ServerError
from gsym.server.file_responses import FileBody, body_response
from gsym.server.modules import store_path
from gsym.store.directory import Store
from gsym.store.received_symbfile import key_of_file_id, return_pads_path
from gsym.symbfile.file_id import FileId

TYPE_CHECKING = False
if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.routing import Route

    from gsym.server.service import Service

_NOT_FOUND = 404
_LETTERS = 2  # of a FileID in either folder
_VERSION = 1  # of metadata.json


def symbfile_download_routes(service: Service) -> list[Route]:
    """The endpoints, if downloads are switched on."""
    if not service.settings.enable_downloads:
        return []
    store = Store(store_path(service.settings))

    def metadata(file_id: FileId) -> bytes:
        if not _ranges(store, file_id):
            raise ServerError(_NOT_FOUND)
        references = {"dwarfFileID": file_id.base64}
        found = {"version": _VERSION, "symbolFileReferences": references}
        return msgspec.json.encode(found)

    async def answer(request: Request) -> Response:
        file_id, name = _file_id(request), request.path_params["file"]
        if name == "metadata.json":
            text = await service.run(metadata, file_id)
            return Response(text, media_type="application/json")
        body, tag = await service.run(_open, store, file_id, name)
        headers = {"content-type": "application/octet-stream"}
        return body_response(request, service, body, tag, headers)

    path = "/{first}/{second}/{file_id}/{file}"
    return [FileRoute(path, answer, methods=["GET", "HEAD"])]


def _file_id(request: Request) -> FileId:
    """That which a path leads to.

    Raises:
        ServerError: It leads nowhere.
    """
    named = request.path_params
    text = named["file_id"]
    folders = text[:_LETTERS], text[_LETTERS : 2 * _LETTERS]
    try:
        file_id = FileId.parse(text)
    except ValueError:
        raise ServerError(_NOT_FOUND) from None
    if file_id.base64 != text or folders != (named["first"], named["second"]):
        raise ServerError(_NOT_FOUND)
    return file_id


def _ranges(store: Store, file_id: FileId) -> str:
    """The path of the ranges, "" if they are not there."""
    try:
        entry = store.get(key_of_file_id(file_id))
    except GsymError:
        return ""
    return "" if entry is None else entry.originals.get("ranges", "")


def _open(store: Store, file_id: FileId, name: str) -> tuple[FileBody, str]:
    """A file, and what stands for its bytes.

    Raises:
        ServerError: There is none.
    """
    file = None
    if name == "returnpads":
        file = _opened(return_pads_path(store.path, file_id))
    elif name == "ranges":
        # They may be replaced between the two steps.
        file = _opened(_ranges(store, file_id)) or _opened(_ranges(store, file_id))
    if file is None:
        raise ServerError(_NOT_FOUND)
    status = os.fstat(file.fileno())
    tag = f"{status.st_ino:x}-{status.st_mtime_ns:x}-{name}"
    return FileBody(file, is_packed=True), tag


def _opened(path: str) -> FileIO | None:
    try:
        return FileIO(path)
    except FileNotFoundError:
        return None
