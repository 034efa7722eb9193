"""Collectors that keep the profiles that they receive, by HTTP and by gRPC."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

import grpc
from opentelemetry.proto.collector.profiles.v1development import (
    profiles_service_pb2 as service,
    profiles_service_pb2_grpc as service_grpc,
)

if TYPE_CHECKING:
    from typing_extensions import Self


class HttpCollector:
    """Answers as it is told to.

    Attributes:
        bodies: Of the requests.
        status, headers, answer: Of the answers.
    """

    def __init__(self) -> None:
        self.reset()
        collector = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                assert self.path == "/v1development/profiles"
                assert self.headers["content-type"] == "application/x-protobuf"
                size = int(self.headers["content-length"])
                collector.bodies.append(self.rfile.read(size))
                self.send_response(collector.status)
                self.send_header("content-type", "application/x-protobuf")
                self.send_header("content-length", str(len(collector.answer)))
                for name, value in collector.headers.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(collector.answer)

            def log_message(self, *_: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever)

    def reset(self) -> None:
        self.bodies: list[bytes] = []
        self.status = 200
        self.headers: dict[str, str] = {}
        self.answer = service.ExportProfilesServiceResponse().SerializeToString()

    @property
    def url(self) -> str:
        port = self._server.server_port
        return f"http://127.0.0.1:{port}/v1development/profiles"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


class GrpcCollector(service_grpc.ProfilesServiceServicer):
    """A collector by gRPC; `error` is a code and a text to answer with."""

    def __init__(self) -> None:
        self.requests: list[Any] = []
        self.error: tuple[grpc.StatusCode, str] | None = None
        self.trailing: tuple[tuple[str, bytes], ...] = ()
        self.answer = service.ExportProfilesServiceResponse()
        self._server = grpc.server(ThreadPoolExecutor(2))
        service_grpc.add_ProfilesServiceServicer_to_server(self, self._server)  # type: ignore[no-untyped-call]
        self.port = self._server.add_insecure_port("127.0.0.1:0")

    @property
    def url(self) -> str:
        return f"grpc://127.0.0.1:{self.port}"

    def Export(self, request: Any, context: Any) -> Any:  # noqa: N802 - of the protocol
        self.requests.append(request)
        if self.error is not None:
            context.set_trailing_metadata(self.trailing)
            context.abort(*self.error)
        return self.answer

    def __enter__(self) -> Self:
        self._server.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.stop(None).wait()
