"""What stands beside a GSYM file in a store is read with distrust."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import pytest
from hypothesis import given, strategies as st

from gsym.errors import FormatError
from gsym.modules.key import ModuleKey
from gsym.store.directory import Store
from gsym.store.entries import Entry, Quality
from gsym.store.layout import escape_name, name_problem
from gsym.store.sidecar import read_entry, write_sidecar
from tests.store_modules import identity, key, put

if TYPE_CHECKING:
    from collections.abc import Callable

NAMES = st.text(st.characters(exclude_categories=()), max_size=90)


@given(name=NAMES.filter(lambda name: not name_problem(name)))
def test_an_escaped_name_is_a_plain_name_and_can_be_turned_back(name: str) -> None:
    escaped = escape_name(name)
    assert unquote(escaped) == name
    assert not escaped.startswith(".")
    assert not set(escaped) & set("/\0\n\t\\")
    assert escaped != "gsym-store.json"


@pytest.mark.parametrize(
    "name", ["libc.so.6", "xul.pdb", "[vdso]", "a b", "ü.so", "..x"]
)
def test_common_names_are_not_escaped(name: str) -> None:
    assert escape_name(name) == ("%2E.x" if name == "..x" else name)


def a_record() -> dict[str, Any]:
    return {
        "format": 1,
        **identity(1)._asdict(),
        "uuid": "00ff",
        "quality": {"level": 1, "functions": 5},
        "source": "/a",
        "added": 1.5,
        "files": {"module.gsym": 10, "module.sym": 20},
        "unknown": "of a later version",
    }


def change(**fields: object) -> Callable[[dict[str, Any]], object]:
    return lambda record: record.update(fields)


def test_a_record_is_read(tmp_path: Path) -> None:
    (tmp_path / "module.json").write_text(json.dumps(a_record()))
    folder = str(tmp_path)
    assert read_entry(folder) == Entry(
        path=f"{folder}/module.gsym",
        identity=identity(1),
        uuid=b"\x00\xff",
        quality=Quality(1, 5),
        source="/a",
        size=30,
        added=1.5,
        originals={"sym": f"{folder}/module.sym"},
        gsym_size=10,
    )


def test_a_damaged_record_is_named_with_the_reason(tmp_path: Path) -> None:
    for damage in [
        change(format=2),
        change(os=1),
        change(debug_id="zz"),
        change(debug_id="0" * 33),
        change(debug_file="a/b"),
        change(code_id="nothex"),
        change(uuid="f"),
        change(quality=[1, 5]),
        change(quality={"level": 3, "functions": 5}),
        change(quality={"level": 1, "functions": -1}),
        change(quality={"level": True, "functions": 1}),
        change(source=None),
        change(added="now"),
        change(added=-1.0),
        change(added=float("nan")),
        change(files={}),
        change(files={"module.gsym": "10"}),
        change(files={"module.gsym": 10, "../../etc/passwd": 1}),
        *(
            lambda record, name=name: record.pop(name)
            for name in ("uuid", "files", "os")
        ),
    ]:
        record = a_record()
        damage(record)
        (tmp_path / "module.json").write_text(json.dumps(record))
        with pytest.raises(FormatError, match=r"module\.json: damaged record .*: .+"):
            read_entry(str(tmp_path))


def test_invalid_records_are_refused(tmp_path: Path) -> None:
    for text in [
        b"",
        b"[]",
        b"\xff\xfe",
        b"[" * 100_000,
        b'{"format": 1',
        b" " * 2_000_000,
    ]:
        (tmp_path / "module.json").write_bytes(text)
        with pytest.raises(FormatError, match=r"module\.json"):
            read_entry(str(tmp_path))


@given(
    words=st.tuples(*[NAMES] * 3),
    uuid=st.binary(max_size=64),
    level=st.integers(0, 2),
    added=st.floats(0, 1e12),
)
def test_records_are_read_as_written(
    tmp_path_factory: pytest.TempPathFactory,
    words: tuple[str, str, str],
    uuid: bytes,
    level: int,
    added: float,
) -> None:
    folder = str(tmp_path_factory.mktemp("sidecar"))
    system, architecture, source = words
    module = ModuleKey(
        os=system, architecture=architecture, debug_id=identity(1).debug_id
    )
    path = f"{folder}/module.gsym"
    quality = Quality(level, 9)
    entry = Entry(path, module, uuid, quality, source, 7, added, gsym_size=7)
    write_sidecar(folder, entry, {"module.gsym": 7})
    assert read_entry(folder) == entry


def test_store_names_the_damaged_module_and_lists_the_others(
    tmp_path: Path,
) -> None:
    store = Store(tmp_path)
    entries = [put(store, number).entry for number in (1, 2, 3)]
    Path(entries[1].path).with_name("module.json").write_text("{}")
    store = Store(tmp_path)
    with pytest.raises(FormatError, match=r"module\.json"):
        store.get(key(2))
    with pytest.raises(FormatError, match=r"module\.json"):
        list(store.entries())
    problems: list[FormatError] = []
    found = list(store.entries(damaged=problems.append))
    assert sorted(found) == sorted([entries[0], entries[2]])
    assert len(problems) == 1
    assert put(store, 2).outcome == "replaced"
    assert store.get(key(2)) is not None


def test_entry_of_another_module_is_damaged(tmp_path: Path) -> None:
    store = Store(tmp_path)
    entry = put(store, 1).entry
    record = Path(entry.path).with_name("module.json")
    text = record.read_text().replace(identity(1).debug_id, identity(2).debug_id)
    record.write_text(text)
    with pytest.raises(FormatError, match="published as"):
        Store(tmp_path).get(key(1))
