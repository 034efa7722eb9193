"""`POST /api/symbols-ranges` and `/api/symbols-returnpads`: symbfiles in parts.

A part is answered when it is on disk; the last one when the symbfile is published. A
client that sends a part again because its answer was lost gets the same answer.
"""

from __future__ import annotations

import asyncio
import logging
import os
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from hashlib import sha256
from typing import Any
from uuid import uuid4

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from gsym.confined.adding import is_file_in, publish_one, read_description
from gsym.confined.confinement import ChildLimits
from gsym.confined.process import ConfinedError, run_confined
from gsym.errors import FormatError, LimitError
from gsym.server.bodies import spool_body, work_folder
from gsym.server.errors import HttpError
from gsym.server.logs import LOGGED
from gsym.server.modules import child_limits, store_path
from gsym.server.service import Service
from gsym.server.symbfiles import protocol
from gsym.server.symbfiles.pending import PendingUpload, PendingUploads
from gsym.server.symbfiles.protocol import PartHeader
from gsym.server.tokens import REPLACE, UPLOAD, Holder
from gsym.server.uploads import find_confinement
from gsym.store.directory import Store
from gsym.store.received_symbfile import (
    file_id_identity,
    publish_return_pads,
    return_pads_path,
)
from gsym.symbfile.file_id import FileId
from gsym.symbfile.format import is_symbfile
from gsym.writing.atomic_file import FULL_DISK

_LOG = logging.getLogger("gsym.server")
_KINDS = ("ranges", "returnpads")
_PAUSE = 0.05  # seconds between attempts to lock an upload
_REFUSAL_OF_CODE = {refusal.code: refusal for refusal in protocol.REFUSALS}
_REFUSALS = {
    "damaged": protocol.DAMAGED,
    "wrong kind": protocol.WRONG_KIND,
    "too large": protocol.TOO_LARGE,
    "unfit": protocol.UNFIT,
}
_SOURCE = "symbfile"
_MAX_TEXT = 500
_INFLATED_TIMES = 8  # assumed compression ratio, for the time limit


def symbfile_routes(service: Service) -> list[Route]:
    """The endpoints, if there are tokens for them."""
    if not service.tokens.names(UPLOAD):
        return []
    find_confinement(service)
    receiving = _Receiving(service)
    receiving.forget_old()

    def endpoint(kind: str) -> Route:
        async def receive(request: Request) -> Response:
            return await receiving.answer(request, kind)

        path = f"/api/symbols-{kind}"
        return Route(path, receive, methods=["POST", "PUT"])

    return [endpoint(kind) for kind in _KINDS]


class _Receiving:
    """Receives parts."""

    def __init__(self, service: Service) -> None:
        settings = service.settings
        self._service = service
        self._limits = limits = settings.limits
        self._store = Store(store_path(settings))
        self._pending = PendingUploads(self._store, limits)
        confined = child_limits(settings, limits.max_inflated)
        self._publish = partial(
            publish_symbfile, self._store, confined, limits.max_symbfile
        )
        # Separate threads, so that parts do not wait for conversions.
        self._threads = ThreadPoolExecutor(limits.max_uploads, "gsym-symbfile")

    def forget_old(self) -> None:
        """Remove uploads that expired while no server was running."""
        try:
            self._pending.forget_old()
        except OSError as error:
            _LOG.error("cannot remove expired parts of symbfiles: %s", error)

    async def answer(self, request: Request, kind: str) -> Response:
        """The answer to a request with a part."""
        facts: dict[str, Any] = request.scope.setdefault(LOGGED, {})
        facts["symbfile"] = "broken off"
        size = 0
        try:
            holder = protocol.key_holder(request.headers, self._service.tokens)
            header = protocol.read_part_header(request.headers, self._limits)
            facts |= {"file_id": header.file_id.hex(), "part": header.part}
            facts["symbfile"] = await self._receive(request, kind, holder, header)
            size = header.size
        except (ClientDisconnect, HttpError):  # too many requests
            raise
        except Exception as error:  # noqa: BLE001 - the protocol defines the answer
            return _refused(error, facts)
        finally:
            metrics = self._service.metrics
            metrics.of("gsym_symbfile_parts", kind, facts["symbfile"]).inc()
            metrics.of("gsym_symbfile_bytes", kind).inc(size)
        return protocol.success_response()

    async def _receive(
        self, request: Request, kind: str, holder: Holder, header: PartHeader
    ) -> str:
        """Receive a part and return its outcome; PartError if it is refused."""
        async with work_folder(self._service, self._store) as folder:
            path, digest = os.path.join(folder, "part"), sha256()
            try:
                await spool_body(
                    request, self._service, path, header.size, digest.update
                )
            except HttpError as error:
                if error.status_code != protocol.TOO_SLOW.status:
                    raise  # too many requests
                text = "the body arrived too slowly"
                raise protocol.PartError(protocol.TOO_SLOW, text, closes=True) from None
            return await self._add(holder, kind, header, digest.hexdigest(), path)

    async def _add(
        self, holder: Holder, kind: str, header: PartHeader, digest: str, path: str
    ) -> str:
        run, name = self._service.opening.run, f"{header.file_id.hex()}.{kind}"
        while True:
            upload = await run(self._pending.open, holder.name, name)
            with upload:
                # Another process may hold the lock, and there is no event for that.
                while not upload.try_lock():  # noqa: ASYNC110
                    await asyncio.sleep(_PAUSE)
                if not upload.exists():
                    # Another request may have finished the upload.
                    if (outcome := upload.outcome(header, digest)) is not None:
                        code, text = outcome
                        if code:
                            raise protocol.PartError(_REFUSAL_OF_CODE[code], text)
                        return "repeated"
                elif upload.is_old() or not upload.includes(header):
                    await run(upload.remove)
                else:
                    is_new = await run(upload.add, header, digest, path)
                    parts = await run(upload.all_parts)
                    if parts:
                        return await self._finish(upload, holder, header, kind, parts)
                    return "stored" if is_new else "repeated"

    async def _finish(
        self,
        upload: PendingUpload,
        holder: Holder,
        header: PartHeader,
        kind: str,
        parts: list[str],
    ) -> str:
        run, loop = self._service.opening.run, asyncio.get_running_loop()
        publish = partial(self._publish, may_replace=holder.may(REPLACE))
        work = header.file_id, kind, parts
        try:
            outcome = await loop.run_in_executor(self._threads, publish, *work)
        except protocol.PartError as error:
            await run(upload.end, (error.refusal.code, error.text))
            raise
        await run(upload.finish, outcome)
        return outcome


def _refused(error: Exception, facts: dict[str, Any]) -> Response:
    """The answer to a part that is not taken, whose reason is logged."""
    uuid = str(uuid4())
    if isinstance(error, OSError) and error.errno in FULL_DISK:
        _LOG.error("cannot write to the store: %s", error.strerror)
        error = protocol.PartError(protocol.DISK_FULL, "the disk is full")
    if isinstance(error, protocol.PartError):
        told = uuid, error.refusal.code, error.text
        _LOG.warning("symbfile refused (uuid %s, code %s): %s", *told)
    else:
        _LOG.exception("cannot receive a symbfile (uuid %s)", uuid)
        text = "Something went wrong on our side."
        error = protocol.PartError(protocol.INTERNAL, text, closes=True)
    facts |= {"symbfile": "refused", "uuid": uuid, "code": error.refusal.code}
    return protocol.refusal_response(error, uuid)


def publish_symbfile(  # noqa: PLR0913, PLR0917 - all that defines a publication
    store: Store,
    limits: ChildLimits,
    most: int,
    file_id: FileId,
    kind: str,
    parts: list[str],
    *,
    may_replace: bool,
) -> str:
    """Publish a symbfile, of at most *most* bytes.

    Returns:
        "added"; "replaced": it replaced a less complete module; "kept": the stored
        module is at least as complete and was kept.

    Raises:
        PartError: It is refused, and nothing was published.
    """
    with store.temporary_folder() as folder:
        arguments = {
            "paths": parts,
            "kind": kind,
            "file_id": file_id.hex(),
            "folder": folder,
            "most": most,
        }
        try:
            answer = _assemble(arguments, limits)
            if kind == "ranges":
                module = read_description(answer, folder)._replace(
                    identity=file_id_identity(file_id),
                    uuid=bytes(file_id),
                    originals={"ranges": answer["symbfile"]},
                )
                return publish_one(
                    store, module, source=_SOURCE, may_replace=may_replace
                ).outcome
        except (LimitError, ConfinedError) as error:
            raise protocol.PartError(protocol.TOO_COSTLY, error.reason) from None
        except FormatError as error:
            raise protocol.PartError(protocol.DAMAGED, error.reason) from None
        is_stored = os.path.exists(return_pads_path(store.path, file_id))
        if is_stored and not may_replace:
            return "kept"
        publish_return_pads(store.path, file_id, answer["symbfile"])
        return "replaced" if is_stored else "added"


def _assemble(arguments: dict[str, Any], limits: ChildLimits) -> dict[str, Any]:
    parts, folder = arguments["paths"], arguments["folder"]
    if not is_symbfile(parts[0]):  # of pieces of one symbfile, the first counts
        seconds = _INFLATED_TIMES * limits.seconds_per_100_mib
        limits = limits._replace(seconds_per_100_mib=seconds)
    answer = run_confined(
        *("assemble", arguments, folder, limits),
        inputs=parts,
        readable=[os.path.dirname(parts[0])],
    )
    if "refusal" in answer:
        refusal = _REFUSALS.get(str(answer["refusal"]), protocol.DAMAGED)
        raise protocol.PartError(refusal, str(answer.get("text"))[:_MAX_TEXT])
    if not is_file_in(str(answer.get("symbfile")), folder):
        raise FormatError("joining the parts had an invalid result")
    return answer
