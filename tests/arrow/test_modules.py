"""`Modules`: sources, limits, and use by several threads and processes."""

from __future__ import annotations

import os
import pickle
import threading
from typing import TYPE_CHECKING

import pytest

from gsym.arrow import Modules, symbolize
from gsym.modules import binary_conversion
from gsym.modules.key import elf_debug_id
from tests.arrow_batches import START, put
from tests.companions import ID, debug_file, place
from tests.store_modules import build_id, write_gsym

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from gsym.modules.open_module import OpenModule
    from gsym.store.directory import Store


def name_at_start(modules: Modules, number: int) -> str:
    lookup = modules.find(build_id(number)).open_reader().lookup(START)
    assert lookup is not None
    return lookup.function.name


def test_copies_in_other_processes_open_the_store_again(store: Store) -> None:
    put(store, 1)
    modules = Modules(store, max_open=3, memory="1MB", missing="raise")
    copy = pickle.loads(pickle.dumps(modules))  # noqa: S301 - our own
    assert repr(copy) == repr(modules)
    assert name_at_start(modules, 1) == name_at_start(copy, 1) == "f1_0"
    child = os.fork()
    if not child:
        os._exit(0 if name_at_start(modules, 1) == "f1_0" else 1)
    assert os.waitpid(child, 0)[1] == 0


def test_folders_hold_files_of_any_name(tmp_path: Path) -> None:
    write_gsym(tmp_path / "some.gsym", 4)
    modules = Modules(tmp_path)
    assert name_at_start(modules, 4) == "f4_1"
    assert modules.find("some").reader is not None
    assert modules.find("other").reader is None


def test_the_least_recently_used_files_are_closed(store: Store) -> None:
    for number in range(4):
        put(store, number)
    size = modules_size(Modules(store), 0)
    few = Modules(store, max_open=2, memory=10 * size)
    small = Modules(store, max_open=9, memory=2 * size)
    for modules in (few, small):
        first = modules.find(build_id(0))
        for number in (1, 0, 2):
            modules.find(build_id(number))
        assert modules.find(build_id(0)) is first  # used again before 2
        modules.find(build_id(3))
        modules.find(build_id(2))
        assert modules.find(build_id(0)) is not first


def modules_size(modules: Modules, number: int) -> int:
    return modules.find(build_id(number)).open_reader().size


def test_threads_share_the_open_files(store: Store) -> None:
    for number in range(5):
        put(store, number)
    modules = Modules(store, max_open=2)
    wrong: list[str] = []

    def ask(seed: int) -> None:
        for turn in range(200):
            number = (seed + turn) % 5
            if name_at_start(modules, number) != f"f{number}_0":
                wrong.append(f"{seed} {turn}")

    threads = [threading.Thread(target=ask, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_a_name_finds_the_module_that_was_added_last(store: Store) -> None:
    put(store, 1)
    modules = Modules(store)
    assert modules.find("lib1.so").reader is not None
    assert modules.find("lib2.so").reader is None


@pytest.mark.parametrize("folder", ["debuginfod_client", "srv"])
def test_a_folder_is_found_whatever_its_name_and_the_current_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folder: str
) -> None:
    (tmp_path / folder).mkdir()
    monkeypatch.chdir(tmp_path)
    assert Modules(folder).name == str(tmp_path / folder)
    assert Modules("SRV*https://example.com").name == "SRV*https://example.com"


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"missing": "skip"}, "missing: expected null or raise, not"),
        ({"memory": "much"}, "memory: invalid size 'much'"),
        ({"max_open": 0}, "max_open: expected at least 1, not 0"),
    ],
)
def test_bad_arguments_are_named(
    tmp_path: Path, options: dict[str, object], text: str
) -> None:
    with pytest.raises(ValueError, match=text):
        Modules(tmp_path, **options)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="source: expected a folder or a URL, not"):
        Modules(tmp_path / "none")


def test_answers_of_modules_that_may_be_another_build_say_so(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    write_gsym(tmp_path / "some.gsym", 4)
    modules = Modules(tmp_path)
    debug_id = elf_debug_id(build_id(4), "little")
    names = [build_id(4).hex(), debug_id, "some"]
    reasons = [
        None,
        "only 16 of 20 bytes of its build id are known",
        "found by its name alone",
    ]
    single = pa.record_batch({"build_id": names, "address": [START] * 3})
    stacks = pa.record_batch({"build_id": names, "address": [[START, START]] * 3})
    for output in ("stack", "frames"):
        answer = symbolize(single, modules, output=output)
        assert answer["unsure"].to_pylist() == reasons
    answer = symbolize(stacks, modules)
    assert answer["unsure"].to_pylist() == [[each] * 2 for each in reasons]
    rows, _ = symbolize(single, modules, output="ids")
    assert rows["unsure"].to_pylist() == reasons
    assert modules.unsure == dict(zip(names[1:], reasons[1:], strict=True))
    missing = pa.record_batch({"build_id": ["0" * 40, None], "address": [1, 1]})
    assert symbolize(missing, modules)["unsure"].to_pylist() == [None, None]


def test_a_name_in_a_folder_may_be_that_of_another_file_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gsym.arrow.modules._RECHECK_SECONDS", -1.0)
    write_gsym(tmp_path / "some.gsym", 4)
    modules = Modules(tmp_path)
    uuids = [modules.find("some").open_reader().uuid]
    write_gsym(tmp_path / "some.gsym", 5)
    uuids.append(modules.find("some").open_reader().uuid)
    assert uuids[0] != uuids[1]


def test_threads_convert_a_binary_of_a_folder_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GSYM_CACHE_DIR", str(tmp_path / "cache"))
    place(tmp_path / "bin" / "app", debug_file(ID))
    modules = Modules(tmp_path / "bin")
    start = threading.Barrier(4, timeout=60)
    found: list[OpenModule] = []
    made: list[int] = []

    def make(*arguments: object) -> object:
        made.append(threading.get_ident())
        return convert(*arguments)

    def find() -> None:
        start.wait()
        found.append(modules.find(ID))

    convert: Callable[..., object] = binary_conversion._make
    monkeypatch.setattr(binary_conversion, "_make", make)
    threads = [threading.Thread(target=find) for _ in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert [each.reason for each in found] == [""] * 4
    assert len(made) == 1
