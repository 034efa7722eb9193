"""`/symbolicate/arrow`: batches in, batches out, as `gsym.arrow` makes them."""

from __future__ import annotations

import builtins
import gzip
import os
import shutil
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

pytestmark = pytest.mark.long

pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")

from gsym.arrow import Modules, symbolize  # noqa: E402
from gsym.modules.resolver import Resolver  # noqa: E402
from gsym.modules.symbolizer import Symbolizer  # noqa: E402
from gsym.store.directory import Store  # noqa: E402
from tests.arrow_batches import put, rows  # noqa: E402
from tests.server.running import RunningServer  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.server.running import Answer

PATH = "/symbolicate/arrow"
KIND = "application/vnd.apache.arrow.stream"
MODULES = 3


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    made = Store(tmp_path_factory.mktemp("store"))
    for number in range(MODULES):
        put(made, number)
    return made


@pytest.fixture(scope="module")
def server(store: Store) -> Iterator[RunningServer]:
    """One for all tests that do not change it."""
    with RunningServer(Symbolizer(Resolver(store, []))) as running:
        yield running


def batch(count: int = 500, seed: int = 1) -> Any:
    columns = rows(count, MODULES, seed)
    types = {"build_id": pa.binary(), "address": pa.int64()}
    return pa.record_batch(
        {name: pa.array(column, types.get(name)) for name, column in columns.items()}
    )


def stream(*batches: Any, **options: Any) -> bytes:
    sink = pa.BufferOutputStream()
    options = {"options": pa.ipc.IpcWriteOptions(**options)}
    with pa.ipc.new_stream(sink, batches[0].schema, **options) as writer:
        for each in batches:
            writer.write_batch(each)
    return bytes(sink.getvalue())


def post(server: RunningServer, body: bytes, query: str = "", **headers: str) -> Answer:
    return server.post(body, PATH + query, **{"content_type": KIND, **headers})


def table_of(answer: Answer) -> Any:
    assert answer.status == 200, answer.body
    assert answer.headers["content-type"] == KIND
    return pa.ipc.open_stream(answer.body).read_all()


def plain(table: Any) -> list[dict[str, Any]]:
    return list(table.to_pylist())


@pytest.mark.parametrize("output", ["stack", "frames"])
def test_batches_are_answered_as_the_kernel_answers_them(
    output: str, server: RunningServer, store: Store
) -> None:
    batches = [batch(seed=seed) for seed in range(3)]
    found = table_of(post(server, stream(*batches), f"?output={output}"))
    modules = Modules(store.path)
    wanted = [symbolize(each, modules, output=output) for each in batches]
    reasons = [row.pop("reason") for row in plain(found)]
    assert plain(found.drop_columns(["reason"])) == [
        row for each in wanted for row in plain(each.drop_columns(["reason"]))
    ]
    assert any(reasons)


def test_a_large_batch_is_answered_in_pieces(server: RunningServer) -> None:
    made = batch(50_000)
    answer = post(server, stream(made))
    assert answer.headers["transfer-encoding"] == "chunked"
    reader = pa.ipc.open_stream(answer.body)
    sizes = [each.num_rows for each in reader]
    assert sum(sizes) == 50_000
    assert max(sizes) == 1 << 14


def test_columns_and_bases_are_named_in_the_query(server: RunningServer) -> None:
    made = batch(50)
    renamed = made.rename_columns(["id", "m", "pc", *made.schema.names[3:]])
    bases = pa.array([0x1000] * 50, pa.uint64())
    moved = renamed.append_column("load", bases)
    query = "?module=m&address=pc&base=load&return_address=true"
    assert len(table_of(post(server, stream(moved), query))) == 50
    query = "?module=m&address=pc&base=0x1000&return_address=true"
    assert len(table_of(post(server, stream(renamed), query))) == 50


def test_an_empty_stream_has_an_empty_answer(server: RunningServer) -> None:
    found = table_of(post(server, stream(batch(0))))
    assert found.num_rows == 0
    assert "stack" in found.schema.names


def test_a_body_may_have_a_content_encoding(server: RunningServer) -> None:
    body = gzip.compress(stream(batch()))
    assert len(table_of(post(server, body, content_encoding="gzip"))) == 500


def test_modules_are_also_texts(server: RunningServer) -> None:
    made = batch(100)
    texts = pa.array(
        [value and value.hex() for value in made.column("build_id").to_pylist()]
    )
    index = made.schema.get_field_index("build_id")
    as_text = made.set_column(index, "build_id", texts.dictionary_encode())
    found = table_of(post(server, stream(as_text)))
    wanted = table_of(post(server, stream(made)))
    assert plain(found.select(["stack"])) == plain(wanted.select(["stack"]))


def views(body: bytes) -> bytes:
    """The same, with the end cut off."""
    return body[: len(body) // 2]


@pytest.mark.parametrize(
    ("body", "query", "status", "title"),
    [
        (b"", "", 400, "not an Arrow stream"),
        (b"ARROW1\0\0", "", 400, "not an Arrow stream"),
        (views(stream(batch())), "", 400, "not an Arrow stream"),
        (stream(batch()), "?module=nothing", 400, "no column 'nothing'"),
        (stream(batch()), "?address=build_id", 400, "column 'build_id'"),
        (stream(batch()), "?output=ids", 400, "output must be one of"),
        (stream(batch()), "?base=0x", 400, "base is not a number"),
        (stream(batch()), "?colour=red", 400, "unknown parameter 'colour'"),
        (stream(batch(), compression="zstd"), "", 415, "plain buffers"),
        (stream(batch(), compression="lz4"), "", 415, "plain buffers"),
    ],
)
def test_errors_come_before_the_first_batch_as_json(
    body: bytes, query: str, status: int, title: str, server: RunningServer
) -> None:
    answer = post(server, body, query)
    assert answer.status == status
    assert title in answer.title


def messages(body: bytes) -> list[bytes]:
    """The messages of a stream."""
    found = pa.ipc.MessageReader.open_stream(pa.py_buffer(body))
    return [bytes(each.serialize()) for each in found]


def test_a_compressed_dictionary_is_not_inflated(server: RunningServer) -> None:
    made = batch(1).append_column("text", pa.array(["x" * 1000]).dictionary_encode())
    schema, _, rows_of_it = messages(stream(made))
    _, packed, _ = messages(stream(made, compression="zstd"))
    answer = post(server, schema + packed + rows_of_it)
    assert (answer.status, "plain buffers" in answer.title) == (415, True)


def test_rows_that_take_no_bytes_count(server: RunningServer) -> None:
    count = (1 << 31) - 1
    empty = pa.array([], pa.int64())
    lists = pa.Array.from_buffers(
        pa.list_(pa.int64(), 0), count, [None], children=[empty]
    )
    ends = pa.array([count], pa.int64())
    column = pa.RunEndEncodedArray.from_arrays(ends, pa.array([1]))
    made = pa.record_batch({"address": lists, "build_id": lists, "text": column})
    answer = post(server, stream(made))
    assert (answer.status, "addresses" in answer.title) == (413, True)


@pytest.mark.parametrize(
    "column",
    [
        pa.array([{"a": 1}]),
        pa.array([["a"]], pa.list_view(pa.string())),
        pa.DictionaryArray.from_arrays(pa.array([0]), pa.array([["a"]])),
        pa.RunEndEncodedArray.from_arrays([1], pa.array(["aa"])),
        pa.array([1.5]),
    ],
    ids=lambda column: str(column.type).partition("<")[0],
)
@pytest.mark.parametrize("name", ["build_id", "address"])
def test_columns_of_other_types_are_refused(
    name: str, column: Any, server: RunningServer
) -> None:
    columns = {"build_id": pa.array(["aa"]), "address": pa.array([1]), name: column}
    answer = post(server, stream(pa.record_batch(columns)))
    assert (answer.status, f"column '{name}'" in answer.title) == (400, True)


def test_a_long_text_beside_a_long_stack_is_not_repeated(server: RunningServer) -> None:
    columns = {
        "build_id": pa.array(["x" * 100_000]),
        "address": pa.array([[*range(100_000)]]),
        "base": pa.array(["0" * 100_000]),
    }
    body = stream(pa.record_batch(columns))
    found = table_of(post(server, body, "?base=base"))
    assert len(found["reason"][0]) == 100_000
    answer = post(server, body, "?output=frames")
    assert (answer.status, "output=stack" in answer.title) == (413, True)


def test_batches_of_stacks_have_few_addresses(server: RunningServer) -> None:
    stacks = pa.array([[*range(100)]] * 1000)
    ids = pa.array([bytes(20)] * 1000)
    made = pa.record_batch({"build_id": ids, "address": stacks})
    reader = pa.ipc.open_stream(post(server, stream(made)).body)
    sizes = [each.num_rows for each in reader]
    assert sum(sizes) == 1000
    assert max(sizes) * 100 <= 1 << 14


def test_a_file_that_was_truncated_is_noticed(tmp_path: Path) -> None:
    store = Store(tmp_path / "store")  # of its own
    for number in range(MODULES):
        put(store, number)
    with RunningServer(Symbolizer(Resolver(store, []))) as running:
        body = stream(batch())
        wanted = table_of(post(running, body))
        path = Path(next(iter(store.entries())).path)
        data = path.read_bytes()
        os.truncate(path, len(data) - 1)
        try:
            answer = post(running, body)
        finally:
            fresh = tmp_path / "fresh"
            fresh.write_bytes(data)
            shutil.move(fresh, path)
        assert (answer.status, answer.headers["retry-after"]) == (503, "1")
        assert table_of(post(running, body)) == wanted


def test_another_type_is_refused(server: RunningServer) -> None:
    answer = post(server, stream(batch()), content_type="application/json")
    assert answer.status == 415


@pytest.mark.parametrize("limit", ["max_frames", "max_modules", "max_body"])
def test_limits_are_those_of_other_requests(limit: str, store: Store) -> None:
    symbolizer, limits = Symbolizer(Resolver(store, [])), {limit: 2}
    with RunningServer(symbolizer, **limits) as running:  # type: ignore[arg-type]
        assert post(running, stream(batch())).status == 413


def test_damaged_streams_never_crash(server: RunningServer) -> None:
    body = bytearray(stream(batch(20)))
    for index in range(0, len(body), 7):
        damaged = bytearray(body)
        damaged[index] ^= 0xFF
        assert post(server, bytes(damaged)).status in {200, 400, 413, 415}


def test_without_pyarrow_the_answer_says_what_to_install(
    server: RunningServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = builtins.__import__

    def missing(name: str, *rest: Any) -> Any:
        if name == "pyarrow":
            raise ImportError(name)
        return real(name, *rest)

    body = stream(batch())
    monkeypatch.setattr(builtins, "__import__", missing)
    answer = post(server, body)
    assert answer.status == 501
    assert "pip install 'gsym[arrow]'" in answer.title


def test_readers_need_their_token(store: Store) -> None:
    symbolizer = Symbolizer(Resolver(store, []))
    with RunningServer(symbolizer, tokens={"ann": "read"}) as running:
        assert post(running, stream(batch())).status == 401
        headers = {"authorization": "Bearer ann"}
        assert post(running, stream(batch()), **headers).status == 200


def test_addresses_and_modules_are_counted(store: Store) -> None:
    with RunningServer(Symbolizer(Resolver(store, []))) as running:
        post(running, stream(batch()))
        text = running.ask("GET", "/metrics").body.decode()
    assert 'gsym_symbolicate_frames_sum{version="arrow"} 500.0' in text
    assert 'gsym_modules_total{result="found"} 3.0' in text
    assert 'gsym_modules_total{result="missing"} 1.0' in text


def test_memory_of_bodies_is_given_back(server: RunningServer) -> None:
    budget = server.app.state.service.body_budget
    for body in (stream(batch(20_000)), b"", stream(batch(20_000))):
        post(server, body)
    while vars(budget)["_left"] < vars(budget)["_size"]:
        time.sleep(0.01)  # the client has its answer before the server is done


def test_polars_and_duckdb_read_the_answer(server: RunningServer) -> None:
    polars = pytest.importorskip("polars", reason="polars is not installed")
    duckdb = pytest.importorskip("duckdb", reason="duckdb is not installed")
    answer = post(server, stream(batch(), batch(seed=2)), "?output=frames")
    found = polars.read_ipc_stream(answer.body)
    table = table_of(answer)
    assert found["name"].to_list() == table["name"].to_pylist()
    query = "select count(*), count(name) from found"
    counts = duckdb.from_arrow(table).query("found", query).fetchall()
    assert counts == [(len(table), len(table) - table["name"].null_count)]
