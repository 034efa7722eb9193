"""The adapters on their engines: a million rows, and workers that are killed."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from gsym.arrow import Modules, symbolize
from gsym.arrow.columns import plain_batch
from gsym.store.directory import Store
from tests.arrow.killing_modules import KillingModules
from tests.arrow_batches import FUNCTIONS, START, STEP, put
from tests.store_modules import build_id

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
pq = pytest.importorskip("pyarrow.parquet")
np = pytest.importorskip("numpy", reason="numpy is not installed")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore"),  # of the engines and what they use
]
ROWS = 1_000_000
MODULES = 8
REPOSITORY = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> str:
    store = Store(tmp_path_factory.mktemp("modules") / "store")
    for number in range(MODULES):
        put(store, number)
    return store.path


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file of rows: of modules that are there and one that is not, and nulls."""
    draw = np.random.default_rng(3)
    numbers = draw.integers(0, MODULES + 1, ROWS)
    addresses = draw.integers(START - 64, START + STEP * (FUNCTIONS + 1), ROWS)
    names = pa.array([build_id(number) for number in range(MODULES + 1)])
    table = pa.table(
        {
            "id": pa.array(np.arange(ROWS)),
            "build_id": names.take(pa.array(numbers, mask=numbers % 97 == 96)),
            "address": pa.array(addresses, mask=addresses % 61 == 0),
        }
    )
    path = tmp_path_factory.mktemp("rows") / "rows.parquet"
    pq.write_table(table, path, compression="gzip", row_group_size=100_000)
    stacks = {"id": [1, 2, 3], "build_id": [build_id(1), build_id(2), None]}
    lists = pa.array([[START, START + STEP + 0x20, 1], [], None])
    table = pa.table({**stacks, "address": lists})
    pq.write_table(table, path.with_name("lists.parquet"), compression="gzip")
    return path


@pytest.fixture(scope="module")
def wanted(rows: Path, place: str) -> Any:  # noqa: ANN401
    modules = Modules(place)
    batches = pq.ParquetFile(rows).iter_batches(300_000)
    return normal(
        pa.Table.from_batches([plain_batch(symbolize(b, modules)) for b in batches])
    )


def normal(table: Any) -> Any:  # noqa: ANN401
    """The answers in the order of ids, with the same types for all engines."""
    fields = [("name", pa.string()), ("path", pa.string()), ("line", pa.int64())]
    fields += [("inlined", pa.bool_()), ("offset", pa.int64())]
    kinds = [pa.int64(), pa.list_(pa.struct(fields)), pa.string()]
    schema = pa.schema(list(zip(("id", "stack", "reason"), kinds, strict=True)))
    chosen = table.select(schema.names).cast(schema)
    return chosen.sort_by("id").combine_chunks()


def same(found: Any, wanted: Any) -> bool:  # noqa: ANN401
    return bool(normal(found).equals(wanted))


def unpacked(table: Any) -> Any:  # noqa: ANN401
    """The columns of the struct `answer`."""
    answer = table["answer"].combine_chunks()
    columns = {name: answer.field(name) for name in ("stack", "reason")}
    return pa.table({"id": table["id"], **columns})


def test_duckdb(rows: Path, place: str, wanted: Any) -> None:  # noqa: ANN401
    duckdb = pytest.importorskip("duckdb", reason="duckdb is not installed")
    from gsym.arrow.engines.duckdb import register  # noqa: PLC0415

    with duckdb.connect() as connection:
        register(connection, Modules(place), address="BIGINT")
        query = f"SELECT id, symbolize(build_id, address) AS answer FROM '{rows}'"  # noqa: S608
        found = connection.sql(query).to_arrow_table()
    assert same(unpacked(found), wanted)


def test_datafusion(rows: Path, place: str, wanted: Any) -> None:  # noqa: ANN401
    datafusion = pytest.importorskip("datafusion", reason="datafusion is not installed")
    from gsym.arrow.engines.datafusion import register  # noqa: PLC0415

    context = datafusion.SessionContext()
    register(context, Modules(place), address=pa.int64())
    context.register_parquet("rows", rows)
    query = "SELECT id, symbolize(build_id, address) AS answer FROM rows"
    assert same(unpacked(context.sql(query).to_arrow_table()), wanted)


def test_polars(rows: Path, place: str, wanted: Any) -> None:  # noqa: ANN401
    polars = pytest.importorskip("polars", reason="polars is not installed")
    import gsym.arrow.engines.polars  # noqa: PLC0415

    del gsym
    answer = polars.col("address").gsym.stack("build_id", Modules(place))
    found = polars.scan_parquet(rows).with_columns(answer=answer).collect()
    assert same(found.unnest("answer").to_arrow(), wanted)


@pytest.fixture
def by_spark(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Any]]:
    pyspark = pytest.importorskip("pyspark.sql", reason="pyspark is not installed")
    if shutil.which("java") is None:
        pytest.skip("not installed: java")
    from gsym.arrow.engines import spark  # noqa: PLC0415

    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    monkeypatch.setenv("PYTHONPATH", str(REPOSITORY))
    session = (
        pyspark.SparkSession.builder.master("local[2, 4]")  # threads, tries
        .config("spark.ui.enabled", "false")
        .config("spark.sql.shuffle.partitions", "4")
        .config("spark.driver.memory", "1g")
        .config("spark.sql.execution.arrow.maxRecordsPerBatch", "20000")
        # Snappy, Spark's default, is native code, which does not load where musl is
        # installed beside glibc.
        .config("spark.sql.parquet.compression.codec", "gzip")
        .getOrCreate()
    )

    def run(rows: Path, modules: Modules, **options: Any) -> Any:  # noqa: ANN401
        frame = session.read.parquet(str(rows)).repartition(4)
        out = rows.with_name("spark")
        shutil.rmtree(out, ignore_errors=True)
        spark.symbolize(frame, modules, **options).write.parquet(str(out))
        return pq.read_table(out)

    yield run
    session.stop()


@pytest.fixture
def by_dask() -> Iterator[Callable[..., Any]]:
    distributed = pytest.importorskip(
        "distributed", reason="distributed is not installed"
    )
    dataframe = pytest.importorskip("dask.dataframe", reason="dask is not installed")
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    from gsym.arrow.engines import dask  # noqa: PLC0415

    cluster = distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=None
    )
    client = distributed.Client(cluster)

    def run(rows: Path, modules: Modules, **options: Any) -> Any:  # noqa: ANN401
        frame = pq.read_table(rows).to_pandas(types_mapper=pandas.ArrowDtype)
        parts = dataframe.from_pandas(frame, npartitions=20)
        found = dask.symbolize(parts, modules, **options).compute()
        return pa.Table.from_pandas(found, preserve_index=False)

    yield run
    client.close()
    cluster.close()


@pytest.fixture
def by_ray(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Any]]:
    ray = pytest.importorskip("ray", reason="ray is not installed")
    data = pytest.importorskip("ray.data")
    from gsym.arrow.engines import ray as adapter  # noqa: PLC0415

    monkeypatch.setenv("PYTHONPATH", str(REPOSITORY))
    ray.init(
        num_cpus=2,
        include_dashboard=False,
        object_store_memory=400 << 20,
        log_to_driver=False,
    )

    def run(rows: Path, modules: Modules, **options: Any) -> Any:  # noqa: ANN401
        table = pq.read_table(rows)
        blocks = [table.slice(first, 50_000) for first in range(0, len(table), 50_000)]
        found = adapter.symbolize(data.from_arrow(blocks), modules, **options)
        batches = found.iter_batches(batch_format="pyarrow", batch_size=None)
        return pa.concat_tables(list(batches))

    yield run
    ray.shutdown()


@pytest.mark.parametrize("engine", ["spark", "dask", "ray"])
def test_a_worker_that_is_killed_loses_and_repeats_no_row(
    engine: str, rows: Path, request: pytest.FixtureRequest
) -> None:
    wanted = request.getfixturevalue("wanted")
    place = request.getfixturevalue("place")
    run = request.getfixturevalue(f"by_{engine}")
    assert same(run(rows, Modules(place)), wanted)
    lists = rows.with_name("lists.parquet")
    for output in ("stack", "frames"):
        found = run(lists, Modules(place), output=output).to_pylist()
        batches = pq.ParquetFile(lists).iter_batches()
        answers = (symbolize(each, Modules(place), output=output) for each in batches)
        rows_of = [row for answer in answers for row in answer.to_pylist()]
        assert sorted(map(repr, found)) == sorted(map(repr, rows_of))
    flag = rows.with_name(f"killed by {engine}")
    assert same(run(rows, KillingModules(place, str(flag))), wanted)
    assert flag.exists()
