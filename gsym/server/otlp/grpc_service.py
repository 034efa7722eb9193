"""gRPC: `ProfilesService/Export`, answered by the endpoint of HTTP.

Each call becomes a request to the application, so that tokens, limits, the log and the
metrics are those of HTTP.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any
from urllib.parse import unquote

from starlette.types import ASGIApp

from gsym.net import import_net
from gsym.server.otlp.forwarding import DETAILS, METHOD, import_grpc
from gsym.server.otlp.receiving import PATH
from gsym.server.otlp.status import PROTOBUF, code_of, status_message, status_text
from gsym.server.settings import Settings

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    import httpx2


_OK = 200
_STREAMS = 32  # calls of a connection at a time; the client keeps others back
_GRACE = 10.0  # seconds for calls in progress at the end
# Of metadata, those are headers of the request that are not about its body.
_NOT_PASSED = ("content-", "transfer-", "accept-", "host", "te", "connection")


class GrpcService:
    """A server of gRPC; used from one event loop.

    Raises:
        UnsupportedError: The package grpcio is not installed.
    """

    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        self._app = app
        self._settings = settings
        self._grpc = import_grpc("grpc_port")
        self._http = import_net("httpx2", "grpc_port")
        self._server: Any = None

    async def start(self) -> int:
        """Listen; return the port."""
        settings, grpc = self._settings, self._grpc
        options = [
            ("grpc.max_receive_message_length", settings.limits.max_body),
            ("grpc.max_concurrent_streams", _STREAMS),
            # Several workers listen on one port; a single one has it for itself.
            ("grpc.so_reuseport", int(settings.workers > 1)),
        ]
        # Beyond max_in_flight, the application tells clients to send again. What gRPC
        # refuses itself is lost, for a client may not send that again.
        most = 2 * settings.limits.max_in_flight
        self._server = grpc.aio.server(options=options, maximum_concurrent_rpcs=most)
        service, method = METHOD[1:].split("/")
        handler = grpc.unary_unary_rpc_method_handler(self._export)
        self._server.add_generic_rpc_handlers(
            [grpc.method_handlers_generic_handler(service, {method: handler})]
        )
        host = f"[{settings.host}]" if ":" in settings.host else settings.host
        address = f"{host}:{settings.grpc_port}"
        try:
            port = int(self._add_port(address))
        except RuntimeError:
            raise OSError(f"{address}: cannot listen for gRPC") from None
        await self._server.start()
        return port

    def _add_port(self, address: str) -> Any:
        settings, grpc = self._settings, self._grpc
        if not settings.tls_certificate:
            return self._server.add_insecure_port(address)
        with open(settings.tls_certificate, "rb") as file:
            certificate = file.read()
        with open(settings.tls_key or settings.tls_certificate, "rb") as file:
            pair = file.read(), certificate
        return self._server.add_secure_port(
            address, grpc.ssl_server_credentials([pair])
        )

    async def stop(self) -> None:
        """End, after the calls in progress."""
        if self._server is not None:
            await self._server.stop(_GRACE)

    async def _export(self, data: bytes, context: Any) -> bytes:
        answer = await self._ask(data, context)
        body = bytes(await answer.aread())
        if answer.status_code == _OK:
            return body
        is_ours = answer.headers.get("content-type") == PROTOBUF
        title = status_text(body) if is_ours else body.decode("utf-8", "replace")
        details = body
        if not is_ours:
            details = status_message(answer.status_code, title, answer.headers)
        context.set_trailing_metadata(((DETAILS, details),))
        code = getattr(self._grpc.StatusCode, code_of(answer.status_code)[1])
        await context.abort(code, title)
        raise AssertionError  # it does not return

    async def _ask(self, data: bytes, context: Any) -> httpx2.Response:
        """The application's answer."""
        metadata: Iterable[tuple[str, Any]] = context.invocation_metadata() or ()
        headers = [
            (name.encode("latin-1"), value.encode("latin-1", "replace"))
            for name, value in metadata
            if isinstance(value, str) and not name.startswith(_NOT_PASSED)
        ]
        headers.append((b"content-type", PROTOBUF.encode()))
        scheme = "https" if self._settings.tls_certificate else "http"
        url = f"{scheme}://localhost{PATH}"
        request = self._http.Request("POST", url, headers=headers, content=data)
        client: Any = _address(context.peer())
        transport = self._http.ASGITransport(self._app, client=client)
        answer: httpx2.Response = await transport.handle_async_request(request)
        return answer


def _address(peer: str) -> tuple[str, int] | None:
    """Address and port of `ipv4:127.0.0.1:4317` or `ipv6:%5B::1%5D:4317`."""
    kind, _, place = unquote(peer).partition(":")
    host, _, port = place.rpartition(":")
    if kind not in {"ipv4", "ipv6"} or not port.isdigit():
        return None
    return host.strip("[]"), int(port)


async def start_grpc(app: ASGIApp, settings: Settings) -> GrpcService | None:
    """Start the server of gRPC, if there is a port for it.

    Raises:
        UnsupportedError: The package grpcio is not installed.
    """
    if not settings.grpc_port:
        return None
    service = GrpcService(app, settings)
    await service.start()
    return service
