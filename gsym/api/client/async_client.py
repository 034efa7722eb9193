"""A client of symbolication servers for asyncio."""

from __future__ import annotations

import time
from functools import partial

from gsym.api.client.jobs import read_answer
from gsym.api.client.symbolication_client import Conversation, check_answer
from gsym.errors import SourceError, UnsupportedError
from gsym.net.retry import RetryableError
from gsym.net.server_connection import failures
from gsym.net.web_address import request_headers

try:
    import anyio
    import httpx2

    from gsym.net.connections import Answer, proxy_for
except ImportError:
    reason = "a client needs the package httpx2: pip install 'gsym[net]'"
    raise UnsupportedError(reason) from None

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from typing import Any

    from typing_extensions import Self

    from gsym.api.client.jobs import JobAnswer
    from gsym.api.client.symbolication_client import ClientSettings, Sending


_SMALL = 1 << 16  # bytes of an answer that is decoded at once


class AsyncSymbolicationClient:
    """Asks one symbolication server, as `SymbolicationClient` does, for many tasks.

    A cancelled task leaves its request at once.

    Args:
        server: URL of the server, without the path of the API.
        settings: Limits, waits and headers.

    Raises:
        ServerError: *server* is not a URL of http or https.
    """

    def __init__(self, server: str, settings: ClientSettings | None = None) -> None:
        self._conversation = Conversation(server, settings)
        limits = self._conversation.settings
        timeout = httpx2.Timeout(
            limits.timeout, connect=limits.connect_timeout, pool=None
        )
        self._client = httpx2.AsyncClient(
            timeout=timeout,
            verify=httpx2.create_ssl_context(),
            proxy=proxy_for(self._conversation.address) or None,
            trust_env=False,
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close the connections."""
        await self._client.aclose()

    async def symbolicate(self, request: Any) -> list[JobAnswer]:
        """The answer to each job, in order.

        Args:
            request: As for `SymbolicationClient.symbolicate`.

        Raises:
            ServerError: The server returns no usable response.
            ValueError: *request* is not a request of the API.
        """
        answer = await self.answer(request)
        return [read_answer(result) for result in answer["results"]]

    async def answer(self, request: Any) -> dict[str, Any]:
        """Response as JSON of version 5; `{"error": reason}` for a refused job."""
        exchange, answer = self._conversation.exchange(request), None
        while True:
            try:
                asked = exchange.send(answer)
            except StopIteration as end:
                return end.value  # type: ignore[no-any-return]
            answer = await self._post(*asked)

    async def _post(self, path: str, payload: object) -> tuple[int, Any]:
        """Status and JSON of the response, after waits and retries; or ServerError."""
        sending = self._conversation.sending(path, payload)
        with failures(str(sending.address)):
            while True:
                try:
                    return await self._ask(sending)
                except RetryableError as error:
                    wait = sending.attempts.wait_after(error)
                await anyio.sleep(wait)

    async def _ask(self, sending: Sending) -> tuple[int, Any]:
        """Status and JSON of the answer to one request; or SourceError."""
        address, headers, body, until, _ = sending
        most = self._conversation.settings.most_bytes
        sent = request_headers(address, headers)
        content = bytearray()
        try:
            with anyio.fail_after(until - time.monotonic()):
                async with self._client.stream(
                    "POST", address.url, headers=sent, content=body
                ) as response:
                    status, fields = response.status_code, dict(response.headers)
                    check_answer(address, status, fields)
                    async for piece in response.aiter_raw():
                        content += piece
                        if len(content) > most:
                            break  # which `read` refuses
        except (TimeoutError, httpx2.TimeoutException) as error:
            raise RetryableError("no answer in time") from error
        except httpx2.TransportError as error:
            reason = str(error) or type(error).__name__
            if "CERTIFICATE_VERIFY_FAILED" in reason:
                raise SourceError(reason) from error
            is_unreachable = isinstance(error, httpx2.ConnectError)
            raise RetryableError(reason, is_unreachable=is_unreachable) from error
        answer = Answer(status, fields, iter((bytes(content),)))
        read = partial(self._conversation.read, answer)
        if len(content) < _SMALL and "content-encoding" not in fields:
            return read()
        return await anyio.to_thread.run_sync(read)
