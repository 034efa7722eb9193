"""Logs: JSON Lines for machines, plain lines for people.

Each request gets an id, or keeps that of its `X-Request-Id`; the answer repeats it.
"""

from __future__ import annotations

import logging
import os
import re
import sys
import threading
import time
from collections.abc import Mapping
from datetime import datetime, timezone
from functools import partial
from http import HTTPStatus
from typing import Any

import msgspec
from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from gsym.cache import BoundedCache
from gsym.model import valid_text
from gsym.server.errors import endpoint_path, header_of
from gsym.server.monitoring import PROBES, Metrics
from gsym.server.settings import Settings

_REQUESTS = logging.getLogger("gsym.requests")
_REQUEST_ID = re.compile(r"[A-Za-z0-9._:+/=-]{1,128}")
LOGGED = "gsym.log"  # further fields of the log, in the scope of a request
_MINUTE = 60.0
_MOST_TEXTS = 1000
_MAX_SHOWN = 200  # characters of an object in a message
_NO_ANSWER = 499  # the client closed the connection; the code that nginx uses


class RequestLog:
    """Gives each request an id, logs and counts it."""

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self._app = app
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started = time.perf_counter()
        given = header_of(scope, b"x-request-id")
        request_id = given if _REQUEST_ID.fullmatch(given) else os.urandom(8).hex()
        status, size = _NO_ANSWER, 0

        async def send_named(message: Message) -> None:
            nonlocal status, size
            if message["type"] == "http.response.start":
                status = message["status"]
                MutableHeaders(scope=message)["x-request-id"] = request_id
            else:
                size += len(message.get("body", b""))
            await send(message)

        try:
            await self._app(scope, receive, send_named)
        finally:
            seconds = time.perf_counter() - started
            self._metrics.count_request(scope, status, seconds)
            is_probe = endpoint_path(scope) in PROBES and status == HTTPStatus.OK
            level = logging.DEBUG if is_probe else logging.INFO
            if _REQUESTS.isEnabledFor(level):
                ms = round(seconds * 1e3, 3)
                outcome = {"status": status, "bytes": size, "ms": ms}
                _log_request(scope, level, request_id, outcome)


def _log_request(
    scope: Scope, level: int, request_id: str, outcome: Mapping[str, object]
) -> None:
    client = scope.get("client")
    agent = header_of(scope, b"user-agent")
    fields = {
        "request_id": request_id,
        "client": client[0] if client else "",
        "method": scope["method"],
        "path": scope["path"],
        **outcome,
        "user_agent": agent[:256],
        **scope.get(LOGGED, {}),
    }
    # `info` would look for the line of the caller, which no line of the log has.
    name, where = _REQUESTS.name, (scope["method"], scope["path"])
    extra = {"fields": fields}
    record = _REQUESTS.makeRecord(name, level, "", 0, "%s %s", where, None, extra=extra)
    _REQUESTS.handle(record)


class OnceAMinute(logging.Filter):
    """Drops a warning or an error that was logged within the last minute.

    The next line of that text has the number of those that were dropped.
    """

    def __init__(self) -> None:
        super().__init__()
        # (time of the last line, number of dropped ones), by text
        self._seen: BoundedCache[str, tuple[float, int]] = BoundedCache(_MOST_TEXTS)

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether a record is written."""
        if record.levelno < logging.WARNING or record.exc_info:
            return True
        text, now = record.getMessage(), record.created
        last, dropped = self._seen.get(text, (0.0, 0))
        if 0 <= now - last < _MINUTE:
            self._seen[text] = last, dropped + 1
            return False
        self._seen.keep(text, (now, 0))
        if dropped:
            record.msg, record.args = "%s (%d times more)", (text, dropped)
        return True


class _JsonLines(logging.Formatter):
    """A record as a JSON object."""

    def format(self, record: logging.LogRecord) -> str:
        moment = datetime.fromtimestamp(record.created, timezone.utc)
        time_text = moment.replace(tzinfo=None).isoformat(timespec="milliseconds")
        fields = {
            "time": f"{time_text}Z",
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            "pid": record.process,
            **getattr(record, "fields", {}),
        }
        if record.exc_info:
            fields["exception"] = self.formatException(record.exc_info)
        try:
            return msgspec.json.encode(fields).decode()
        except UnicodeEncodeError:
            # UTF-8 cannot encode surrogate escapes, for example.
            printable = {
                name: valid_text(value) if isinstance(value, str) else value
                for name, value in fields.items()
            }
            return msgspec.json.encode(printable).decode()


class _TextLines(logging.Formatter):
    """A record as a line for people."""

    def format(self, record: logging.LogRecord) -> str:
        clock = time.strftime("%H:%M:%S", time.localtime(record.created))
        line = f"{clock} {record.getMessage()}"
        fields = getattr(record, "fields", None)
        if fields is not None and "status" in fields:
            line += f" -> {fields['status']} in {fields['ms']} ms"
        elif record.levelno > logging.INFO:
            line = f"{clock} {record.levelname.lower()}: {record.getMessage()}"
        line = line.encode("unicode_escape", "replace").decode()
        if record.exc_info:
            line += "\n" + self.formatException(record.exc_info)
        return line


def is_for_people(settings: Settings) -> bool:
    """Whether the log is plain text instead of JSON Lines."""
    return settings.log_format == "text" or (
        settings.log_format == "auto" and sys.stderr.isatty()
    )


_LOG = logging.getLogger("gsym.server")


def log_everything() -> None:
    """Log what this process would write to standard error in other forms.

    These are warnings of Python, and errors that no code handles.
    """
    logging.captureWarnings(capture=True)

    def log_error(where: str, *error: Any) -> None:
        _LOG.critical("an error in %s", where, exc_info=error)

    def log_thread(given: threading.ExceptHookArgs) -> None:
        name = given.thread.name if given.thread else ""
        log_error(f"the thread {name}", *given[:3])

    def log_unraisable(given: sys.UnraisableHookArgs) -> None:
        where = f"{given.object!r}"[:_MAX_SHOWN]
        log_error(where, given.exc_type, given.exc_value, given.exc_traceback)

    sys.excepthook = partial(log_error, "the process")
    threading.excepthook = log_thread
    sys.unraisablehook = log_unraisable


def configure_logs(settings: Settings) -> None:
    """Write the logs of this process to standard error."""
    # No line has these: see "Optimization" in the documentation of logging.
    logging.logThreads = logging.logMultiprocessing = False
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_TextLines() if is_for_people(settings) else _JsonLines())
    handler.addFilter(OnceAMinute())
    level = getattr(logging, settings.log_level.upper())
    for name in ("gsym", "uvicorn"):
        logger = logging.getLogger(name)
        logger.handlers[:] = [handler]
        logger.setLevel(level if name == "gsym" else max(level, logging.WARNING))
        logger.propagate = False
    root = logging.getLogger()  # other libraries, and warnings of Python
    for each in root.handlers[:]:
        if isinstance(each.formatter, (_TextLines, _JsonLines)):
            root.removeHandler(each)
    root.addHandler(handler)
