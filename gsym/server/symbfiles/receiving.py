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
from uuid import uuid4

from starlette.requests import ClientDisconnect
from starlette.routing import Route

from gsym.server.bodies import spool_body, work_folder
from gsym.server.errors import HttpError
from gsym.server.logs import LOGGED
from gsym.server.modules import child_limits, store_path
from gsym.server.symbfiles import protocol
from gsym.server.symbfiles.pending import PendingLimits, PendingUploads
from gsym.server.symbfiles.publication import SymbfilePublication
from gsym.server.tokens import REPLACE, UPLOAD
from gsym.server.uploads import find_confinement
from gsym.store.directory import Store
from gsym.writing.atomic_file import FULL_DISK

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from typing import Any

    from starlette.requests import Request
    from starlette.responses import Response

    from gsym.server.service import Service
    from gsym.server.symbfiles.pending import PendingUpload
    from gsym.server.symbfiles.protocol import PartHeader
    from gsym.server.tokens import Holder

_LOG = logging.getLogger("gsym.server")
_KINDS = ("ranges", "returnpads")
_PAUSE = 0.05  # seconds between attempts to lock an upload
_REFUSAL_OF_CODE = {refusal.code: refusal for refusal in protocol.REFUSALS}


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
        self._publication = SymbfilePublication(
            self._store,
            child_limits(settings, limits.max_inflated),
            limits.max_symbfile,
        )
        self._pending = PendingUploads(
            self._store,
            PendingLimits(
                limits.max_symbfile,
                limits.max_pending_of_key,
                limits.max_pending_symbfiles,
                limits.symbfile_time,
            ),
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
        except protocol.PartError as error:
            return self._refuse(error, facts)
        except OSError as error:
            if error.errno not in FULL_DISK:
                return self._fail(facts)
            _LOG.error("cannot write to the store: %s", error.strerror)
            return self._refuse(
                protocol.PartError(protocol.DISK_FULL, "the disk is full"), facts
            )
        except Exception:  # noqa: BLE001 - the protocol defines the answer
            return self._fail(facts)
        finally:
            self._service.metrics.count_part(kind, facts["symbfile"], size)
        return protocol.success_response()

    def _refuse(self, error: protocol.PartError, facts: dict[str, Any]) -> Response:
        uuid = str(uuid4())
        code, text = error.refusal.code, error.text
        facts |= {"symbfile": "refused", "uuid": uuid, "code": code}
        _LOG.warning("symbfile refused (uuid %s, code %s): %s", uuid, code, text)
        return protocol.refusal_response(error, uuid)

    def _fail(self, facts: dict[str, Any]) -> Response:
        uuid = str(uuid4())
        facts |= {"symbfile": "refused", "uuid": uuid, "code": protocol.INTERNAL.code}
        _LOG.exception("cannot receive a symbfile (uuid %s)", uuid)
        text = "Something went wrong on our side."
        return protocol.refusal_response(
            protocol.PartError(protocol.INTERNAL, text, closes=True), uuid
        )

    async def _receive(
        self, request: Request, kind: str, holder: Holder, header: PartHeader
    ) -> str:
        """Receive a part and return its outcome.

        Raises:
            PartError: The part is refused.
        """
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
                        return await self._publish(upload, holder, header, kind, parts)
                    return "stored" if is_new else "repeated"

    async def _publish(
        self,
        upload: PendingUpload,
        holder: Holder,
        header: PartHeader,
        kind: str,
        parts: list[str],
    ) -> str:
        loop = asyncio.get_running_loop()
        run = self._service.opening.run
        publish = partial(self._publication.publish, may_replace=holder.may(REPLACE))
        work = header.file_id, kind, parts
        try:
            outcome = await loop.run_in_executor(self._threads, publish, *work)
        except protocol.PartError as error:
            await run(upload.end, (error.refusal.code, error.text))
            raise
        await run(upload.finish, outcome)
        return outcome
