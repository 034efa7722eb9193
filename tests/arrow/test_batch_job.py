"""`gsym batch`: formats, parts, and runs that are killed and resumed."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

import pytest

from gsym.arrow import Modules, batch_job, inputs, symbolize, symbolizing
from gsym.cli.main import main
from gsym.cli.verbs import batch
from gsym.errors import FormatError, UnsupportedError
from gsym.reading import reader
from gsym.store.locking import held
from tests.arrow_batches import START, put, rows
from tests.store_modules import build_id

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from gsym.store.directory import Store

pytestmark = pytest.mark.long

pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
pq = pytest.importorskip("pyarrow.parquet")
FORMATS = ("parquet", "arrow", "arrows", "csv", "ndjson")


def table_of(count: int) -> Any:  # noqa: ANN401
    columns = rows(count, 3)
    address = pa.array(columns["address"], pa.uint64())
    return pa.table({**columns, "address": address})


def write(path: Path, table: Any, at_once: int) -> None:  # noqa: ANN401
    kind = path.suffix[1:]
    if kind == "parquet":
        pq.write_table(table, path, row_group_size=at_once)
    elif kind in {"arrow", "arrows"}:
        new = pa.ipc.new_file if kind == "arrow" else pa.ipc.new_stream
        with new(path, table.schema) as writer:
            writer.write_table(table, max_chunksize=at_once)
    else:
        _write_text(path, table)


def _write_text(path: Path, table: Any) -> None:  # noqa: ANN401
    lines = []
    for row in table.to_pylist():
        module = None if row["build_id"] is None else row["build_id"].hex()
        address = None if row["address"] is None else hex(row["address"])
        if path.suffix == ".ndjson":
            named = {"id": row["id"], "build_id": module, "address": address}
            lines.append(json.dumps(named))
        else:
            lines.append(f"{row['id']},{module or ''},{address or ''}")
    head = [] if path.suffix == ".ndjson" else ["id,build_id,address"]
    path.write_text("\n".join([*head, *lines]), encoding="utf-8")


def parts(folder: Path, pattern: str = "part-*") -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for path in sorted(folder.glob(pattern)):
        if path.suffix == ".parquet":
            found += pq.read_table(path).to_pylist()
        elif path.suffix == ".arrows":
            with pa.ipc.open_stream(path) as stream:
                found += stream.read_all().to_pylist()
    return found


def joined(folder: Path) -> list[dict[str, Any]]:
    """The rows of parts with numbers of frames, with these frames."""
    found, frames = parts(folder), parts(folder / "frames")
    by_id = {row.pop("frame_id"): row for row in frames}
    assert len(by_id) == len(frames)
    for row in found:
        ids = row.pop("frame_ids")
        row["stack"] = None if ids is None else [by_id[each] for each in ids]
    return found


def answers(found: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    return [(int(row["id"]), row["stack"], row["reason"]) for row in found]


@pytest.fixture
def place(store: Store) -> str:
    for number in range(3):
        put(store, number)
    return store.path


def run(*arguments: object) -> int:
    return main(["batch", *map(str, arguments)])


@pytest.mark.parametrize("kind", FORMATS)
def test_every_format_gives_the_answers_of_the_kernel(
    tmp_path: Path, place: str, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inputs, "_RANGE_SIZE", 5000)  # cuts lines
    table = table_of(1000)
    write(tmp_path / f"in.{kind}", table, 300)
    out = tmp_path / "out"
    assert run(tmp_path / f"in.{kind}", "-o", out, "--modules", place, "--jobs=2") == 0
    (whole,) = table.combine_chunks().to_batches()
    wanted = symbolize(whole, Modules(place)).to_pylist()
    assert answers(parts(out)) == answers(wanted)
    count = {"arrows": 1, "parquet": 4, "arrow": 4}.get(kind, 8)
    assert len(list(out.glob("part-*"))) >= count


MODULES, LIMITED, BATCHES = 6, 4, 5


@pytest.mark.parametrize(
    ("limit", "gathered", "opened_files"),
    [
        ("count", 1 << 22, MODULES),
        # All, some of which are closed, then those of all other batches together.
        ("memory", 1 << 22, MODULES + MODULES - LIMITED),
        # Those that are open are asked before others are opened.
        ("count", 0, MODULES + (BATCHES - 1) * (MODULES - LIMITED)),
        ("memory", 0, MODULES + (BATCHES - 1) * (MODULES - LIMITED)),
    ],
)
@pytest.mark.parametrize("name", [build_id, "lib{}.so".format])
def test_modules_of_many_parts_are_opened_together(  # noqa: PLR0913, PLR0917 - parameters
    tmp_path: Path,
    store: Store,
    limit: str,
    gathered: int,
    opened_files: int,
    name: Callable[[int], object],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    modules, limited, batches = MODULES, LIMITED, BATCHES
    monkeypatch.setattr(batch_job, "_MOST_GATHERED", gathered)
    for number in range(modules):
        put(store, number)
    column = [name(number) for number in range(modules)] * batches
    address = pa.array([START] * len(column), pa.uint64())
    ids = list(range(len(column)))
    table = pa.table({"id": ids, "build_id": column, "address": address})
    write(tmp_path / "in.parquet", table, modules)
    opened: list[str] = []

    def open_counted(path: str, **options: object) -> object:
        opened.append(path)
        return open_file(path, **options)

    open_file: Callable[..., object] = reader.open
    monkeypatch.setattr(reader, "open", open_counted)
    out = tmp_path / "out"
    size = max(each.gsym_size for each in store.entries())
    options: tuple[object, ...] = ("--max-open", limited)
    if limit == "memory":
        options = ("--memory", limited * size)
    place = ("--modules", store.path, "--jobs=1")
    assert run(tmp_path / "in.parquet", "-o", out, *place, *options) == 0
    assert len(opened) == opened_files
    (whole,) = table.combine_chunks().to_batches()
    wanted = symbolize(whole, Modules(store)).to_pylist()
    assert answers(parts(out)) == answers(wanted)


@pytest.mark.parametrize("shape", ["stack", "frames", "ids"])
@pytest.mark.parametrize("gathered", [250, 700, 1 << 22])
@pytest.mark.parametrize("has_stacks", [False, True])
def test_rows_of_modules_that_do_not_fit_keep_order(  # noqa: PLR0913, PLR0917 - parameters
    tmp_path: Path,
    place: str,
    shape: str,
    gathered: int,
    has_stacks: bool,  # noqa: FBT001 - a parameter
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    table = table_of(1000)
    if has_stacks:
        stacks = [[each, each] for each in table["address"].to_pylist()]
        stack_column = pa.array(stacks, pa.list_(pa.uint64()))
        table = table.set_column(2, "address", stack_column)
    # A stream has several batches in a part; those of a file with dictionaries have
    # their own.
    write(tmp_path / "in.arrows", table, 300)
    write(tmp_path / "more.parquet", table, 300)
    inputs = tmp_path / "in.arrows", tmp_path / "more.parquet"
    options = (*inputs, "--modules", place, "--answers", shape, "--jobs=1")
    assert run(*options, "-o", tmp_path / "wanted") == 0
    monkeypatch.setattr(batch_job, "_MOST_GATHERED", gathered)
    assert run(*options, "-o", tmp_path / "out", "--max-open=1") == 0
    read = joined if shape == "ids" else parts
    assert read(tmp_path / "out") == read(tmp_path / "wanted")


@pytest.mark.parametrize("shape", ["stack", "frames", "ids"])
def test_parts_with_other_columns_are_gathered_each_with_its_like(
    tmp_path: Path, place: str, shape: str
) -> None:
    write(tmp_path / "0.parquet", table_of(600), 300)
    others = table_of(600).append_column("more", [[None] * 600])
    further = pa.compute.add(others["address"], 1)
    write(tmp_path / "1.parquet", others.set_column(2, "address", further), 300)
    write(tmp_path / "2.parquet", table_of(600).slice(0, 0), 300)
    inputs = sorted(tmp_path.glob("*.parquet"))
    options = (*inputs, "--modules", place, "--answers", shape, "--jobs=1")
    assert run(*options, "-o", tmp_path / "wanted") == 0
    assert run(*options, "-o", tmp_path / "out", "--max-open=1") == 0
    read = joined if shape == "ids" else parts
    assert read(tmp_path / "out") == read(tmp_path / "wanted")


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (lambda table: table.drop_columns(["address"]), "has no column 'address'"),
        (lambda table: table.drop_columns(["build_id"]), "has no column 'build_id'"),
        (lambda table: _with_addresses(table, "x"), "Failed to parse string: 'x'"),
    ],
)
def test_errors_in_gathered_parts_name_their_file(
    tmp_path: Path,
    place: str,
    capsys: pytest.CaptureFixture[str],
    change: Callable[[Any], Any],
    text: str,
) -> None:
    good = _with_addresses(table_of(600), str(START))
    write(tmp_path / "0.parquet", good, 300)
    write(tmp_path / "1.parquet", change(good), 300)
    inputs = tmp_path / "0.parquet", tmp_path / "1.parquet"
    options = ("--modules", place, "--jobs=1", "--max-open=1")
    assert run(*inputs, "-o", tmp_path / "out", *options) == 1
    found = capsys.readouterr().err
    assert "1.parquet: " in found
    assert text in found


def _with_addresses(table: Any, text: str) -> Any:  # noqa: ANN401
    position = table.schema.get_field_index("address")
    return table.set_column(position, "address", pa.array([text] * table.num_rows))


def test_frames_and_ids_are_tables_of_all_parts(tmp_path: Path, place: str) -> None:
    duckdb = pytest.importorskip("duckdb", reason="duckdb is not installed")
    write(tmp_path / "in.parquet", table_of(900), 300)
    for shape in ("stack", "frames", "ids"):
        out = tmp_path / shape
        options = ("-o", out, "--modules", place, "--answers", shape)
        assert run(tmp_path / "in.parquet", *options) == 0
    fields = 'name, path, line, inlined, "offset"'
    joined = duckdb.sql(
        f"SELECT id, {fields} FROM (SELECT id, unnest(frame_ids) AS frame_id "  # noqa: S608 - of the test
        f"FROM '{tmp_path}/ids/*.parquet') "
        f"JOIN '{tmp_path}/ids/frames/*.parquet' USING (frame_id) ORDER BY ALL"
    ).fetchall()
    flat = duckdb.sql(
        f"SELECT id, {fields} FROM '{tmp_path}/frames/*.parquet' "  # noqa: S608
        "WHERE reason IS NULL ORDER BY ALL"
    ).fetchall()
    nested = duckdb.sql(
        "SELECT id, f.* FROM (SELECT id, unnest(stack) AS f "  # noqa: S608
        f"FROM '{tmp_path}/stack/*.parquet') ORDER BY ALL"
    ).fetchall()
    assert joined == flat == nested
    assert len(flat) > 500
    ids = [row["frame_id"] for row in parts(tmp_path / "ids" / "frames")]
    assert len(set(ids)) == len(ids)


def test_batches_after_one_without_rows_are_read(tmp_path: Path, place: str) -> None:
    (batch,) = table_of(4).to_batches()
    path, out = tmp_path / "in.arrows", tmp_path / "out"
    with pa.ipc.new_stream(path, batch.schema) as writer:
        for piece in (batch.slice(0, 1), batch.slice(0, 0), batch.slice(1)):
            writer.write_batch(piece)
    assert run(path, "-o", out, "--modules", place) == 0
    assert [row["id"] for row in parts(out)] == [0, 1, 2, 3]


def test_a_batch_without_rows_in_a_file_is_no_part(tmp_path: Path, place: str) -> None:
    (batch,) = table_of(4).to_batches()
    path, out = tmp_path / "in.arrow", tmp_path / "out"
    with pa.ipc.new_file(path, batch.schema) as writer:
        for piece in (batch.slice(0, 0), batch):
            writer.write_batch(piece)
    assert run(path, "-o", out, "--modules", place) == 0
    assert len(list(out.glob("*.empty"))) == 1
    assert [row["id"] for row in parts(out)] == [0, 1, 2, 3]


def test_parts_may_be_arrow_streams(tmp_path: Path, place: str) -> None:
    write(tmp_path / "in.parquet", table_of(50), 20)
    out = tmp_path / "out"
    options = ("-o", out, "--modules", place, "--format", "arrow")
    assert run(tmp_path / "in.parquet", *options) == 0
    assert [row["id"] for row in parts(out)] == list(range(50))


@pytest.mark.no_engine
def test_a_killed_run_is_resumed_without_loss_or_repetition(
    tmp_path: Path, place: str
) -> None:
    table = table_of(3000)
    write(tmp_path / "in.parquet", table, 10)
    out = tmp_path / "out"
    options = [tmp_path / "in.parquet", "-o", out, "--modules", place, "--jobs=2"]
    options.append("--answers=ids")
    command = [sys.executable, "-m", "gsym", "batch", *map(str, options), "--resume"]
    complete: dict[Path, int] = {}
    for least in (5, 60, 150):
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        while process.poll() is None and len(list(out.glob("part-*"))) < least:
            time.sleep(0.001)
        process.send_signal(signal.SIGKILL)
        process.wait()
        kept = {path: path.stat().st_mtime_ns for path in out.glob("part-*")}
        assert complete.items() <= kept.items()
        complete = kept
    assert run(*options, "--resume") == 0
    times = {path: path.stat().st_mtime_ns for path in out.glob("part-*")}
    assert complete.items() <= times.items()
    found = joined(out)
    assert [row["id"] for row in found] == list(range(3000))
    (whole,) = table.combine_chunks().to_batches()
    assert answers(found) == answers(symbolize(whole, Modules(place)).to_pylist())
    assert not list(out.rglob(".part*"))


@pytest.mark.parametrize("resume", [(), ("--resume",)])
def test_a_run_killed_before_its_manifest_is_started_anew(
    tmp_path: Path, place: str, monkeypatch: pytest.MonkeyPatch, resume: tuple[str, ...]
) -> None:
    path, out = tmp_path / "in.parquet", tmp_path / "out"
    write(path, table_of(20), 10)
    options = (path, "-o", out, "--modules", place, "--answers=ids")
    job = batch_job.BatchJob([str(path)], str(out), Modules(place), {"output": "ids"})

    def kill(*_: object, **__: object) -> None:
        (out / ".manifest.json.0.tmp").touch()
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(batch_job, "AtomicFile", kill)
        with pytest.raises(KeyboardInterrupt):
            job.run(1)
    assert run(*options, *resume) == 0
    assert [row["id"] for row in parts(out)] == list(range(20))
    assert not list(out.glob(".*.tmp"))


@pytest.mark.parametrize(
    "other", [("--strict",), ("--modules", "{}"), ("--modules", "https://a.test/?k=1")]
)
def test_parts_of_other_modules_are_not_added(
    tmp_path: Path,
    place: str,
    capsys: pytest.CaptureFixture[str],
    other: tuple[str, ...],
) -> None:
    write(tmp_path / "in.parquet", table_of(20).filter(pa.array([False] * 20)), 10)
    out = tmp_path / "out"
    options = (tmp_path / "in.parquet", "-o", out, "--resume", "--max-open=3")
    assert run(*options, "--modules", place) == 0
    changed = [each.format(tmp_path) for each in other]
    assert run(*options, "--modules", place, *changed) == 1
    assert "of other inputs, options or modules" in capsys.readouterr().err
    assert run(*options, "--modules", place, "--max-open=2") == 0


def test_names_of_modules_have_no_secrets() -> None:
    names = {Modules(f"s3://a/b?secret_access_key={key}").name for key in ("x", "y")}
    assert len(names) == 2
    assert [name for name in names if "=" in name] == []


def test_frames_are_written_once_for_the_parts_of_a_thread(
    tmp_path: Path, place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = pa.concat_tables([table_of(300)] * 4)
    write(tmp_path / "in.parquet", table, 300)
    options = ("--modules", place, "--answers=ids", "--jobs=1")
    for name, most in (("one", 1 << 20), ("each", 0), ("pieces", 0)):
        monkeypatch.setattr(batch_job, "_MOST_KNOWN", most)
        if name == "pieces":  # of a part that is too large to remember all of it
            monkeypatch.setattr(symbolizing, "_MOST_ROWS", 70)
        assert run(tmp_path / "in.parquet", "-o", tmp_path / name, *options) == 0
    tables = {
        name: parts(tmp_path / name / "frames") for name in ("one", "each", "pieces")
    }
    frames = {
        name: {row["frame_id"]: row for row in table} for name, table in tables.items()
    }
    assert [name for name in frames if len(frames[name]) != len(tables[name])] == []
    assert len(frames["pieces"]) > len(frames["each"])
    assert len(frames["each"]) > 3 * len(frames["one"]) > 100
    answers = {
        name: [
            [[*frames[name][each].values()][1:] for each in row["frame_ids"] or ()]
            for row in parts(tmp_path / name)
        ]
        for name in frames
    }
    assert answers["one"] == answers["each"] == answers["pieces"]
    assert sum(map(len, answers["one"])) > 800


def test_a_folder_of_something_else_is_left_alone(
    tmp_path: Path,
    place: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    write(tmp_path / "in.parquet", table_of(20), 10)
    out = tmp_path / "out"
    options = (tmp_path / "in.parquet", "-o", out, "--modules", place)
    out.mkdir()
    (out / "mine").touch()
    assert run(*options) == 1
    assert "the folder is not empty" in capsys.readouterr().err
    (out / "mine").unlink()
    assert run(*options) == 0
    assert run(*options) == 1
    assert "--resume adds those missing" in capsys.readouterr().err
    assert run(*options, "--resume") == 0
    assert "2 of them kept" in capsys.readouterr().out
    assert run(*options, "--resume", "--answers", "ids") == 1
    assert "the parts are of other inputs, options or" in capsys.readouterr().err
    monkeypatch.delattr(time, "sleep")  # nothing is waited for
    with held(str(out / ".lock")):
        assert run(*options, "--resume") == 1
    assert "another process writes to this folder" in capsys.readouterr().err
    (out / "manifest.json").write_text("{")
    assert run(*options, "--resume") == 1
    assert "manifest.json: the manifest is damaged" in capsys.readouterr().err


@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize("column", ["address", "module"])
def test_a_column_that_is_missing_is_named(
    tmp_path: Path,
    place: str,
    capsys: pytest.CaptureFixture[str],
    kind: str,
    column: str,
) -> None:
    path = tmp_path / f"in.{kind}"
    write(path, table_of(20), 10)
    options = (path, "-o", tmp_path / "out", "--modules", place)
    assert run(*options, f"--{column}=other") == 1
    assert f"in.{kind}: the batch has no column 'other'" in capsys.readouterr().err


@pytest.mark.parametrize("kind", ["csv", "ndjson"])
def test_text_may_say_which_addresses_are_returned_to(
    tmp_path: Path, place: str, kind: str
) -> None:
    rows = [(START, "x", True), (START, "x", False), (START, "x", None)]
    path, out = tmp_path / f"in.{kind}", tmp_path / "out"
    names = ("address", "build_id", "returns")
    lines = [json.dumps(dict(zip(names, row, strict=True))) for row in rows]
    if kind == "csv":
        lines = [f"{START},{build_id(1).hex()},{each}" for each in ("true", "0", "")]
        lines.insert(0, ",".join(names))
    path.write_text("\n".join(lines).replace('"x"', f'"{build_id(1).hex()}"'))
    options = ("--modules", place, "--return-address=returns")
    assert run(path, "-o", out, *options) == 0
    assert [row["stack"] is None for row in parts(out)] == [True, False, False]


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (("--address", "pc"), "in.parquet: the batch has no column 'pc'"),
        (("--module", "id"), "in.parquet: column 'id': modules are text or binary"),
        (("--base", "0x1" + "0" * 16), "in.parquet: base: 0x10000000000000000 is not"),
        (("--base", "build_id"), "in.parquet: column 'build_id': expected integers"),
        (("--modules", "/none"), "option '--modules': source: expected a folder or"),
        (("--strict",), "module 03000000"),
    ],
)
def test_what_is_wrong_is_named(
    tmp_path: Path,
    place: str,
    capsys: pytest.CaptureFixture[str],
    options: tuple[str, ...],
    text: str,
) -> None:
    write(tmp_path / "in.parquet", table_of(200), 100)
    command = [tmp_path / "in.parquet", "-o", tmp_path / "out", "--modules", place]
    assert run(*command, *options) in {1, 2}
    assert text in capsys.readouterr().err


def test_the_types_of_a_text_are_those_of_its_first_range(
    tmp_path: Path, place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inputs, "_RANGE_SIZE", 200)
    starts = ["2020-01-01", "2020-01-02", "soon"] * 9
    rows = [
        {"address": START, "build_id": "x", "at": at, "n": None if i < 9 else "a"}
        for i, at in enumerate(starts)
    ]
    path, out = tmp_path / "in.jsonl", tmp_path / "out"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert run(path, "-o", out, "--modules", place) == 0
    files = sorted(out.glob("part-*.parquet"))
    assert len(files) > 5
    assert len({str(pq.read_schema(each)) for each in files}) == 1
    assert [(row["at"], row["n"]) for row in parts(out)] == [
        (row["at"], row["n"]) for row in rows
    ]


@pytest.mark.parametrize(
    "values", [(None, "0x1000"), ([], [None], [None, "0x1000"]), (None, [0x1000])]
)
def test_types_of_addresses_are_those_of_the_first(
    tmp_path: Path, place: str, values: tuple[Any, ...]
) -> None:
    path, out = tmp_path / "in.ndjson", tmp_path / "out"
    rows = [{"build_id": build_id(1).hex(), "address": each} for each in values]
    path.write_text("\n" + "".join(json.dumps(row) + "\n" for row in rows))
    assert run(path, "-o", out, "--modules", place) == 0
    found = parts(out)
    assert [row["address"] for row in found] == list(values)
    assert found[-1]["stack"][-1]["name"] == "f1_0"


@pytest.mark.no_engine
@pytest.mark.parametrize("names", [("address", "build_id"), ("build_id", "address")])
def test_columns_of_json_have_the_order_of_the_file(
    tmp_path: Path, names: tuple[str, str]
) -> None:
    path = tmp_path / "in.ndjson"
    path.write_text(json.dumps({**dict.fromkeys(names, "1"), "z": 1}) + "\n")
    (unit,) = inputs.units_of(str(path))
    (batch,) = inputs.batches_of(unit, address="address", modules="build_id")
    assert batch.schema.names == [*names, "z"]


@pytest.mark.no_engine
@pytest.mark.parametrize(
    ("kind", "line", "text"),
    [
        ("ndjson", '{"address":"x"}', "changed from number to string"),
        ("ndjson", '{"address":1,"id":2.5}', "couldn't parse:2.5"),
        ("ndjson", '{"address":1,"z":1}', "the start of the file has no 'z' of int64"),
        ("ndjson", f'{{"z":{"[" * 30000 + "]" * 30000}}}', "nested more than 200"),
        ("csv", "1,2,pc", "invalid value 'pc'"),
        ("csv", "1,2,3,4", "Expected 3 columns, got 4"),
    ],
)
def test_a_line_of_other_types_is_named_by_its_offset(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    kind: str,
    line: str,
    text: str,
) -> None:
    path = tmp_path / f"in.{kind}"
    write(path, table_of(100), 100)
    monkeypatch.setattr(inputs, "_RANGE_SIZE", path.stat().st_size // 3)
    if kind == "ndjson":
        path.write_text(re.sub(r'"0x(\w+)"', _decimal, path.read_text()))
    lines = path.read_text().splitlines(keepends=True)
    for at in (60, 70, 99):
        changed = [*lines[:at], line + "\n", *lines[at:]]
        path.write_text("".join(changed))
        with pytest.raises(FormatError) as caught:
            read_all(path)
        assert text in caught.value.reason
        assert caught.value.offset == len("".join(lines[:at]))


@pytest.mark.no_engine
@pytest.mark.parametrize(("depth", "is_refused"), [(200, False), (201, True)])
def test_values_may_be_nested_two_hundred_deep(
    tmp_path: Path,
    depth: int,
    is_refused: bool,  # noqa: FBT001
) -> None:
    path = tmp_path / "in.ndjson"
    siblings = ",".join(["[]"] * 300)  # beside each other, not in each other
    lists = "[" * (depth - 2) + siblings + "]" * (depth - 2)
    path.write_text(f'{{"address":1,"z":{lists}}}\n')
    if is_refused:
        with pytest.raises(FormatError, match="nested more than 200 deep"):
            read_all(path)
    else:
        assert read_all(path) == 1


def read_all(path: Path) -> int:
    return sum(
        batch.num_rows
        for unit in inputs.units_of(str(path))
        for batch in inputs.batches_of(unit, address="address", modules="build_id")
    )


def _decimal(found: re.Match[str]) -> str:
    return str(int(found[1], 16))


# pyarrow throws C++ exceptions, which end a process with preloaded sanitizers.
@pytest.mark.no_engine
@pytest.mark.parametrize("kind", ["parquet", "arrow", "arrows", "csv", "ndjson"])
def test_damaged_inputs_are_errors(tmp_path: Path, kind: str) -> None:
    path = tmp_path / f"in.{kind}"
    write(path, table_of(300), 100)
    whole = bytearray(path.read_bytes())

    assert read_all(path) == 300
    step = max(1, len(whole) // 60)
    named = set()
    for at in range(0, len(whole), step):
        damaged = whole.copy()
        damaged[at : at + 3] = b"\xff\0{"
        path.write_bytes(damaged[: len(whole) - at] if at % 2 else damaged)
        try:
            read_all(path)
        except (FormatError, UnsupportedError) as error:
            named.add(error.path)
    assert named == {str(path)}


def test_a_range_without_the_start_of_a_line_has_no_rows(
    tmp_path: Path, place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inputs, "_RANGE_SIZE", 7)
    path = tmp_path / "in.csv"
    module = "00000000" + bytes(range(1, 17)).hex()
    path.write_text(f"build_id,address\n{module},{START:#x}\n{module},4096\n")
    out = tmp_path / "out"
    assert run(path, "-o", out, "--modules", place) == 0
    assert list(out.glob("*.empty"))
    names = [row["stack"][0]["name"] for row in parts(out)]
    assert names == ["f0_0", "f0_0"]


def test_the_bar_shows_the_rate_and_the_time_left(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    drawn: list[tuple[object, ...]] = []
    clock = iter([0.0, 2.0, 90.0])
    monkeypatch.setattr(time, "monotonic", lambda: next(clock))
    drawing = batch._Drawing(lambda *what: drawn.append(what))  # type: ignore[arg-type]  # noqa: SLF001
    drawing(0, 100, 3_000_000)
    drawing(50, 100, 9_000_000)
    assert drawn == [
        (0, 100, " 1.50 M rows/s"),
        (50, 100, " 0.10 M rows/s, 1:30 left"),
    ]
