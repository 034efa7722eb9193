"""A server on this machine, and requests to it as bytes on the wire."""

from __future__ import annotations

import asyncio
import json
import socket
import tempfile
import threading
import time
from functools import partial
from hashlib import sha256
from http.client import HTTPConnection
from typing import TYPE_CHECKING, Any, NamedTuple

import uvicorn

from gsym.server.application import create_app
from gsym.server.protocol import Protocol
from gsym.server.settings import Limits, Settings

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from types import TracebackType

    from typing_extensions import Self

    from gsym.modules.symbolizer import Symbolizer

PATIENCE = 60  # seconds, on a machine that has other work


class Answer(NamedTuple):
    """A response, with the names of its headers in lower case."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def title(self) -> str:
        """What an error says; every one is JSON of this form."""
        assert self.headers["content-type"] == "application/json"
        assert set(self.json) == {"title", "error"}
        return str(self.json["title"])


def made_settings(**values: Any) -> Settings:
    """Settings, and limits, by name."""
    limits = {
        name: values.pop(name) for name in {*values} & {*Limits.__struct_fields__}
    }
    return Settings(limits=Limits(**limits), **values)


def wait_until(is_so: Callable[[], object]) -> None:
    end = time.monotonic() + PATIENCE
    while not is_so():
        assert time.monotonic() < end
        time.sleep(0.01)


def token_lines(scopes: Mapping[str, str]) -> str:
    """A file of tokens."""
    return "".join(
        f"{token} {granted} {sha256(token.encode()).hexdigest()}\n"
        for token, granted in scopes.items()
    )


class RunningServer:
    """Serves until the `with` block ends.

    Args:
        symbolizer: Opens modules.
        tokens: Scopes by token, whose holder is called like the token.
        settings: Settings and limits by name.
    """

    def __init__(
        self,
        symbolizer: Symbolizer,
        *,
        tokens: Mapping[str, str] | None = None,
        **settings: Any,
    ) -> None:
        with tempfile.NamedTemporaryFile("w", suffix=".tokens") as file:
            file.write(token_lines(tokens or {}))
            file.flush()
            given = {"token_files": [file.name], **settings}
            self.app = create_app(made_settings(**given), symbolizer)
        known = self.app.state.service.settings.limits
        limits = partial(
            Protocol,
            head_size=known.max_head,
            head_timeout=known.head_timeout,
            write_timeout=known.write_timeout,
        )
        config = uvicorn.Config(
            self.app,
            http=limits,  # type: ignore[arg-type] # it makes one
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,
            root_path=settings.get("root_path", ""),
        )
        self._server = uvicorn.Server(config)
        # Those who connect before it accepts wait.
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._thread = threading.Thread(target=self._run)

    @property
    def port(self) -> int:
        return int(self._listener.getsockname()[1])

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def connections(self) -> int:
        """How many clients are connected."""
        return len(self._server.server_state.connections)

    def _run(self) -> None:
        asyncio.run(self._server.serve([self._listener]))

    def __enter__(self) -> Self:
        self._thread.start()
        assert self.ask("GET", "/__lbheartbeat__").status == 200
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._server.should_exit = True
        self._thread.join()
        self._listener.close()

    def ask(
        self,
        method: str,
        path: str,
        body: Any = None,
        headers: Mapping[str, str] | None = None,
    ) -> Answer:
        """Send one request; a body that is no bytes goes as JSON."""
        if body is not None and not isinstance(body, bytes):
            body = json.dumps(body).encode()
        connection = HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            connection.request(method, path, body, dict(headers or {}))
            response = connection.getresponse()
            found = {name.lower(): value for name, value in response.getheaders()}
            return Answer(response.status, found, response.read())
        finally:
            connection.close()

    def post(self, body: Any, path: str = "/symbolicate/v5", **headers: str) -> Answer:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return self.ask("POST", path, body, named)
