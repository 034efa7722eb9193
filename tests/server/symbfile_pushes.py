"""Symbfiles pushed to a server on this machine, in parts, and what becomes of them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import UUID

from gsym.modules.resolver import Resolver
from gsym.modules.symbolizer import Symbolizer
from gsym.server.symbfiles.protocol import REFUSALS
from gsym.store.directory import Store
from gsym.store.verification import verify_store
from gsym.symbfile.columns import LineTableRow, Range, ReturnPad, ReturnPadEntry
from gsym.symbfile.file_id import FileId
from gsym.symbfile.format import decode, encode
from tests.server.running import RunningServer

if TYPE_CHECKING:
    from gsym.symbfile.columns import Record
    from tests.server.running import Answer

KEY = "aWQ6c2VjcmV0"
OTHER_KEY = "b3RoZXI6c2VjcmV0"
PART_LIMIT, PARTS_LIMIT, SIZE_LIMIT = 5000, 8, 12_000
RANGES, PADS = "/api/symbols-ranges", "/api/symbols-returnpads"
TAKEN = {"success": True, "status": 200}
CODES = {refusal.code: refusal for refusal in REFUSALS}


def running(folder: Path, **settings: Any) -> RunningServer:
    keys = {
        "store": str(folder),
        "tokens": dict.fromkeys((KEY, OTHER_KEY), "upload,replace"),
    }
    return RunningServer(Symbolizer(Resolver(Store(folder))), **{**keys, **settings})


def limited(folder: Path) -> RunningServer:
    """A server with small limits."""
    return running(
        folder,
        max_symbfile_part=PART_LIMIT,
        max_symbfile_parts=PARTS_LIMIT,
        max_symbfile=SIZE_LIMIT,
    )


def file_id(number: int) -> FileId:
    """The executable of a test, which no other test has."""
    return FileId(number.to_bytes(16, "big"))


def ranges(number: int, first: int = 0, count: int = 3) -> bytes:
    """A symbfile of functions with lines, one with an inlined call."""
    records: list[Record] = []
    for index in range(first, first + count):
        start, name = 0x1000 + 0x100 * index, f"f{number}_{index}"
        table = (LineTableRow(0, 10 + index), LineTableRow(0x20, 11 + index))
        records.append(Range(start, 0x40, name, "/a.c", line_table=table))
        records.append(
            Range(start + 8, 8, "inner", "/b.h", "/a.c", 5, 1, (LineTableRow(0, 7),))
        )
    return b"".join(encode(records))


def return_pads(number: int, first: int = 0, count: int = 3) -> bytes:
    return b"".join(
        encode(
            ReturnPad(
                0x1004 + 0x100 * index, (ReturnPadEntry(f"f{number}", "/a.c", index),)
            )
            for index in range(first, first + count)
        )
    )


def pieces(body: bytes, count: int) -> list[bytes]:
    """A file cut anywhere."""
    size = -(-len(body) // count)
    return [body[at : at + size] for at in range(0, len(body), size)]


def push(  # noqa: PLR0913 - what a request says
    server: RunningServer,
    number: int,
    body: bytes,
    part: int = 0,
    parts: int | None = 1,
    *,
    path: str = RANGES,
    method: str = "POST",
    key: str = KEY,
    **headers: str,
) -> Answer:
    named = {
        "FileID": file_id(number).base64,
        "FilePart": str(part),
        "Authorization": f"APIKey {key}",
    }
    if parts is not None:
        named["FileParts"] = str(parts)
    named |= {name.replace("_", "-"): value for name, value in headers.items()}
    return server.ask(method, path, body, named)


def refused(answer: Answer, code: str) -> str:
    """See that an answer is of the form that the protocol has; its text."""
    refusal = CODES[code]
    found = answer.json
    assert set(found) == {"success", "uuid", "error", "status"}
    assert set(found["error"]) == {"Code", "Text"}
    assert found["success"] is False
    assert str(UUID(found["uuid"])) == found["uuid"]
    assert found["error"]["Code"] == code
    assert found["status"] == answer.status == refusal.status
    assert answer.headers["content-type"] == "application/json"
    assert ("retry-after" in answer.headers) == bool(refusal.retry_after)
    return str(found["error"]["Text"])


def function_at(server: RunningServer, number: int, address: int) -> str | None:
    """What `/symbolicate/v5` says by FileID."""
    request = {
        "memoryMap": [["app", file_id(number).hex()]],
        "stacks": [[[0, address]]],
    }
    frame = server.post(request).json["results"][0]["stacks"][0][0]
    function: str | None = frame.get("function")
    return function


def download(server: RunningServer, number: int, name: str) -> Answer:
    text = file_id(number).base64
    return server.ask("GET", f"/{text[:2]}/{text[2:4]}/{text}/{name}")


def records(data: bytes) -> list[Record]:
    return list(decode(data).records())


def store_of(server: RunningServer) -> Store:
    return Store(server.app.state.service.settings.store)


def waiting(server: RunningServer) -> list[str]:
    """Uploads that are not finished."""
    root = Path(store_of(server).path, ".symbfiles")
    return sorted(str(path.relative_to(root)) for path in root.glob("*/*"))


def is_clean(server: RunningServer) -> bool:
    """Whether nothing is left of an upload, and the store is sound."""
    store = store_of(server)
    root = Path(store.path)
    left = [*root.glob(".tmp/*"), *root.glob(".symbfiles/*")]
    return not left and (not store.exists() or not list(verify_store(store)))


def unknown_message(size: int) -> bytes:
    """A message of a type that readers pass over, of *size* bytes in all."""
    length = size - 3
    return bytes([length & 0x7F | 0x80, length >> 7, 9]) + bytes(length)


ANY = ranges(1)
