"""`POST /upload/`: adds debug information to the store; needs a token.

With `POST /upload/auth_info/`, what Mozilla's upload tool asks of its symbol server
(mozilla-services/tecken).

Confined processes unpack an upload and convert its files. The server checks the result,
has the engine check every record, and publishes all of it or nothing.
"""

from __future__ import annotations

import logging
import os
import re
import tempfile
import time
from collections.abc import Mapping
from contextlib import closing, suppress
from functools import partial
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from gsym.confined.adding import is_file_in, publish_described, read_descriptions
from gsym.confined.process import confinement_report, run_confined
from gsym.confined.uploads import member_key
from gsym.errors import FormatError, GsymError
from gsym.modules.key import ModuleKey, is_hex
from gsym.net.limits import TransferLimits
from gsym.net.transfer import Transfer
from gsym.net.web_address import read_web_address
from gsym.server.bodies import SpooledBodies, too_large
from gsym.server.errors import HttpError, answered, declared_size, json_response
from gsym.server.modules import child_limits, store_path
from gsym.server.monitoring import FOLDER_VARIABLE
from gsym.server.service import Service
from gsym.server.tokens import REPLACE, UPLOAD, Holder, Tokens
from gsym.store.directory import Store
from gsym.store.layout import name_problem, normal_debug_id

_LOG = logging.getLogger("gsym.server")
_MEMBERS = "members"  # the folder of unpacked files
_UNPACKING_MEMORY = 512 << 20  # bytes of address space, to unpack an upload
# Parameters that say of which module the file is, and what they are.
STATED = {
    "os": "its operating system: Linux, mac, windows",
    "architecture": "its architecture, as x86_64 or arm64",
    "debug_file": "its name, or that of the file with its debug information",
    "debug_id": "its debug id",
    "code_file": "the name of its binary",
    "code_id": "its build id; of a PE file time stamp and image size",
    "build_id": "another name of code_id",
}
_WORD = re.compile(r"[A-Za-z0-9_.+-]{1,64}")
_NEVER = 253402300799  # the end of year 9999, in seconds since 1970


class AuthInfo(msgspec.Struct, forbid_unknown_fields=True):
    """Rights that the token of an upload gives."""

    email: str
    try_symbols: bool
    token_expires_at: int
    upload_api_version: int


class UploadedModule(msgspec.Struct):
    """A module of an upload."""

    file: str  # the file that it is from
    debug_file: str  # of the module
    debug_id: str  # of the module
    # whether it was added, replaced another one, or the other one was kept
    outcome: str


class Upload(msgspec.Struct):
    """The outcome of an upload."""

    size: int  # its bytes
    id: int  # a number that the log has as well
    modules: list[UploadedModule]  # the outcome for each
    # files without a module, and those of modules that were kept
    skipped_keys: list[str]


class UploadAnswer(msgspec.Struct):
    """The body of the answer to an upload."""

    upload: Upload


def upload_routes(service: Service) -> list[Route]:
    """The endpoints, if there are tokens for them."""
    if not service.tokens.names(UPLOAD):
        return []
    uploads = _Uploads(service)
    find_confinement(service)

    async def upload(request: Request) -> Response:
        holder = _upload_holder(request, service.tokens)
        answer = UploadAnswer(await uploads.receive(request, holder))
        for each in answer.upload.modules:
            service.metrics.of("gsym_uploads", each.outcome).inc()
        return json_response(answer, 201)

    async def auth_info(request: Request) -> Response:
        holder = _upload_holder(request, service.tokens)
        info = AuthInfo(
            holder.name,
            try_symbols=False,
            token_expires_at=_NEVER,
            upload_api_version=1,
        )
        return json_response(info)

    return [
        Route("/upload/", upload, methods=["POST"]),
        Route("/upload/auth_info/", auth_info, methods=["POST"]),
    ]


def find_confinement(service: Service) -> None:
    """Find out, once, how processes that read uploads are confined."""
    if "confinement" in service.facts:
        return
    settings, measures = service.settings, []
    limits = child_limits(settings, settings.limits.max_inflated)
    try:
        # If the folder of the metrics is the server's own, the next server removes it
        # should this one be killed.
        with tempfile.TemporaryDirectory(
            prefix="gsym-probe-", dir=os.environ.get(FOLDER_VARIABLE)
        ) as folder:
            measures = confinement_report(folder, limits)
    except (GsymError, OSError) as error:
        _LOG.error("cannot start processes that read uploads: %s", error)
    service.facts["confinement"] = measures


def _upload_holder(request: Request, tokens: Tokens) -> Holder:
    headers = request.headers
    holder = tokens.holder(headers)
    if holder is not None and holder.may(UPLOAD):
        return holder
    if holder is not None:
        raise HttpError(403, "the token is not for uploads", closes=True)
    if "auth-token" in headers or "authorization" in headers:
        raise HttpError(403, "unknown token", closes=True)
    raise HttpError(401, "an upload needs a token", closes=True)


class _Uploads:
    """Receives uploads, a limited number at a time."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._settings = settings = service.settings
        self._child_limits = child_limits(settings, settings.limits.max_inflated)
        self._store = Store(store_path(settings))
        self._bodies = SpooledBodies(service, settings.limits.max_uploads)

    async def receive(self, request: Request, holder: Holder) -> Upload:
        """The result of an upload; HttpError if it is refused."""
        stated = _stated_module(request.query_params)
        limit = self._settings.limits.max_upload
        declared = declared_size(request.headers)
        if declared > limit:
            raise too_large(limit)
        if request.headers.get("content-encoding", "identity").lower() != "identity":
            title = "send compressed files unchanged, without Content-Encoding"
            raise HttpError(415, title, closes=True)
        async with self._bodies.received(request, limit, declared) as folder:
            name = request.query_params.get("name", "")
            content_type = request.headers.get("content-type", "")
            publish = partial(self._publish, holder, folder, stated)
            return await self._service.opening.run(publish, content_type, name)

    def _publish(
        self,
        holder: Holder,
        folder: str,
        stated: ModuleKey,
        content_type: str,
        name: str,
    ) -> Upload:
        source, size = "upload", os.path.getsize(os.path.join(folder, "body"))
        with answered():
            names, urls = self._unpack(folder, content_type, name)
            if urls and not names:
                folder = os.path.join(folder, "fetched")
                source = self._fetch(urls[0], folder)
                size = os.path.getsize(os.path.join(folder, "body"))
                names, _ = self._unpack(folder, "", source.rpartition("/")[2])
            answer = self._convert(folder, names, stated)
            return Upload(size, *self._add(answer, holder, folder, names, source))

    def _unpack(
        self, folder: str, content_type: str, name: str
    ) -> tuple[list[str], list[str]]:
        """Names of the files in an upload, and URLs given instead of files."""
        members, body = (os.path.join(folder, each) for each in (_MEMBERS, "body"))
        os.mkdir(members)
        limits = self._settings.limits
        arguments = {
            "body": body,
            "content_type": content_type,
            "name": name or "upload",
            "folder": members,
            "limits": [limits.max_members, limits.max_inflated],
        }
        child = self._child_limits._replace(memory=_UNPACKING_MEMORY)
        answer = run_confined("unpack", arguments, folder, child, inputs=[body])
        return _texts(answer.get("names")), _texts(answer.get("urls"))

    def _convert(
        self, folder: str, names: list[str], stated: ModuleKey
    ) -> dict[str, Any]:
        if any(stated) and len(names) > 1:
            reason = "the parameters describe one module, the upload has several files"
            raise FormatError(reason)
        members = os.path.join(folder, _MEMBERS)
        paths = [os.path.join(members, str(number)) for number in range(len(names))]
        if not all(is_file_in(path, folder) for path in paths):
            raise FormatError("unpacking the upload had an invalid result")
        arguments = {
            "names": names,
            "folder": members,
            "store": os.path.join(folder, "store"),
            "stated": list(stated),
            "keep_originals": self._settings.keep_originals,
            "most_inflated": self._settings.limits.max_inflated,
        }
        limits = self._child_limits
        return run_confined("convert", arguments, folder, limits, inputs=paths)

    def _add(
        self,
        answer: dict[str, Any],
        holder: Holder,
        folder: str,
        names: list[str],
        source: str,
    ) -> tuple[int, list[UploadedModule], list[str]]:
        """Publish the converted modules; return number, modules and skipped files."""
        modules = read_descriptions(answer.get("modules"), folder)
        members: list[str] = []
        with suppress(IndexError, KeyError, TypeError):
            members = [names[number] for number in answer["members"]]
        skipped = answer.get("skipped", ())
        if len(members) != len(modules):
            raise FormatError("the conversion had an invalid result")
        if not modules:
            reasons = [str(reason) for _, reason in skipped] or ["no file"]
            raise FormatError("the upload contains no module: " + reasons[0])
        # A path may contain the id of its module.
        keys = [member_key(name) if "/" in name else None for name in members]
        published = publish_described(
            *(self._store, modules),
            source=source,
            keys=keys,
            may_replace=holder.may(REPLACE),
        )
        kept = list(zip(members, published, strict=True))
        lone = [member for member, done in kept if done is None]
        added = [(member, done) for member, done in kept if done is not None]
        if not added:
            reason = "no functions, and the store has no debug file of the module"
            raise FormatError("the upload contains no module: " + reason)
        number = time.time_ns() // 1000
        outcomes: dict[str, set[str]] = {}  # by file, which may have several modules
        modules_of = []
        for member, done in added:
            outcomes.setdefault(member, set()).add(done.outcome)
            ids = done.entry.identity.debug_file, done.entry.identity.debug_id
            modules_of.append(UploadedModule(member, *ids, done.outcome))
            text = "%s %s (%s), uploaded by %s in upload %d"
            _LOG.info(text, done.outcome, *ids, holder.name, number)
        known = [name for name, each in outcomes.items() if each == {"kept"}]
        left = [*(names[each] for each, _ in skipped), *lone, *known]
        return number, modules_of, left

    def _fetch(self, url: str, folder: str) -> str:
        """Download a URL to the body in a new folder; what to call the source."""
        settings = self._settings
        try:
            address = read_web_address(url)
        except ValueError as error:
            raise FormatError(str(error)) from None
        if address.host not in settings.upload_hosts:
            raise FormatError("fetching files from this server is not allowed")
        os.mkdir(folder)
        most = settings.limits.max_upload
        limits = TransferLimits(most_bytes=most, most_inflated=most)
        transfer = Transfer(limits, allow_private=settings.allow_private)
        with closing(transfer):
            transfer.fetch(address, os.path.join(folder, "body"))
        return str(address)


def _stated_module(query: Mapping[str, str]) -> ModuleKey:
    """Module that the parameters of an upload state; HttpError for an invalid one."""
    given = {name: query.get(name, "") for name in STATED}
    code_id, build_id = given.pop("code_id"), given.pop("build_id")
    problem = ""
    if code_id and build_id and code_id.lower() != build_id.lower():
        problem = "code_id and build_id are two names of one id"
    stated = ModuleKey(**given, code_id=(code_id or build_id).upper())
    if stated.code_id and not is_hex(stated.code_id):
        problem = f"'{stated.code_id[:80]}' is not an id in hexadecimal digits"
    for name in ("debug_file", "code_file"):
        if name_problem(given[name]):
            problem = f"{name}: {name_problem(given[name])}"
    for name in ("os", "architecture"):
        if given[name] and not _WORD.fullmatch(given[name]):
            problem = f"{name} is not one word"
    if not problem and stated.debug_id:
        try:
            stated = stated._replace(debug_id=normal_debug_id(stated.debug_id))
        except ValueError as error:
            problem = str(error)
    if problem:
        raise HttpError(400, problem)
    return stated


def _texts(found: object) -> list[str]:
    return [str(each) for each in found] if isinstance(found, list) else []
