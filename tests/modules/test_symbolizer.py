"""`Symbolizer`: offsets and addresses, readers that stay open, files replaced."""

from __future__ import annotations

import random
import subprocess
import threading
from typing import TYPE_CHECKING

import pytest

import gsym
from gsym import Creator, FunctionInfo, identify
from gsym.modules.key import Attempt, ModuleKey, key_of_debug_id
from gsym.modules.symbolizer import Symbolizer
from gsym.store.directory import Store
from gsym.store.entries import Entry, Quality, Resolution

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.long

BASE = 0x400000
_IDS = [f"{number:032X}0" for number in range(8)]


class Known:
    """Finds modules by their debug ids."""

    def __init__(self) -> None:
        self.entries: dict[str, Entry] = {}
        self.asked = 0

    def add(self, path: Path, debug_id: str, function: str, base: int = BASE) -> None:
        with Creator(base_address=base) as creator:
            creator.add(FunctionInfo(base + 0x100, 0x10, function))
            creator.save(path)
        self.entries[debug_id] = Entry(str(path), ModuleKey(debug_id=debug_id))

    def resolve(self, key: ModuleKey) -> Resolution:
        self.asked += 1
        entry = self.entries.get(key.debug_id)
        missing = (Attempt("here", "missing", "no such file"),)
        return Resolution(entry, () if entry else missing)


def name_at(symbolizer: Symbolizer, debug_id: str, offset: int = 0x104) -> str:
    answer = symbolizer.symbolize(key_of_debug_id("x", debug_id), offset=offset)
    assert answer.lookup is not None, answer.reason
    return answer.lookup.function.name


@pytest.fixture
def known(tmp_path: Path) -> Known:
    known = Known()
    for number, debug_id in enumerate(_IDS):
        known.add(tmp_path / f"{number}.gsym", debug_id, f"f{number}")
    return known


def test_an_offset_counts_from_the_base_and_an_address_does_not(known: Known) -> None:
    symbolizer, key = Symbolizer(known), key_of_debug_id("x", _IDS[0])
    by_offset = symbolizer.symbolize(key, offset=0x104)
    by_address = symbolizer.symbolize(key, va=BASE + 0x104)
    assert by_offset.lookup is not None
    assert by_offset.lookup == by_address.lookup
    assert by_offset.lookup.address == BASE + 0x104
    assert symbolizer.symbolize(key, va=0x104).lookup is None


@pytest.mark.parametrize("both", [{}, {"offset": 1, "va": 1}], ids=repr)
def test_one_of_offset_and_address_is_given(known: Known, both: dict[str, int]) -> None:
    with pytest.raises(ValueError, match="offset"):
        Symbolizer(known).symbolize(key_of_debug_id("x", _IDS[0]), **both)


@pytest.mark.parametrize("offset", [0, -1, 0x110, (1 << 64) - BASE, (1 << 64) - 1])
def test_an_offset_without_a_function_has_a_reason(known: Known, offset: int) -> None:
    symbolizer = Symbolizer(known)
    answer = symbolizer.symbolize(key_of_debug_id("x", _IDS[0]), offset=offset)
    assert answer.lookup is None
    assert answer.reason


def test_offsets_that_no_address_fits_have_no_answer(known: Known) -> None:
    module = Symbolizer(known).open(key_of_debug_id("x", _IDS[0]))
    offsets = [(1 << 64) - 1, 0x104, (1 << 64) - BASE, (1 << 64) - BASE + 0x104]
    assert list(module.lookup_many(offsets).address_index) == [1]


def test_miss_has_the_reasons_of_the_sources(known: Known) -> None:
    answer = Symbolizer(known).symbolize(key_of_debug_id("x", "F" * 33), offset=1)
    assert answer.reason == "here: no such file"
    with pytest.raises(gsym.GsymError, match="no such file"):
        answer.module.lookup_many([1])


def test_a_file_of_another_binary_is_refused(known: Known) -> None:
    entry = known.entries[_IDS[1]]
    with Creator(uuid=b"another", base_address=0) as creator:
        creator.add(FunctionInfo(0x100, 0x10, "wrong"))
        creator.save(entry.path)
    module = Symbolizer(known).open(key_of_debug_id("x", _IDS[1]))
    assert module.reader is None
    assert "UUID" in module.reason


def test_a_module_stays_open(known: Known) -> None:
    symbolizer = Symbolizer(known)
    first = symbolizer.open(key_of_debug_id("x", _IDS[0]))
    assert symbolizer.open(key_of_debug_id("x", _IDS[0])) is first
    assert known.asked == 1


def test_a_file_is_open_once_whatever_the_names_of_its_module(known: Known) -> None:
    symbolizer = Symbolizer(known)
    first = symbolizer.open(key_of_debug_id("x", _IDS[0]))
    size = symbolizer.mapped
    # A name may choose among modules of one id.
    assert symbolizer.open(key_of_debug_id("y", _IDS[0])) is first
    assert (known.asked, symbolizer.mapped) == (2, size)


@pytest.mark.parametrize("most_open", [1, 3])
def test_least_recently_used_modules_are_closed(known: Known, most_open: int) -> None:
    symbolizer = Symbolizer(known, most_open=most_open)
    for number, debug_id in enumerate(_IDS):
        assert name_at(symbolizer, debug_id) == f"f{number}"
        assert len(symbolizer) == min(number + 1, most_open)
    known.asked = 0
    for debug_id in _IDS[-most_open:]:
        name_at(symbolizer, debug_id)
    assert known.asked == 0
    name_at(symbolizer, _IDS[0])
    assert known.asked == 1


def test_bytes_of_open_files_are_bounded(known: Known) -> None:
    symbolizer = Symbolizer(known)
    name_at(symbolizer, _IDS[0])
    size = symbolizer.mapped
    assert size > 0
    symbolizer = Symbolizer(known, most_mapped=2 * size)
    for debug_id in _IDS:
        name_at(symbolizer, debug_id)
        assert symbolizer.mapped <= 2 * size
    assert len(symbolizer) == 2
    symbolizer = Symbolizer(known, most_mapped=2 * size - 1)
    for debug_id in _IDS:
        name_at(symbolizer, debug_id)
    assert len(symbolizer) == 1


def test_closed_module_answers_its_holders(known: Known) -> None:
    symbolizer = Symbolizer(known, most_open=1)
    first = symbolizer.open(key_of_debug_id("x", _IDS[0]))
    name_at(symbolizer, _IDS[1])
    assert first.lookup_many([0x104]).names == ["f0"]
    symbolizer.close()
    assert len(symbolizer) == symbolizer.mapped == 0
    assert first.lookup_many([0x104]).names == ["f0"]


def test_a_closed_symbolizer_opens_nothing(known: Known) -> None:
    key = key_of_debug_id("x", _IDS[0])
    with Symbolizer(known) as symbolizer:
        name_at(symbolizer, _IDS[0])
    for use in (
        lambda: symbolizer.find(key),
        lambda: symbolizer.open(key),
        lambda: symbolizer.symbolize(key, offset=0x104),
        symbolizer.__enter__,
    ):
        with pytest.raises(gsym.ClosedError, match="the symbolizer is closed"):
            use()


def test_many_threads_get_right_answers(known: Known) -> None:
    symbolizer = Symbolizer(known, most_open=2)
    wrong: list[str] = []

    def ask(seed: int) -> None:
        chance = random.Random(seed)  # noqa: S311 - it may be guessed
        for _ in range(300):
            number = chance.randrange(len(_IDS))
            if name_at(symbolizer, _IDS[number]) != f"f{number}":
                wrong.append(_IDS[number])

    threads = [threading.Thread(target=ask, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    assert len(symbolizer) <= 2
    assert symbolizer.mapped == sum(
        module.open_reader().size
        for module in symbolizer._open.values()  # noqa: SLF001
    )


# ---- with a store


def publish(store: Store, name: str, functions: int) -> Entry:
    identity = ModuleKey(
        os="Linux",
        architecture="x86_64",
        debug_id=_IDS[1],
        code_id="",
        debug_file="libx.so",
    )
    with store.temporary_folder() as folder, Creator(base_address=0) as creator:
        for number in range(functions):
            creator.add(FunctionInfo(0x100 + 0x10 * number, 0x10, name))
        creator.save(f"{folder}/x.gsym")
        quality = Quality(0, functions)
        return store.publish(f"{folder}/x.gsym", identity, quality=quality).entry


def test_a_richer_file_in_the_store_takes_over(tmp_path: Path) -> None:
    store = Store(tmp_path / "store")
    publish(store, "poor", 1)
    symbolizer = Symbolizer(store, recheck=0)
    assert name_at(symbolizer, _IDS[1]) == "poor"
    publish(store, "rich", 2)
    assert name_at(symbolizer, _IDS[1]) == "rich"
    assert len(symbolizer) == 1


def test_the_store_is_not_asked_again_at_once(tmp_path: Path) -> None:
    store = Store(tmp_path / "store")
    publish(store, "poor", 1)
    symbolizer = Symbolizer(store, recheck=1000)
    assert name_at(symbolizer, _IDS[1]) == "poor"
    publish(store, "rich", 2)
    assert name_at(symbolizer, _IDS[1]) == "poor"


def test_removed_module_continues_to_answer(tmp_path: Path) -> None:
    store = Store(tmp_path / "store")
    entry = publish(store, "gone", 1)
    symbolizer = Symbolizer(store, recheck=0)
    assert name_at(symbolizer, _IDS[1]) == "gone"
    store.remove(entry)
    assert name_at(symbolizer, _IDS[1]) == "gone"
    symbolizer.forget()
    answer = symbolizer.symbolize(key_of_debug_id("x", _IDS[1]), offset=0x104)
    assert answer.lookup is None


def test_symbolizer_accepts_the_path_of_a_store(tmp_path: Path) -> None:
    publish(Store(tmp_path / "store"), "there", 1)
    assert name_at(Symbolizer(tmp_path / "store"), _IDS[1]) == "there"
    missing = Symbolizer(tmp_path / "nothing").open(key_of_debug_id("x", _IDS[1]))
    assert missing.reader is None
    assert not (tmp_path / "nothing").exists()


# ---- binaries whose base is not 0


def test_a_program_at_a_fixed_address(tmp_path: Path, compiler: str) -> None:
    source = tmp_path / "main.c"
    source.write_text("int f(int x) { return x + 1; }\nint main(void) { return f(0); }")
    binary = tmp_path / "main"
    flags = ["-g", "-O0", "-no-pie", "-Wl,--build-id", "-o", str(binary)]
    subprocess.run([compiler, *flags, str(source)], check=True)
    check_offsets(binary, tmp_path)


def test_a_windows_image(fixtures: Path, tmp_path: Path) -> None:
    check_offsets(find(fixtures, "**/*.exe"), tmp_path)


def test_a_mac_binary(fixtures: Path, tmp_path: Path) -> None:
    check_offsets(find(fixtures, "symbolic/py/minidump/*.dSYM"), tmp_path)


def find(folder: Path, pattern: str) -> Path:
    """A binary with functions, whose base is not 0."""
    for path in sorted(folder.glob(pattern)):
        try:
            identify(path)
            gsym.convert(path, "/dev/null")
        except (gsym.GsymError, OSError):
            continue
        return path
    pytest.skip(f"no binary {pattern} in {folder}")


def check_offsets(binary: Path, folder: Path) -> None:
    """Offsets from the base give what addresses give."""
    identity = identify(binary)
    output = folder / "made.gsym"
    gsym.convert(binary, output)
    known = Known()
    known.entries[identity.debug_id] = Entry(str(output), identity)
    symbolizer = Symbolizer(known)
    key = ModuleKey(identity.debug_file, identity.debug_id)
    with gsym.open(output) as reader:
        base = reader.header.base_address
        assert base
        functions = list(reader.functions())
        for function in (functions[0], functions[len(functions) // 2], functions[-1]):
            expected = reader.lookup(function.start)
            answer = symbolizer.symbolize(key, offset=function.start - base)
            assert answer.lookup == expected
            assert expected is not None
            names = symbolizer.open(key).lookup_many([function.start - base]).names
            assert names == [frame.name for frame in expected.frames]
