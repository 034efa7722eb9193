"""`POST /upload/`: debug information for the store, with a token.

Confined processes take an upload apart and convert its files; the server checks the
result, has the engine check every record, and publishes all of it or nothing.
"""

from __future__ import annotations

import asyncio
import logging
import os
import tempfile
from io import FileIO

import msgspec
from anyio import fail_after
from starlette.responses import Response
from starlette.routing import Route

from gsym.errors import FormatError, GsymError, LimitError, SourceError
from gsym.net.limits import TransferLimits
from gsym.net.transfer import Transfer
from gsym.net.web_address import read_web_address
from gsym.records import NamedTuple
from gsym.server.access import has_token
from gsym.server.archive_members import ArchiveLimits
from gsym.server.bodies import spool_body
from gsym.server.confined_modules import (
    is_file_in,
    publish_described,
    read_descriptions,
)
from gsym.server.confined_process import ConfinedError, confinement_report, run_confined
from gsym.server.confinement import ChildLimits
from gsym.server.errors import ServerError
from gsym.server.modules import store_path
from gsym.server.upload_tasks import member_key
from gsym.store.directory import Store
from gsym.writing.atomic_file import FULL_DISK

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from starlette.requests import Request

    from gsym.net.web_address import WebAddress
    from gsym.server.service import Service
    from gsym.server.settings import Settings
    from gsym.store.modules import ModuleKey


class UploadRules(NamedTuple):
    """How uploads are taken.

    Attributes:
        child: Limits of the processes that read them.
        archive: Limits of archives.
        keeps_originals: Whether the store keeps the files that came.
    """

    child: ChildLimits
    archive: ArchiveLimits
    keeps_originals: bool = True


_MEMBERS, _STORE = "members", "store"
_LITTLE_MEMORY = 512 << 20  # bytes of address space, to take an archive apart


def take_apart(
    folder: str, body: str, content_type: str, name: str, rules: UploadRules
) -> tuple[list[str], list[str]]:
    """Names of the files in an upload, and URLs that are there instead.

    Args:
        folder: Of this upload, on the file system of the store.
        body: Path of what came, in *folder*. It is gone afterwards.
        content_type: As the request has it.
        name: What a file is called that came by itself.
        rules: How it is taken.

    Raises:
        ConfinedError: Reading it took too much.
        FormatError: It is of no use.
        LimitError: It holds too much.
        OSError: The disk is full.
    """
    members = os.path.join(folder, _MEMBERS)
    os.mkdir(members)
    arguments = {
        "body": body,
        "content_type": content_type,
        "name": name,
        "folder": members,
        "limits": list(rules.archive),
    }
    answer = run_confined(
        "take apart",
        arguments,
        folder,
        rules.child._replace(memory=_LITTLE_MEMORY),
        inputs=[body],
    )
    return _texts(answer.get("names")), _texts(answer.get("urls"))


def publish_members(
    store: Store, folder: str, names: list[str], source: str, rules: UploadRules
) -> dict[str, Any]:
    """Put the modules of an upload into a store.

    Args:
        store: The store.
        folder: As for `take_apart`.
        names: As it gave them.
        source: Where they are from, for people.
        rules: How they are taken.

    Returns:
        `modules`: what became of each; `skipped_keys`: files that are no modules.

    Raises:
        GsymError: As for `take_apart`, or there is no module in it. Nothing has been
            published then.
        OSError: The store cannot be written to.
    """
    answer = _converted(folder, names, rules)
    modules = read_descriptions(answer.get("modules"), folder)
    members = [names[module.member] for module in modules]
    if not modules:
        raise FormatError("there is no module in it: " + _why_not(answer))
    published = publish_described(
        store, modules, source=source, keys=[*map(_key, members)]
    )
    return {
        "modules": [
            {
                "file": member,
                "debug_file": done.entry.identity.debug_file,
                "debug_id": done.entry.identity.debug_id,
                "outcome": done.outcome,
            }
            for member, done in zip(members, published, strict=True)
        ],
        "skipped_keys": _skipped(answer, names),
    }


def _converted(folder: str, names: list[str], rules: UploadRules) -> dict[str, Any]:
    members = os.path.join(folder, _MEMBERS)
    paths = [os.path.join(members, str(number)) for number in range(len(names))]
    if not all(is_file_in(path, folder) for path in paths):
        raise FormatError("what came was taken apart in another way than is said")
    arguments = {
        "names": names,
        "folder": members,
        "store": os.path.join(folder, _STORE),
        "keep_originals": rules.keeps_originals,
        "most_inflated": rules.archive.inflated,
    }
    return run_confined("convert", arguments, folder, rules.child, inputs=paths)


def _key(member: str) -> ModuleKey | None:
    """What the module is asked for by, if a path says so."""
    return member_key(member) if "/" in member else None


def _texts(found: object) -> list[str]:
    return [str(each) for each in found] if isinstance(found, list) else []


def _skipped(answer: dict[str, Any], names: list[str]) -> list[str]:
    return [names[number] for number, _ in answer.get("skipped", ())]


def _why_not(answer: dict[str, Any]) -> str:
    reasons = [str(reason) for _, reason in answer.get("skipped", ())]
    return reasons[0] if reasons else "it holds no file"


_LOG = logging.getLogger("gsym.server")
_CREATED = 201
_BAD_REQUEST, _NO_TOKEN, _FORBIDDEN, _TIMEOUT = 400, 401, 403, 408
_TOO_LARGE, _UNSUPPORTED, _UNPROCESSABLE = 413, 415, 422
_BAD_GATEWAY, _UNAVAILABLE, _NO_ROOM = 502, 503, 507
_RETRY_AFTER = 10


def upload_rules(settings: Settings) -> UploadRules:
    """How uploads are taken by the settings."""
    child = ChildLimits(
        memory=settings.limits.child_memory,
        seconds=settings.limits.child_seconds,
        output=settings.limits.max_inflated,
    )
    archive = ArchiveLimits(settings.limits.max_members, settings.limits.max_inflated)
    return UploadRules(child, archive, settings.keep_originals)


def upload_routes(service: Service) -> list[Route]:
    """The endpoint, if there are tokens."""
    settings = service.settings
    if not settings.upload_tokens:
        return []
    uploads = _Uploads(service)
    log_confinement(service)

    async def upload(request: Request) -> Response:
        _check_token(request, settings.upload_tokens)
        body = msgspec.json.encode({"upload": await uploads.take(request)})
        return Response(body, _CREATED, media_type="application/json")

    return [Route("/upload/", upload, methods=["POST"])]


def log_confinement(service: Service) -> None:
    """Tell what holds for processes that read uploads, unless it has been told."""
    if "confinement" not in service.facts:
        limits = upload_rules(service.settings).child
        service.facts["confinement"] = _confinement(limits)


def _confinement(limits: ChildLimits) -> list[str]:
    """What holds for processes that read uploads: tried, and told in the log."""
    try:
        with tempfile.TemporaryDirectory(prefix="gsym-probe-") as folder:
            holds = confinement_report(folder, limits)
    except (GsymError, OSError) as error:
        _LOG.error("no process can be started that reads uploads: %s", error)
        return []
    _LOG.info("what reads uploads is confined by: %s", ", ".join(holds))
    return holds


def _check_token(request: Request, tokens: list[str]) -> None:
    headers = request.headers
    if has_token(headers, tokens):
        return
    if "auth-token" in headers or "authorization" in headers:
        raise ServerError(_FORBIDDEN, "the token is not known", closes=True)
    raise ServerError(_NO_TOKEN, "an upload needs a token", closes=True)


class _Uploads:
    """Takes uploads, some at a time."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._settings = service.settings
        self.rules = upload_rules(service.settings)
        self._store = Store(store_path(service.settings))
        self._at_work = 0

    async def take(self, request: Request) -> dict[str, Any]:
        """What became of an upload.

        Raises:
            ServerError: It is refused.
        """
        if self._at_work >= self._settings.limits.max_uploads:
            raise ServerError(_UNAVAILABLE, retry_after=_RETRY_AFTER, closes=True)
        self._at_work += 1
        try:
            return await self._take(request)
        except OSError as error:
            if error.errno in FULL_DISK:
                _LOG.error("the store cannot be written to: %s", error.strerror)
                raise ServerError(_NO_ROOM, closes=True) from None
            raise
        finally:
            self._at_work -= 1

    async def _take(self, request: Request) -> dict[str, Any]:
        run = self._service.opening.run
        place = self._store.temporary_folder()
        folder = await run(place.__enter__)
        try:
            path = os.path.join(folder, "body")
            await self._spool(request, path)
            content_type = request.headers.get("content-type", "")
            name = request.query_params.get("name", "") or "upload"
            return await run(self._publish, folder, path, content_type, name)
        finally:
            # Whoever waits for the answer may be gone; the folder goes all the same.
            await asyncio.shield(run(place.__exit__, None, None, None))

    async def _spool(self, request: Request, path: str) -> None:
        """Write the body of a request to a file."""
        limit = self._settings.limits.max_upload
        declared = request.headers.get("content-length", "")
        if declared.isdigit() and int(declared[:20]) > limit:
            raise _too_large(limit)
        if request.headers.get("content-encoding", "identity").lower() != "identity":
            title = "send compressed files as they are, without Content-Encoding"
            raise ServerError(_UNSUPPORTED, title, closes=True)
        seconds = self._settings.limits.upload_timeout
        try:
            with FileIO(path, "xb") as file, fail_after(seconds):
                await spool_body(request, self._service, file, limit)
        except LimitError:
            raise _too_large(limit) from None
        except TimeoutError:
            raise ServerError(_TIMEOUT, closes=True) from None

    def _publish(
        self, folder: str, path: str, content_type: str, name: str
    ) -> dict[str, Any]:
        rules, source = self.rules, "upload"
        size = os.path.getsize(path)
        try:
            names, urls = take_apart(folder, path, content_type, name, rules)
            if urls and not names:
                folder = os.path.join(folder, "fetched")
                path = os.path.join(folder, "body")
                address = self._fetch(urls[0], folder, path)
                size, source = os.path.getsize(path), str(address)
                name = source.rpartition("/")[2] or "upload"
                names, _ = take_apart(folder, path, "", name, rules)
            found = publish_members(self._store, folder, names, source, rules)
        except LimitError as error:
            raise ServerError(_TOO_LARGE, error.reason) from None
        except ConfinedError as error:
            raise ServerError(_UNPROCESSABLE, error.reason) from None
        except SourceError as error:
            raise ServerError(_BAD_GATEWAY, error.reason) from None
        except GsymError as error:
            raise ServerError(_BAD_REQUEST, error.reason) from None
        except ValueError as error:
            raise ServerError(_BAD_REQUEST, str(error)) from None
        return {"size": size, **found}

    def _fetch(self, url: str, folder: str, path: str) -> WebAddress:
        """Let the file behind a URL appear at *path*, in a new folder."""
        settings = self._settings
        try:
            address = read_web_address(url)
        except ValueError as error:
            raise FormatError(str(error)) from None
        if address.host not in settings.upload_hosts:
            raise FormatError("files of that server are not fetched")
        os.mkdir(folder)
        most = settings.limits.max_upload
        limits = TransferLimits(most_bytes=most, most_inflated=most)
        transfer = Transfer(limits, allow_private=settings.allow_private)
        try:
            transfer.fetch(address, path)
        finally:
            transfer.close()
        return address


def _too_large(limit: int) -> ServerError:
    return ServerError(
        _TOO_LARGE, f"please limit uploads to <= {limit} bytes", closes=True
    )
