"""Files of any kind become modules of a store, or are refused for a reason."""

from __future__ import annotations

import gzip
import lzma
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import gsym
from gsym.containers.inflation import believable_size
from gsym.errors import (
    ArchitectureError,
    EmptyError,
    FormatError,
    GsymError,
    LimitError,
    UnsupportedError,
    UuidMismatchError,
)
from gsym.modules.key import ModuleKey, key_of_build_id, macho_debug_id
from gsym.store.adding import add_file
from gsym.store.archives import bare_name
from gsym.store.directory import Store
from gsym.store.entries import Quality
from tests.inputs.macho import ARM64, X86_64, Macho, Symbol, code, fat
from tests.store_modules import build_id, identity, key, write_gsym, write_sym

if TYPE_CHECKING:
    from collections.abc import Callable

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

pytestmark = pytest.mark.long


def test_a_file_that_is_replaced_while_it_is_added_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, other = tmp_path / "a.sym", tmp_path / "b.sym"
    write_sym(path, 1)
    write_sym(other, 2)

    def convert(_path: str, *arguments: object, **options: object) -> object:
        return gsym.convert(other, *arguments, **options)  # type: ignore[arg-type]

    monkeypatch.setattr("gsym.store.adding.convert", convert)
    store = Store(tmp_path / "store")
    with pytest.raises(UuidMismatchError, match="it was replaced: its "):
        add_file(store, path)
    assert not list(store.entries())


@pytest.mark.parametrize(
    ("name", "expected", "quality"),
    [
        (
            "linux/crash",
            ModuleKey(
                os="Linux",
                architecture="x86_64",
                debug_id="C0BCC3F19827FE653058404B2831D9E60",
                code_id="F1C3BCC0279865FE3058404B2831D9E64135386C",
                debug_file="crash",
            ),
            Quality(2, 222),
        ),
        (
            "windows/crash.sym",
            ModuleKey(
                os="windows",
                architecture="x86",
                debug_id="3249D99D0C4049318610F4E4FB0B69361",
                code_id="5AB380779000",
                debug_file="crash.pdb",
                code_file="crash.exe",
            ),
            Quality(1, 127),
        ),
        (
            "macos/crash.dSYM",
            ModuleKey(
                os="mac",
                architecture="x86_64",
                debug_id="67E9247C814E392BA027DBDE6748FCBF0",
                code_id="67E9247C814E392BA027DBDE6748FCBF",
                debug_file="crash",
            ),
            Quality(2, 194),
        ),
        (
            "windows/msys2-qglib.debug.zst",
            ModuleKey(
                os="windows",
                architecture="x86_64",
                debug_id="FE9537F1E434A8594C4C44205044422E1",
                code_id="695CFDE9CF000",
                debug_file="msys2-qglib",
                code_file="msys2-qglib",
            ),
            Quality(2, 98),
        ),
    ],
)
def test_real_files_are_stored_with_their_identities(
    store: Store, fixtures: Path, name: str, expected: ModuleKey, quality: Quality
) -> None:
    path = fixtures / "symbolic" / name
    if name == "macos/crash.dSYM":  # another file in it is broken
        path = path / "Contents/Resources/DWARF/crash"
    publication = add_file(store, path)
    assert publication.outcome == "added"
    assert publication.entry.identity._replace(code_hash="") == expected
    assert publication.entry.quality == quality
    assert publication.entry.source == str(path)
    found = store.get(ModuleKey(code_file=expected.code_file, code_id=expected.code_id))
    assert found == publication.entry


def thin(cpu: tuple[int, int], uuid: bytes) -> bytes:
    symbols = [Symbol("_main", 0x1000)]
    return Macho([code(0x1000, 0x10)], symbols, cpu=cpu, uuid=uuid).to_bytes()


def test_the_slices_of_a_fat_file_are_modules(store: Store, tmp_path: Path) -> None:
    uuids = {"x86_64": b"x" * 16, "arm64": b"a" * 16}
    cpus = {"x86_64": (X86_64, 3), "arm64": (ARM64, 0)}
    slices = ((cpus[name], thin(cpus[name], uuid)) for name, uuid in uuids.items())
    path = tmp_path / "app"
    path.write_bytes(fat(*slices))
    with pytest.raises(ArchitectureError, match="x86_64, arm64"):
        add_file(store, path)
    for name, uuid in uuids.items():
        entry = add_file(store, path, architecture=name).entry
        module = ModuleKey(
            os="mac",
            architecture=name,
            debug_id=macho_debug_id(uuid),
            code_id=uuid.hex(),
            debug_file="app",
        )
        module = module._replace(code_id=uuid.hex().upper())
        assert entry.identity._replace(code_hash="") == module
    other = Store(f"{store.path}-2")
    asked = ModuleKey(debug_id=macho_debug_id(uuids["arm64"]))
    assert add_file(other, path, key=asked).entry.identity.architecture == "arm64"
    with pytest.raises(UuidMismatchError, match="no slice is"):
        add_file(other, path, key=key(1))


# ---- a GSYM file tells its UUID only


def test_default_system_of_a_gsym_file_is_linux(store: Store, tmp_path: Path) -> None:
    path = write_gsym(tmp_path / "libx.so.gsym", 1)
    entry = add_file(store, path).entry
    expected = ModuleKey(
        os="Linux",
        architecture="",
        debug_id=identity(1).debug_id,
        code_id=identity(1).code_id,
        debug_file="libx.so",
    )
    assert entry.identity == expected
    assert store.get(key_of_build_id(build_id(1))) == entry


def test_requested_debug_id_determines_the_system_of_a_gsym_file(
    store: Store, tmp_path: Path
) -> None:
    path = tmp_path / "a.gsym"
    with gsym.Creator(uuid=bytes(range(16))) as creator:
        creator.add(gsym.FunctionInfo(0x1000, 16, "f"))
        creator.save(path)
    guid = "03020100050407060" + "8090A0B0C0D0E0F"
    for debug_id, system, own in (
        (guid + "0", "Linux", guid + "0"),
        *[("000102030405060708090A0B0C0D0E0F0", "mac", "")],
        (guid + "2A", "windows", guid),  # the file does not say its age
        (guid + "7", "windows", guid),
    ):
        entry = add_file(store, path, key=ModuleKey("a", debug_id)).entry
        known = entry.identity
        assert (known.os, known.debug_id) == (system, own or debug_id)
    assert len(list(store.entries())) == 3
    with pytest.raises(UuidMismatchError, match="its debug id is"):
        add_file(store, path, key=key(1))


def test_identity_given_by_the_caller_is_stored(store: Store, tmp_path: Path) -> None:
    path = write_gsym(tmp_path / "a.gsym", 1)
    better = ModuleKey(os="Android", architecture="arm64", debug_file="libx.so")
    entry = add_file(store, path, identity=better, source="by hand").entry
    ids = {name: getattr(identity(1), name) for name in ("debug_id", "code_id")}
    assert entry.identity == better._replace(**ids)
    assert entry.source == "by hand"


# ---- what is compressed


@pytest.mark.parametrize(
    ("suffix", "compress"),
    [
        (".gz", gzip.compress),
        (".zst", zstd.compress),
        (".gz", lambda data: gzip.compress(data[:99]) + gzip.compress(data[99:])),
        (".xz", lambda data: lzma.compress(data[:99]) + lzma.compress(data[99:])),
    ],
)
def test_a_compressed_file_is_inflated(
    store: Store, tmp_path: Path, suffix: str, compress: Callable[[bytes], bytes]
) -> None:
    data = Path(write_sym(tmp_path / "a.sym", 1)).read_bytes()
    path = tmp_path / f"a.sym{suffix}"
    path.write_bytes(compress(data))
    entry = add_file(store, path, keep_original=True).entry
    assert entry.identity == identity(1)
    assert Path(entry.originals["sym"]).read_bytes() == data
    path.write_bytes(compress(data)[:-20])
    with pytest.raises(FormatError, match=f"a.sym{suffix}: .*damaged"):
        add_file(store, path)


def test_the_limit_of_inflated_bytes_is_kept(store: Store, tmp_path: Path) -> None:
    data = Path(write_sym(tmp_path / "a.sym", 1)).read_bytes()
    path = tmp_path / "a.sym.gz"
    path.write_bytes(gzip.compress(data))
    assert add_file(store, path, most_inflated=len(data)).outcome == "added"
    with pytest.raises(LimitError, match=r"a\.sym\.gz: inflates to more than"):
        add_file(store, path, most_inflated=len(data) - 1)


def test_decompression_bomb_is_refused_before_it_fills_the_disk(
    store: Store, tmp_path: Path
) -> None:
    path = tmp_path / "a.sym.zst"
    path.write_bytes(zstd.compress(bytes(256 << 20)))
    most = believable_size(path.stat().st_size, 1 << 40)
    with pytest.raises(LimitError, match=f"more than {most} bytes"):
        add_file(store, path)


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("/x/libxul.so.dbg.gz", "libxul.so"),
        ("a.debug", "a"),
        ("a.debug.zst", "a"),
        (".debug", ".debug"),
        ("a.sym.xz", "a.sym"),
        ("A.dSYM/", "A.dSYM"),
        ("xul.pdb", "xul.pdb"),
    ],
)
def test_module_names_lose_the_suffixes_of_packing(path: str, name: str) -> None:
    assert bare_name(path) == name


# ---- what is refused


def test_a_file_of_another_module_is_refused(store: Store, tmp_path: Path) -> None:
    path = write_sym(tmp_path / "a.sym", 1)
    for asked in (key(2), key_of_build_id(build_id(2))):
        with pytest.raises(UuidMismatchError, match=f"{path}: its (debug|build) id is"):
            add_file(store, path, key=asked)
    other = ModuleKey(debug_id=identity(2).debug_id)
    with pytest.raises(UuidMismatchError, match=f"{path}: its debug id is"):
        add_file(store, path, identity=other)
    assert list(store.entries()) == []
    for asked in (key(1), key_of_build_id(build_id(1))):
        assert add_file(store, path, key=asked).entry.identity == identity(1)


@pytest.mark.parametrize(
    ("data", "error", "text"),
    [
        (b"", FormatError, "the file is empty"),
        (b"hello", FormatError, "neither a binary"),
        (b"!<arch>\n", UnsupportedError, "static archive"),
        (b"MDMP" + bytes(60), UnsupportedError, "minidump"),
        (b"\x7fELF" + bytes(60), GsymError, ""),
        (b"FUNC 1000 10 0 f\n", UnsupportedError, "no debug id"),
        (
            b"MODULE Linux x86_64 xyz a\nFUNC 1000 10 0 f\n",
            FormatError,
            "not a debug id",
        ),
        (
            b"MODULE Linux x86_64 " + b"0" * 33 + b" a\nFUNC 1000 10 0 f\n",
            FormatError,
            "zeros",
        ),
        (b"MODULE Linux x86_64 " + b"1" * 33 + b" a\n", EmptyError, "no FUNC"),
        (
            b"MODULE Linux x86 %b %b\nFUNC 1 1 0 f\n" % (b"1" * 33, b"x" * 300),
            FormatError,
            "invalid module name",
        ),
    ],
)
def test_other_files_are_refused_with_their_names(
    store: Store, tmp_path: Path, data: bytes, error: type[GsymError], text: str
) -> None:
    path = tmp_path / "input"
    path.write_bytes(data)
    with pytest.raises(error, match=f"{path}.*{text}"):
        add_file(store, path)
    assert list(store.entries()) == []
    left = Path(store.path, ".tmp")
    assert not left.exists() or list(left.iterdir()) == []


def test_a_build_id_of_another_module_is_not_believed(
    store: Store, tmp_path: Path
) -> None:
    add_file(store, write_sym(tmp_path / "victim.sym", 1))
    claimed = identity(1).code_id
    thief = tmp_path / "thief.sym"
    thief.write_text(
        f"MODULE Linux x86_64 {identity(2).debug_id} thief\n"
        f"INFO CODE_ID {claimed}\nFUNC 1000 10 0 wrong\n"
    )
    added = add_file(store, thief)
    assert added.entry.identity.code_id == ""
    found = store.get(key_of_build_id(build_id(1)))
    assert found is not None
    assert found.identity.debug_id == identity(1).debug_id
    with pytest.raises(UuidMismatchError, match="its debug id is"):
        add_file(store, thief, key=key_of_build_id(build_id(1)))


@pytest.mark.parametrize("name", ["\u0130" * 127, "\x01" * 255])
def test_module_with_a_name_too_long_for_a_link_is_stored(
    store: Store, tmp_path: Path, name: str
) -> None:
    file = tmp_path / "a.sym"
    file.write_text(
        f"MODULE windows x86_64 {identity(1).debug_id} a.pdb\n"
        f"INFO CODE_ID 5E8F310E69D0000 {name}\nFUNC 1000 10 0 f\n",
        encoding="utf-8",
    )
    assert add_file(store, file).entry.identity.code_file == name
    assert store.get(key(1)) is not None


def test_an_original_may_be_on_another_file_system(
    store: Store, tmp_path: Path
) -> None:
    with tempfile.TemporaryDirectory(dir=_other_file_system(tmp_path)) as folder:
        file = Path(write_sym(Path(folder) / "a.sym", 1))
        kept = add_file(store, file, keep_original=True).entry.originals["sym"]
        assert Path(kept).read_bytes() == file.read_bytes()


def _other_file_system(path: Path) -> Path:
    other = Path("/dev/shm")  # noqa: S108 - a folder of its own is made there
    if not other.is_dir() or other.stat().st_dev == path.stat().st_dev:
        pytest.skip("there is no second file system to write to")
    return other


def test_names_with_folders_lose_them(store: Store, tmp_path: Path) -> None:
    name = "..\\..\\windows\\a.pdb"
    entry = add_file(store, write_sym(tmp_path / "a.sym", 1, name)).entry
    assert entry.identity.debug_file == "a.pdb"


def test_long_identifier_is_stored_whole(
    store: Store, tmp_path: Path, compiler: str
) -> None:
    source = tmp_path / "a.c"
    source.write_text("int main(void) { return 0; }\n")
    whole = bytes(range(1, 33))
    option = f"-Wl,--build-id=0x{whole.hex()}"
    binary = tmp_path / "a"
    subprocess.run([compiler, "-g", option, source, "-o", binary], check=True)
    entry = add_file(store, binary).entry
    assert entry.uuid == whole
    assert entry.identity.code_id == whole.hex().upper()
    assert store.get(key_of_build_id(whole)) == entry
    with gsym.open(entry.path) as reader:
        assert reader.uuid == whole
