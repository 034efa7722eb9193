"""`POST /api/symbols-ranges` and `/api/symbols-returnpads`: symbfiles in parts.

A part is answered once it is on the disk; the one that completes its upload once all
is published. Whoever sends a part again, for its answer was lost, gets the same answer.
"""

from __future__ import annotations

import asyncio
import logging
import os
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from io import FileIO
from uuid import uuid4

from anyio import fail_after
from starlette.requests import ClientDisconnect
from starlette.routing import Route

from gsym.server.bodies import spool_body
from gsym.server.modules import store_path
from gsym.server.symbfiles.pending import PendingLimits, PendingUploads
from gsym.server.symbfiles.protocol import (
    FAULTS,
    INTERNAL,
    NO_ROOM,
    TOO_SLOW,
    PartError,
    PartLimits,
    fault_response,
    key_owner,
    read_part_head,
    success_response,
)
from gsym.server.symbfiles.publication import SymbfilePublication
from gsym.server.uploads import log_confinement, upload_rules
from gsym.store.directory import Store
from gsym.writing.atomic_file import FULL_DISK

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from starlette.requests import Request
    from starlette.responses import Response

    from gsym.server.service import Service
    from gsym.server.symbfiles.pending import PendingUpload
    from gsym.server.symbfiles.protocol import PartHead

_LOG = logging.getLogger("gsym.server")
_KINDS = ("ranges", "returnpads")
_PAUSE = 0.05  # seconds, while another request works on the upload
_FAULT_OF_CODE = {fault.code: fault for fault in FAULTS}


def symbfile_routes(service: Service) -> list[Route]:
    """The endpoints, if there are API keys."""
    if not service.settings.symbfile_keys:
        return []
    log_confinement(service)
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
        self._keys = settings.symbfile_keys
        self._seconds = settings.limits.upload_timeout
        self._part_limits = PartLimits(
            settings.limits.max_symbfile_part, settings.limits.max_symbfile_parts
        )
        self._store = Store(store_path(settings))
        self._publication = SymbfilePublication(
            self._store, upload_rules(settings).child, settings.limits.max_symbfile
        )
        self._pending = PendingUploads(
            self._store,
            PendingLimits(
                settings.limits.max_symbfile,
                settings.limits.max_pending_of_key,
                settings.limits.max_pending_symbfiles,
                settings.limits.symbfile_time,
            ),
        )
        # Of its own: parts do not wait for what converts.
        self._threads = ThreadPoolExecutor(settings.limits.max_uploads, "gsym-symbfile")

    def forget_old(self) -> None:
        """Remove what was not finished in time, while no server was there."""
        try:
            self._pending.forget_old()
        except OSError as error:
            _LOG.error("old parts of symbfiles cannot be removed: %s", error)

    async def answer(self, request: Request, kind: str) -> Response:
        """The answer to a request that brings a part."""
        facts: dict[str, Any] = {"symbfile": "broken off"}
        request.scope["gsym.log"] = facts
        size = 0
        try:
            owner = key_owner(request.headers, self._keys)
            head = read_part_head(request.headers, self._part_limits)
            facts |= {"file_id": head.file_id.hex(), "part": head.part}
            facts["symbfile"] = await self._take(request, kind, owner, head)
            size = head.size
        except ClientDisconnect:
            raise
        except PartError as error:
            return self._refuse(error, facts)
        except OSError as error:
            if error.errno not in FULL_DISK:
                return self._fail(facts)
            _LOG.error("the store cannot be written to: %s", error.strerror)
            return self._refuse(PartError(NO_ROOM, "the disk is full"), facts)
        except Exception:  # noqa: BLE001 - the answer has a form of its own
            return self._fail(facts)
        finally:
            self._service.metrics.count_part(kind, facts["symbfile"], size)
        return success_response()

    def _refuse(self, error: PartError, facts: dict[str, Any]) -> Response:
        uuid = str(uuid4())
        facts |= {"symbfile": "refused", "uuid": uuid, "code": error.fault.code}
        code, text = error.fault.code, error.text
        _LOG.warning("a symbfile is refused (uuid %s, code %s): %s", uuid, code, text)
        return fault_response(error, uuid)

    def _fail(self, facts: dict[str, Any]) -> Response:
        uuid = str(uuid4())
        facts |= {"symbfile": "refused", "uuid": uuid, "code": INTERNAL.code}
        _LOG.exception("a symbfile cannot be received (uuid %s)", uuid)
        text = "Something went wrong on our side."
        return fault_response(PartError(INTERNAL, text, closes=True), uuid)

    async def _take(
        self, request: Request, kind: str, owner: str, head: PartHead
    ) -> str:
        """What became of a part.

        Raises:
            OSError: The store cannot be written to.
            PartError: It is refused.
        """
        run = self._service.opening.run
        place = self._store.temporary_folder()
        folder = await run(place.__enter__)
        try:
            path = os.path.join(folder, "part")
            digest = await self._spool(request, head, path)
            return await self._settle(owner, kind, head, digest, path)
        finally:
            # Whoever waits for the answer may be gone; the folder goes all the same.
            await asyncio.shield(run(place.__exit__, None, None, None))

    async def _spool(self, request: Request, head: PartHead, path: str) -> str:
        """Write the body to a file; its SHA-256."""
        digest = sha256()
        try:
            with FileIO(path, "xb") as file, fail_after(self._seconds):
                await spool_body(request, self._service, file, head.size, digest)
        except TimeoutError:
            text = "the body came too slowly"
            raise PartError(TOO_SLOW, text, closes=True) from None
        return digest.hexdigest()

    async def _settle(
        self, owner: str, kind: str, head: PartHead, digest: str, path: str
    ) -> str:
        run, name = self._service.opening.run, f"{head.file_id.hex()}.{kind}"
        while True:
            upload = await run(self._pending.open, owner, name)
            with upload:
                # Another process may hold it, which no event tells of.
                while not upload.try_lock():  # noqa: ASYNC110
                    await asyncio.sleep(_PAUSE)
                if not upload.is_there():
                    outcome = upload.outcome(head, digest)
                    if outcome is not None:
                        return _shared(*outcome)
                elif upload.is_old() or not upload.is_of(head):
                    await run(upload.remove)
                else:
                    is_new = await run(upload.add, head, digest, path)
                    parts = await run(upload.whole)
                    if parts:
                        return await self._publish(upload, head, kind, parts)
                    return "stored" if is_new else "repeated"

    async def _publish(
        self, upload: PendingUpload, head: PartHead, kind: str, parts: list[str]
    ) -> str:
        """Publish what is whole; what became of it."""
        loop = asyncio.get_running_loop()
        run, publish = self._service.opening.run, self._publication.publish
        work = head.file_id, kind, parts
        try:
            outcome = await loop.run_in_executor(self._threads, publish, *work)
        except PartError as error:
            await run(upload.end, (error.fault.code, error.text))
            raise
        await run(upload.finish, outcome)
        return outcome


def _shared(code: str, text: str) -> str:
    """What becomes of a part whose upload was finished by another request.

    Raises:
        PartError: It was refused.
    """
    if code:
        raise PartError(_FAULT_OF_CODE[code], text)
    return "repeated"
