"""Collectors that keep the profiles that they receive, by HTTP and by gRPC."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import grpc
from opentelemetry.proto.collector.profiles.v1development import (
    profiles_service_pb2 as service,
    profiles_service_pb2_grpc as service_grpc,
)

from tests.http_server import Reply, Server

if TYPE_CHECKING:
    from typing_extensions import Self


TYPE = ("content-type", "application/x-protobuf")
ACCEPTED = service.ExportProfilesServiceResponse().SerializeToString()
_PATH = "/v1development/profiles"


class HttpCollector(Server):
    """A collector by HTTP; `otherwise` is what it answers."""

    def __init__(self) -> None:
        super().__init__()
        self.answers(ACCEPTED)

    def answers(self, body: bytes, status: int = 200, **headers: str) -> None:
        """What all requests are answered with; of earlier ones nothing is kept."""
        named = tuple((n.replace("_", "-"), value) for n, value in headers.items())
        self.replies = {_PATH: Reply(body, status, (TYPE, *named))}
        self.requests = []

    @property
    def url(self) -> str:
        return super().url + _PATH


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
