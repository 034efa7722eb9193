"""`POST /symbolicate/v5` and `/symbolicate/v4`.

What is little and known already is answered at once, in the event loop: to hand it to a
thread takes longer than the answer.
"""

from __future__ import annotations

from anyio import fail_after
from starlette.routing import Route

from gsym.errors import LimitError
from gsym.server.bodies import HeldBody, read_body
from gsym.server.errors import ServerError
from gsym.server.large_answers import HeldAnswer
from gsym.symbolication.metrics import debug_figures
from gsym.symbolication.request import RequestError, read_v4, read_v5
from gsym.symbolication.response import answer_v4, answer_v5
from gsym.symbolication.symbolication import Symbolication

TYPE_CHECKING = False
if TYPE_CHECKING:
    from starlette.datastructures import Headers
    from starlette.requests import Request
    from starlette.responses import Response

    from gsym.server.service import Service
    from gsym.symbolication.symbolication import ModuleWork

    Body = bytes | memoryview

_FEW_BYTES = 4096
_FEW_FRAMES = 100
_TOO_LARGE = 413
_UNAVAILABLE = 503
_RETRY_AFTER = 5
_READERS = {"v4": read_v4, "v5": read_v5}


class _Answering:
    """One request on its way."""

    def __init__(self, service: Service, version: str, headers: Headers) -> None:
        self._service = service
        self._version = version
        self._is_debug = bool(headers.get("debug"))
        # Errors of sources name folders of this machine. A request with an origin comes
        # from a page in a browser, which may be of any site.
        self._has_errors = service.settings.module_errors and "origin" not in headers

    def begin(self, body: bytes) -> tuple[Symbolication, list[ModuleWork]]:
        """Read the request; the work, and the modules that have to be fetched."""
        service = self._service
        try:
            jobs = _READERS[self._version](body, service.request_limits)
        except RequestError as error:
            service.metrics.request_errors.labels(error.reason).inc()
            raise ServerError(error.status, error.title) from None
        work = Symbolication(jobs)
        return work, work.open_known(service.symbolizer)

    def finish(self, work: Symbolication) -> Body:
        """The body of the answer."""
        service, most = self._service, self._service.settings.limits.max_answer
        text: Body
        try:
            if self._version == "v4":
                text = answer_v4(work, most)
            else:
                text = answer_v5(
                    work,
                    service.texts,
                    debug=debug_figures(work) if self._is_debug else None,
                    has_errors=self._has_errors,
                    most=most,
                )
        except LimitError:
            service.metrics.request_errors.labels("too_large_answer").inc()
            title = f"please ask for less: the answer has more than {most} bytes"
            raise ServerError(_TOO_LARGE, title) from None
        service.metrics.count_work(self._version, work)
        return text

    async def run(self, body: bytes) -> Body:
        """Answer *body*.

        Raises:
            TimeoutError: It took too long.
        """
        service = self._service
        with fail_after(service.settings.limits.request_timeout):
            if len(body) <= _FEW_BYTES:
                work, missing = self.begin(body)
            else:
                work, missing = await service.run(self.begin, body)
            if missing:
                await service.opening.open_all(missing)
            if work.frames <= _FEW_FRAMES:
                return self.finish(work)
            return await service.run(self.finish, work)


def symbolication_routes(service: Service) -> list[Route]:
    """The endpoints of the symbolication API."""

    def endpoint(version: str) -> Route:
        async def symbolicate(request: Request) -> Response:
            settings = service.settings
            with HeldBody(service.body_room) as held:
                limits = settings.limits.max_body, settings.limits.body_timeout
                body = await read_body(request, held, *limits, service.run)
                answering = _Answering(service, version, request.headers)
                try:
                    text = await answering.run(body)
                except TimeoutError:
                    raise ServerError(_UNAVAILABLE, retry_after=_RETRY_AFTER) from None
            return HeldAnswer(text, service.answer_room)

        return Route(f"/symbolicate/{version}", symbolicate, methods=["POST"])

    return [endpoint("v5"), endpoint("v4")]
