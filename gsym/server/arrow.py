"""`POST /symbolicate/arrow`: addresses in Arrow record batches, answered as a stream.

The body is checked completely before the first batch is sent, so that errors are
answers. Batches are then made one at a time, each when the client has read the last.
"""

from __future__ import annotations

import struct
from contextlib import AsyncExitStack
from io import BytesIO

from anyio import fail_after
from starlette.responses import StreamingResponse
from starlette.routing import Route

from gsym.arrow.rows import has_lists
from gsym.arrow.symbolizing import symbolize
from gsym.errors import GsymError
from gsym.modules.key import key_of_build_id, keys_of_text
from gsym.server.bodies import LARGE, HeldBody, request_body
from gsym.server.errors import HttpError
from gsym.server.service import Wanted
from gsym.store.symbolizer import OpenModule

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Mapping
    from typing import Any

    from starlette.requests import Request
    from starlette.types import Receive, Scope, Send

    from gsym.server.service import Service

MEDIA_TYPE = "application/vnd.apache.arrow.stream"
_OUTPUTS = ("stack", "frames")
_PARAMETERS = ("module", "address", "return_address", "base", "output")
_ROWS = 1 << 14  # and addresses, of a batch of the answer; a row is not divided
_RETRY_AFTER = 5
_DICTIONARY = "dictionary"
_WITH_BUFFERS = ("record batch", _DICTIONARY)
_UNSUITABLE = (GsymError, KeyError, TypeError, ValueError)
_MAX_ID = 1024  # bytes or characters of an id with a name


def arrow_routes(service: Service) -> list[Route]:
    """The endpoint."""

    async def answer(request: Request) -> StreamingResponse:
        kind = request.headers.get("content-type", "").partition(";")[0].strip()
        if kind.lower() != MEDIA_TYPE:
            raise HttpError(415, f"Content-Type must be {MEDIA_TYPE}", closes=True)
        options = _read_options(request.query_params)
        async with AsyncExitStack() as stack:
            limit = service.settings.limits.max_body
            held = request_body(request, service, limit)
            body = await stack.enter_async_context(held)
            try:
                with fail_after(service.settings.limits.request_timeout):
                    pieces = await _begin(body, options, service)
                    stack.push_async_callback(pieces.aclose)
                    first = await anext(pieces)
            except TimeoutError:
                raise HttpError(503, retry_after=_RETRY_AFTER) from None
            return _Stream(first, pieces, stack.pop_all())

    return [Route("/symbolicate/arrow", answer, methods=["POST"])]


class _Stream(StreamingResponse):
    """The pieces of an answer.

    Args:
        first: The first of them.
        others: The following ones.
        held: Closed at the end.
    """

    def __init__(
        self, first: bytes, others: AsyncIterator[bytes], held: AsyncExitStack
    ) -> None:
        async def pieces() -> AsyncIterator[bytes]:
            yield first
            async for piece in others:
                yield piece

        super().__init__(pieces(), media_type=MEDIA_TYPE)
        self._held = held

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send them."""
        async with self._held:
            await super().__call__(scope, receive, send)


def _read_options(query: Mapping[str, str]) -> dict[str, Any]:
    """Keywords of `symbolize`.

    Raises:
        HttpError: One is unknown or invalid.
    """
    options: dict[str, Any] = dict(query)
    if unknown := sorted({*options} - {*_PARAMETERS}):
        known = ", ".join(_PARAMETERS)
        raise HttpError(400, f"unknown parameter '{unknown[0][:80]}'; known: {known}")
    if options.get("output", "stack") not in _OUTPUTS:
        raise HttpError(400, f"output must be one of {', '.join(_OUTPUTS)}")
    if options.get("return_address") == "true":
        options["return_address"] = True
    base = options.get("base", "")
    try:
        options |= {"base": int(base, 0)} if base[:1].isdigit() else {}
    except ValueError:
        raise HttpError(400, "base is not a number") from None
    return options


class _Modules:
    """The modules of a request, by the values of its column.

    Args:
        values: Build ids as bytes, or texts.
    """

    def __init__(self, values: list[bytes | str]) -> None:
        self._keys = {
            value: [key_of_build_id(value)]
            if isinstance(value, bytes)
            else keys_of_text(value)
            for value in values
            if len(value) <= _MAX_ID
        }
        self._found: dict[bytes | str, OpenModule] = {}

    def find(self, value: bytes | str) -> OpenModule:
        """A module, without a reader if it is not found."""
        return self._found.get(value) or OpenModule(None, None)

    async def open(self, service: Service) -> None:
        """Open all of them, by the first of their keys that leads to one.

        Raises:
            HttpError: The file of one was truncated meanwhile.
        """
        with service.files.guarded() as used:
            await self._open(service)
            used.extend(self.opened)

    async def _open(self, service: Service) -> None:
        while wanted := {
            value: Wanted(keys.pop(0))
            for value, keys in self._keys.items()
            if keys and self.find(value).reader is None
        }:
            await service.opening.open_all(wanted.values())
            for value, each in wanted.items():
                if each.module is not None:
                    self._found[value] = each.module

    @property
    def opened(self) -> list[OpenModule]:
        """The modules that were found."""
        return [each for each in self._found.values() if each.reader is not None]


async def _begin(
    body: bytes, options: dict[str, Any], service: Service
) -> AsyncGenerator[bytes]:
    """The pieces of the answer to a body that was checked.

    Raises:
        HttpError: The body is damaged, or asks for too much.
    """
    limits = service.settings.limits
    batches = await service.run(_read_batches, body, limits.max_body)
    name, address = (options.get(each) for each in ("module", "address"))
    names = (name or "build_id", address or "address")
    values, addresses = await service.run(_contents, batches, *names)
    if addresses > limits.max_frames:
        raise _too_much(limits.max_frames, "addresses")
    most = limits.max_answer if options.get("output") == "frames" else None
    parts = await service.run(_parts, batches, names[1], most)
    if len(values) > limits.max_modules:
        raise _too_much(limits.max_modules, "modules")
    modules = _Modules(values)
    await modules.open(service)
    found = len(modules.opened)
    service.metrics.count_rows(addresses, found, len(values) - found)
    return _checked(_pieces(parts, modules, options), modules, service)


async def _checked(
    pieces: Iterator[bytes], modules: _Modules, service: Service
) -> AsyncGenerator[bytes]:
    """The pieces, each made in a thread.

    Raises:
        HttpError: The file of a module was truncated meanwhile, or the server holds
            too many pieces.
    """
    with HeldBody(service.answer_budget) as held:
        largest = 0
        while True:
            with service.files.guarded() as used:
                used.extend(modules.opened)
                piece = await service.run(next, pieces, None)
            if piece is None:
                return
            if len(piece) > max(largest, LARGE):
                held.take(len(piece) - largest)
                largest = len(piece)
            yield piece


def _too_much(most: int, what: str) -> HttpError:
    return HttpError(413, f"please ask for <= {most} {what} in a request")


def _read_batches(body: bytes, most: int) -> list[Any]:
    """The record batches of a stream, which view *body*.

    Raises:
        HttpError: It is damaged, or pyarrow is not installed.
    """
    try:
        import pyarrow as pa
    except ImportError:
        title = "Arrow batches need the package pyarrow: pip install 'gsym[arrow]'"
        raise HttpError(501, title) from None
    data = pa.py_buffer(body)
    try:
        for message in pa.ipc.MessageReader.open_stream(data):
            if message.type in _WITH_BUFFERS and _is_compressed(message):
                # Their inflated size is not known before.
                title = "send plain buffers; the body may have a Content-Encoding"
                raise HttpError(415, title)
        reader = pa.ipc.open_stream(data)
        batches = [*reader] or [pa.RecordBatch.from_pylist([], schema=reader.schema)]
        for batch in batches:
            batch.validate(full=True)
    except (pa.ArrowException, OSError, struct.error, ValueError) as error:
        raise HttpError(400, f"not an Arrow stream: {error}"[:1000]) from None
    if sum(batch.nbytes for batch in batches) > most:  # several views of a buffer
        raise _too_much(most, "bytes")
    return batches


# Fields of tables: of Message, of DictionaryBatch and of RecordBatch.
_HEADER, _DATA, _COMPRESSION = 2, 1, 3
_BEFORE_1_0 = b"ARROW:experimental_compression"  # a key of its metadata


def _is_compressed(message: Any) -> bool:
    """Whether the buffers of a batch or of a dictionary are compressed.

    Raises:
        struct.error: The metadata is damaged.
    """
    data = bytes(message.metadata)
    batch = _table(data, _table(data, 0), _HEADER)
    if message.type == _DICTIONARY:
        batch = _table(data, batch, _DATA)
    return bool(_field(data, batch, _COMPRESSION)) or _BEFORE_1_0 in data


def _table(data: bytes, table: int, index: int | None = None) -> int:
    """The position of the table that a field, or without *index* *table*, leads to."""
    place = table if index is None else table + _field(data, table, index)
    return place + int(struct.unpack_from("<I", data, place)[0])


def _field(data: bytes, table: int, index: int) -> int:
    """The position of a field in a table of FlatBuffers; 0 if it is absent."""
    layout = table - struct.unpack_from("<i", data, table)[0]
    size = struct.unpack_from("<H", data, layout)[0]
    place = 4 + 2 * index
    return int(struct.unpack_from("<H", data, layout + place)[0]) if place < size else 0


def _contents(
    batches: list[Any], module: str, address: str
) -> tuple[list[bytes | str], int]:
    """The distinct modules, and the number of addresses, or of rows if that is more.

    Raises:
        HttpError: A column is missing, or has another type.
    """
    import pyarrow as pa
    import pyarrow.compute

    values: set[bytes | str] = set()
    count = 0
    for batch in batches:
        column = _column(batch, module)
        while hasattr(column, "flatten") and has_lists(pa, column.type):
            column = column.flatten()
        if pa.types.is_dictionary(column.type):
            column = column.dictionary
        try:
            distinct = pa.compute.unique(column).to_pylist()
        except pa.ArrowException as error:
            raise HttpError(400, f"column '{module}': {error}"[:1000]) from None
        values.update(filter(None, distinct))
        # Rows without items may take no bytes.
        count += max(batch.num_rows, _count(batch, address))
    return [each for each in values if isinstance(each, (bytes, str))], count


def _count(batch: Any, address: str) -> int:
    """The number of addresses."""
    import pyarrow as pa

    addresses = _column(batch, address)
    return len(addresses.flatten() if has_lists(pa, addresses.type) else addresses)


def _parts(batches: list[Any], address: str, most: int | None) -> list[Any]:
    """The batches in parts of few addresses, at least one.

    Args:
        batches: Record batches.
        address: The column of the addresses.
        most: Maximum size of the other columns when each address has a row of its own.

    Raises:
        HttpError: They would be larger.
    """
    rows = [
        batch.slice(first, _ROWS)
        for batch in batches
        for first in range(0, max(batch.num_rows, 1), _ROWS)
    ]
    parts = [part for each in rows for part in _halved(each, address)]
    if most is not None and any(_unfolded(each, address) > most for each in parts):
        raise _too_much(most, "bytes in the columns of stacks; output=stack is smaller")
    return parts


def _halved(rows: Any, address: str) -> list[Any]:
    half = rows.num_rows // 2
    if not half or _count(rows, address) <= _ROWS:
        return [rows]
    parts = rows.slice(0, half), rows.slice(half)
    return [part for each in parts for part in _halved(each, address)]


def _unfolded(rows: Any, address: str) -> int:
    """The most bytes of the columns that are repeated for each address of a stack."""
    import pyarrow as pa
    import pyarrow.compute

    addresses = _column(rows, address)
    if not has_lists(pa, addresses.type):
        return 0
    longest = pa.compute.max(addresses.value_lengths()).as_py() or 0
    kept = [
        column.nbytes
        for column in rows.columns
        if not (column is addresses or pa.types.is_dictionary(column.type))
    ]
    return int(longest * sum(kept))


def _column(batch: Any, name: str) -> Any:
    index = batch.schema.get_field_index(name)
    if index < 0:
        raise HttpError(400, f"the batch has no column '{name[:80]}'")
    return batch.column(index)


def _pieces(
    parts: list[Any], modules: _Modules, options: dict[str, Any]
) -> Iterator[bytes]:
    """The bytes of the answer, of a part at a time.

    Raises:
        HttpError: A column has another type than is needed.
    """
    import pyarrow as pa

    sink, writer = BytesIO(), None
    for part in parts:
        try:
            found = symbolize(part, modules, **options)
        except (*_UNSUITABLE, pa.ArrowException) as error:
            title = str(error.args[0] if error.args else error)
            raise HttpError(400, title[:1000]) from None
        if writer is None:
            writer = pa.ipc.new_stream(sink, found.schema)
        writer.write_batch(found)
        yield _taken(sink)
    assert writer is not None  # noqa: S101 - there is a batch
    writer.close()
    yield _taken(sink)


def _taken(sink: BytesIO) -> bytes:
    """Take the bytes that were written to *sink*."""
    data = sink.getvalue()
    sink.seek(0)
    sink.truncate()
    return data
