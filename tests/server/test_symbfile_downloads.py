"""Symbfiles that were received: where devfiler asks for them, and gone again."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from gsym.containers.inflation import import_zstd
from gsym.server import downloads
from gsym.symbfile.address_index import AddressIndex
from gsym.symbfile.columns import Range
from gsym.symbfile.format import encode
from tests.server.symbfile_pushes import (
    PADS,
    TAKEN,
    download,
    file_id,
    limited,
    push,
    ranges,
    records,
    return_pads,
    running,
    store_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from gsym.store.directory import Store
    from gsym.symbfile.file_id import FileId
    from tests.server.running import RunningServer

pytestmark = [pytest.mark.long, pytest.mark.confined]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    with limited(tmp_path_factory.mktemp("symbfiles")) as it:
        yield it


def test_ranges_are_served_where_devfiler_asks(server: RunningServer) -> None:
    assert download(server, 40, "metadata.json").status == 404
    assert push(server, 40, ranges(40)).status == 200
    answer = download(server, 40, "metadata.json")
    references = {"dwarfFileID": file_id(40).base64}
    assert answer.json == {"version": 1, "symbolFileReferences": references}
    data = download(server, 40, "ranges").body
    assert data[:4] == b"\x28\xb5\x2f\xfd"
    assert records(data) == records(ranges(40))


def test_compressed_files_are_not_compressed_again(server: RunningServer) -> None:
    assert push(server, 45, ranges(45)).status == 200
    text = file_id(45).base64
    path = f"/{text[:2]}/{text[2:4]}/{text}/ranges"
    answer = server.ask("GET", path, headers={"accept-encoding": "gzip, zstd"})
    assert "content-encoding" not in answer.headers
    assert records(answer.body) == records(ranges(45))
    tag = {"if-none-match": answer.headers["etag"]}
    assert server.ask("GET", path, headers=tag).status == 304
    assert server.ask("HEAD", path).headers["content-length"] == str(len(answer.body))


def test_ranges_replaced_during_a_download_are_served(
    server: RunningServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert push(server, 46, ranges(46)).status == 200
    asked = iter(["/nowhere"])
    found = vars(downloads)["_ranges"]

    def ranges_of(store: Store, executable: FileId) -> str:
        return next(asked, "") or str(found(store, executable))

    monkeypatch.setattr(downloads, "_ranges", ranges_of)
    assert records(download(server, 46, "ranges").body) == records(ranges(46))


def test_return_pads_are_stored_separately(server: RunningServer) -> None:
    for part in (1, 0):
        body = return_pads(41, 3 * part)
        assert push(server, 41, body, part, 2, path=PADS).json == TAKEN
    assert records(download(server, 41, "returnpads").body) == records(
        return_pads(41, count=6)
    )
    assert download(server, 41, "ranges").status == 404
    assert push(server, 41, ranges(41)).json == TAKEN
    assert download(server, 41, "ranges").status == 200
    assert download(server, 41, "returnpads").status == 200
    assert push(server, 41, return_pads(7), path=PADS).json == TAKEN
    assert records(download(server, 41, "returnpads").body) == records(return_pads(7))


def test_an_empty_file_of_return_pads_is_accepted(server: RunningServer) -> None:
    assert push(server, 42, b"".join(encode([])), path=PADS).json == TAKEN
    assert records(download(server, 42, "returnpads").body) == []


def test_no_other_path_leads_to_a_symbfile(server: RunningServer) -> None:
    assert push(server, 43, ranges(43)).status == 200
    text = file_id(43).base64
    for path in (
        "/xx/yy/{id}/ranges",
        "/{0}/{1}/{hex}/ranges",
        "/{0}/{1}/{id}=/ranges",
        "/{0}/{1}/{id}/module.gsym",
        "/{0}/{1}/{id}/..",
        "/{0}/{1}/x/ranges",
    ):
        place = path.format(text[:2], text[2:4], id=text, hex=file_id(43).hex())
        assert server.ask("GET", place).status == 404, path


def test_the_gsym_file_is_served_by_file_id(server: RunningServer) -> None:
    assert push(server, 44, ranges(44)).status == 200
    answer = server.ask("GET", f"/buildid/{file_id(44).hex()}/gsym")
    assert answer.body[:4] == b"MYSG"[::-1] or answer.body[:4] in {b"GSYM", b"MYSG"}


def test_collecting_a_store_removes_symbfiles(tmp_path: Path) -> None:
    with running(tmp_path / "store") as server:
        assert push(server, 1, return_pads(1), path=PADS).status == 200
        assert push(server, 1, ranges(1)).status == 200
        assert push(server, 1, ranges(1), 0, 2).status == 200  # unfinished
        store = store_of(server)
        pads = len(download(server, 1, "returnpads").body)
        whole = store.collect(1 << 40).size_before
        # What came first goes first.
        assert store.collect(whole - pads)[:5] == (whole, whole - pads, 1, 0, 1)
        assert download(server, 1, "returnpads").status == 404
        assert download(server, 1, "ranges").status == 200
        assert store.collect(0).size_after == 0
        assert download(server, 1, "ranges").status == 404
        assert push(server, 1, ranges(1, 3), 1, 2).status == 200
        assert download(server, 1, "ranges").status == 200


def test_answers_by_file_id_match_the_ranges(
    server: RunningServer, fixtures: Path
) -> None:
    body = (fixtures / "symblib/inline-no-tco.ranges.symbfile").read_bytes()
    assert push(server, 90, body).status == 200
    assert import_zstd().decompress(download(server, 90, "ranges").body) == body
    found = [each for each in records(body) if isinstance(each, Range)]
    index = AddressIndex(found)
    start = min(each.elf_va for each in found) - 1
    end = max(each.elf_va + each.length for each in found)
    request = {
        "memoryMap": [["inline-no-tco", file_id(90).hex()]],
        "stacks": [[[0, address] for address in range(start, end + 1)]],
    }
    frames = server.post(request).json["results"][0]["stacks"][0]
    answered = 0
    for address, frame in zip(range(start, end + 1), frames, strict=True):
        chain = index.lookup(address) or ()
        calls = [*frame.get("inlines", ()), *([frame] if "function" in frame else ())]
        assert [
            (each["function"], each.get("file", ""), each.get("line", 0))
            for each in calls
        ] == list(chain)
        answered += bool(chain)
    assert answered > 100
