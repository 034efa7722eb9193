"""Packages in a folder that is a source: their binaries are found by build id."""

from __future__ import annotations

import random
import shutil
import subprocess
from errno import ENOSPC
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from gsym.cache import FileStamp
from gsym.conversion.identity import identify
from gsym.errors import FormatError, GsymError
from gsym.modules.key import ModuleKey
from gsym.server.modules import confined_binaries, make_symbolizer
from gsym.store.directory import Store
from gsym.store.loose_files import LooseFiles
from gsym.store.packages import Packages, index_package
from gsym.store.tree_adding import add_tree
from tests.inputs import elf, packages
from tests.server.modules import SOURCE, run
from tests.server.running import RunningServer, made_settings
from tests.store_modules import build_id

if TYPE_CHECKING:
    from collections.abc import Callable

    from gsym.modules.symbolizer import Symbolizer
    from gsym.store.packages import PackageMember

pytestmark = [pytest.mark.long, pytest.mark.no_engine, pytest.mark.confined]


def binary(number: int, size: int = 0x20) -> bytes:
    """A binary with a symbol and a build id."""
    text = elf.Section(".text", bytes(size), flags=elf.CODE, address=0x1000)
    return elf.Elf(
        sections=(text,),
        segments=(elf.Segment(0),),
        symbols=(elf.Symbol(f"f{number}", 0x1000, 0x20),),
        build_id=build_id(number),
    ).to_bytes()


def key(number: int) -> ModuleKey:
    return ModuleKey(code_id=build_id(number).hex().upper())


def settings_of(folder: Path, **values: Any) -> dict[str, Any]:
    (folder / "packages").mkdir(exist_ok=True)
    return {
        "store": str(folder / "store"),
        "sources": [str(folder / "packages")],
        **values,
    }


def opened(folder: Path, **values: Any) -> Symbolizer:
    return make_symbolizer(made_settings(**settings_of(folder, **values)))


def wait_for(symbolizer: Symbolizer) -> None:
    """Wait until all packages have been read."""
    for source in symbolizer.resolver.sources:
        if isinstance(source, LooseFiles):
            source._due = float("-inf")  # noqa: SLF001
            source.entries()
            assert source.packages is not None
            source.packages.wait()


def names_of(symbolizer: Symbolizer, asked: ModuleKey) -> list[str]:
    reader = symbolizer.open(asked).reader
    return [] if reader is None else [each.name for each in reader.functions()]


@pytest.mark.parametrize("compression", packages.PACKERS)
@pytest.mark.parametrize("write", [packages.deb, packages.rpm])
def test_packages_of_all_compressions_are_read(
    write: Callable[[dict[str, bytes], str], bytes], compression: str, tmp_path: Path
) -> None:
    package, folder = tmp_path / "package", tmp_path / "folder"
    files = {"usr/share/doc/app": b"text", "usr/bin/app": binary(1)}
    package.write_bytes(write(files, compression))
    folder.mkdir()
    (found,) = index_package(str(package), str(folder))
    assert (found.name, found.build_id) == ("/usr/bin/app", build_id(1).hex())
    assert found.kinds == ("debuginfo", "executable")
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("write", [packages.deb, packages.rpm])
def test_a_binary_in_a_package_is_symbolized_and_served(
    write: Callable[[dict[str, bytes]], bytes], tmp_path: Path
) -> None:
    settings = settings_of(tmp_path)
    package = write({"usr/bin/app": binary(1)})
    (tmp_path / "packages" / "any name").write_bytes(package)
    symbolizer = opened(tmp_path)
    wait_for(symbolizer)
    with RunningServer(symbolizer, **settings) as server:
        digits = build_id(1).hex()
        for kind in ("executable", "debuginfo"):
            found = server.ask("GET", f"/buildid/{digits}/{kind}")
            assert (found.status, found.body) == (200, binary(1))
            assert found.headers["x-debuginfod-file"] == "app"
        section = server.ask("GET", f"/buildid/{digits}/section/.text")
        assert section.body == bytes(0x20)
        query = "/metadata?key=glob&value=/usr/bin/*"
        (first, _) = server.ask("GET", query).json["results"]
        assert first["file"] == "/usr/bin/app"
        assert server.ask("GET", f"/buildid/{'ab' * 20}/executable").status == 404
        (listed,) = server.ask("GET", "/page/modules?query=").json["modules"]
        assert (listed["debug_file"], listed["level"]) == ("app", "not converted yet")
        answer = server.post(b"app+0x1004", "/symbolicate/report").json
        (thread,) = answer["threads"]
        assert thread["frames"][0]["calls"][0]["function"] == "f1"
    assert names_of(symbolizer, key(1)) == ["f1"]
    entry = symbolizer.open(key(1)).entry
    assert entry is not None
    assert entry.source == f"{tmp_path / 'packages' / 'any name'}: usr/bin/app"
    assert entry.identity.debug_file == "app"
    symbolizer.close()


@pytest.mark.parametrize("suffix", [".gz", ".xz", ".zst"])
def test_compressed_kernel_modules_are_inflated_and_other_files_are_not(
    suffix: str, tmp_path: Path
) -> None:
    pack = packages.PACKERS[suffix]
    names = {f"m.ko{suffix}": pack(binary(1)), f"m{suffix}": pack(binary(2))}
    (tmp_path / "a.deb").write_bytes(packages.deb(names))
    reader = confined_binaries(made_settings(store=str(tmp_path / "store")))
    (found,) = reader.index(str(tmp_path / "a.deb"))
    assert found.name == f"/m.ko{suffix}"
    reader.extract(found.package, found.number, str(tmp_path / "m.ko"))
    assert (tmp_path / "m.ko").read_bytes() == binary(1)


@pytest.mark.parametrize("suffix", [".gz", ".xz", ".zst"])
@pytest.mark.parametrize("write", [packages.deb, packages.rpm])
def test_a_damaged_kernel_module_hides_no_other_binary(
    write: Callable[[dict[str, bytes]], bytes], suffix: str, tmp_path: Path
) -> None:
    pack = packages.PACKERS[suffix]
    whole = pack(binary(2, 3 << 20))  # begins to be written
    files = {"a.ko": binary(1), f"b.ko{suffix}": whole[:-6], f"c.ko{suffix}": whole}
    package, folder = tmp_path / "package", tmp_path / "folder"
    package.write_bytes(write({**files, "d": binary(3)}))
    folder.mkdir()
    found = index_package(str(package), str(folder))
    assert [each.name for each in found] == ["/a.ko", f"/c.ko{suffix}", "/d"]
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("write", [packages.deb, packages.rpm])
@pytest.mark.parametrize("compression", packages.PACKERS)
def test_a_package_that_ends_in_a_kernel_module_is_damaged(
    write: Callable[[dict[str, bytes], str], bytes], compression: str, tmp_path: Path
) -> None:
    noise = random.Random(1).randbytes(1 << 16)  # noqa: S311 - no secret
    files = {"a": binary(1), "b.ko.xz": packages.PACKERS[".xz"](binary(2) + noise)}
    data = write(files, compression)
    (tmp_path / "package").write_bytes(data[: len(data) // 2])
    with pytest.raises(FormatError):
        index_package(str(tmp_path / "package"), str(tmp_path))


def test_metadata_lists_names_that_are_no_text(tmp_path: Path) -> None:
    settings = settings_of(tmp_path)
    (tmp_path / "packages" / "caf\udce9").write_bytes(binary(1))
    package = packages.rpm({"usr/bin/caf\udce9": binary(2)})
    (tmp_path / "packages" / "a.rpm").write_bytes(package)
    symbolizer = opened(tmp_path)
    wait_for(symbolizer)
    with RunningServer(symbolizer, **settings) as server:
        found = server.ask("GET", "/metadata?key=glob&value=*caf*").json["results"]
        assert {each["file"] for each in found} == {"/caf?", "/usr/bin/caf?"}
    symbolizer.close()


class Packed(NamedTuple):
    """A stripped program, its debug file and a supplementary file, to be packed."""

    files: dict[str, bytes]
    debug_files: dict[str, bytes]
    build_id: str
    address: int


@pytest.fixture(scope="module")
def packed(tmp_path_factory: pytest.TempPathFactory) -> Packed:
    folder = tmp_path_factory.mktemp("built")
    source, program, debug = folder / "app.c", folder / "app", folder / "app.debug"
    source.write_text(SOURCE)
    run("gcc", "-g", "-O1", "-Wl,--build-id", "-o", program, source)
    symbols = [line.split() for line in run("nm", program).splitlines()]
    (address,) = (int(words[0], 16) for words in symbols if words[-1] == "twice")
    run("objcopy", "--only-keep-debug", program, debug)
    run("objcopy", "--strip-all", program)
    shutil.copy(debug, folder / "other.debug")
    common = folder / "common"
    name = "../../.dwz/common"
    run("dwz", "-m", common, "-M", name, debug, folder / "other.debug")
    digits = identify(program).code_id.lower()
    place = f"usr/lib/debug/.build-id/{digits[:2]}/{digits[2:]}.debug"
    debug_files = {
        place: debug.read_bytes(),
        "usr/lib/debug/.dwz/common": common.read_bytes(),
        "usr/share/doc/app/copyright": b"free",
    }
    return Packed({"usr/bin/app": program.read_bytes()}, debug_files, digits, address)


def tree(folder: Path, files: dict[str, bytes]) -> Path:
    for name, data in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)
    return folder


def dpkg(folder: Path, name: str, files: dict[str, bytes]) -> None:
    root = tree(folder / f"{name}.tree", files)
    (root / "DEBIAN").mkdir()
    (root / "DEBIAN" / "control").write_text(
        f"Package: {name}\nVersion: 1\nArchitecture: amd64\n"
        "Maintainer: A <a@example.org>\nDescription: x\n"
    )
    target = folder / "packages" / f"{name}.deb"
    run("dpkg-deb", "-Zzstd", "--root-owner-group", "--build", root, target)


def rpmbuild(folder: Path, name: str, files: dict[str, bytes]) -> None:
    root = tree(folder / f"{name}.tree", files)
    spec = folder / f"{name}.spec"
    spec.write_text(
        f"Name: {name}\nVersion: 1\nRelease: 1\nSummary: x\nLicense: MIT\n"
        "AutoReqProv: no\n%description\nx\n%install\n"
        f"cp -a {root}/. %{{buildroot}}\n%files\n/usr\n"
    )
    macros = {
        "_topdir": folder / "top",
        "_rpmdir": folder / "packages",
        "__os_install_post": "%{nil}",
        "debug_package": "%{nil}",
        "_build_id_links": "none",
        "_binary_payload": "w3.xzdio",
    }
    defined = [f"--define={name} {value}" for name, value in macros.items()]
    run("rpmbuild", "-bb", "--target=x86_64", *defined, spec)


@pytest.mark.parametrize("build", [dpkg, rpmbuild])
def test_packages_of_a_distribution_give_inlined_calls_and_lines(
    build: Callable[[Path, str, dict[str, bytes]], None], packed: Packed, tmp_path: Path
) -> None:
    settings = settings_of(tmp_path)
    build(tmp_path, "app", packed.files)
    symbolizer = opened(tmp_path)
    wait_for(symbolizer)
    asked = ModuleKey(code_id=packed.build_id.upper())
    with RunningServer(symbolizer, **settings) as server:
        url = f"/buildid/{packed.build_id}"
        found = server.ask("GET", f"{url}/executable")
        assert [found.body] == list(packed.files.values())
        assert server.ask("GET", f"{url}/debuginfo").status == 404
        # A poorer module is replaced when the package with its debug file appears.
        symbolizer.open(asked)
        build(tmp_path, "app-debug", packed.debug_files)
        wait_for(symbolizer)
        symbolizer._recheck = -1.0  # noqa: SLF001
        lookup = symbolizer.symbolize(asked, va=packed.address).lookup
        assert lookup is not None
        calls = [(each.name, each.line) for each in lookup.frames]
        assert calls == [("square", 1), ("twice", 2)]
        entry = symbolizer.open(asked).entry
        assert entry is not None
        assert entry.missing == ()
        assert entry.identity.debug_file == "app"
        debug = next(iter(packed.debug_files.values()))
        assert server.ask("GET", f"{url}/debuginfo").body == debug
        curl = shutil.which("curl")
        if curl is not None:  # as SystemTap and others fetch files
            command = [curl, "-fsS", f"{server.url}{url}/executable"]
            done = subprocess.run(command, capture_output=True, check=True)
            assert [done.stdout] == list(packed.files.values())
    symbolizer.close()


def contents(path: str) -> bytes:
    return Path(path).read_bytes()


def test_a_binary_in_a_package_is_unpacked_for_its_code(
    packed: Packed, tmp_path: Path
) -> None:
    """For stacks of dumps, and for the code that a server disassembles."""
    settings_of(tmp_path)
    package = tmp_path / "packages" / "app.deb"
    package.write_bytes(packages.deb(packed.files))
    asked = ModuleKey(code_id=packed.build_id.upper())
    symbolizer = opened(tmp_path)
    wait_for(symbolizer)
    (binary_file,) = packed.files.values()
    unpacked = symbolizer.resolver.binaries(asked, fetches=False, keeps=False)
    assert [contents(each.path) for each in unpacked] == [binary_file]
    # Without functions, the store has nothing to keep it with.
    unpacked = symbolizer.binaries(asked)
    assert [contents(each.path) for each in unpacked] == [binary_file]
    package.write_bytes(packages.deb({**packed.files, **packed.debug_files}))
    wait_for(symbolizer)
    kept = [each.path for each in symbolizer.binaries(asked)]
    assert {contents(each) for each in kept} >= {binary_file}
    package.unlink()
    wait_for(symbolizer)
    assert {*kept} == {each.path for each in symbolizer.binaries(asked)}
    symbolizer.close()


def test_a_package_is_read_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings_of(tmp_path)
    package = tmp_path / "packages" / "a.deb"
    package.write_bytes(packages.deb({"a": binary(1)}))
    first = opened(tmp_path)
    wait_for(first)
    first.close()
    read: list[str] = []

    def index(_reader: object, path: str) -> list[PackageMember]:
        read.append(path)
        return []

    monkeypatch.setattr("gsym.confined.binaries.ConfinedBinaries.index", index)
    again = opened(tmp_path)
    wait_for(again)
    assert read == []
    (folder,) = again.resolver.loose_folders
    assert folder.packages is not None
    assert [each.name for each in folder.packages.find_all(key(1))] == ["/a"]
    package.write_bytes(packages.deb({"a": binary(1), "b": binary(2)}))
    wait_for(again)
    assert read == [str(package)]
    package.unlink()
    wait_for(again)
    assert folder.packages.find_all(key(1)) == []
    assert [*tmp_path.glob("store/.packages/*/*")] == []
    again.close()


class Reading:
    """A `PackageReader` that runs something in place of reading, and notes paths."""

    def __init__(self, work: Callable[[str], object] = lambda _path: None) -> None:
        self.work = work
        self.paths: list[str] = []

    def index(self, path: str) -> list[PackageMember]:
        self.paths.append(path)
        self.work(path)
        return []

    def extract(self, path: str, number: int, target: str) -> None:
        raise NotImplementedError


def test_a_record_of_an_earlier_version_is_not_used(tmp_path: Path) -> None:
    stamp = FileStamp(1, 2)
    earlier = tmp_path / sha256(repr(("a", (1, 2))).encode()).hexdigest()
    earlier.write_text("[]")
    reader = Reading()
    for _ in range(2):
        known = Packages(reader, str(tmp_path))
        known.update({"a": stamp})
        known.wait()
    assert reader.paths == ["a"]
    assert not earlier.exists()
    assert len(list(tmp_path.iterdir())) == 1


@pytest.mark.parametrize(
    ("error", "pause", "reads"),
    [
        (OSError(ENOSPC, "full"), 0.0, 2),
        (OSError(ENOSPC, "full"), 60.0, 1),
        (FormatError("damaged"), 0.0, 1),
    ],
)
def test_a_package_is_read_again_after_a_failure_that_may_pass(
    error: Exception,
    pause: float,
    reads: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    settings_of(tmp_path)
    (tmp_path / "packages" / "a.deb").write_bytes(packages.deb({"a": binary(1)}))
    read: list[str] = []

    def index(_reader: object, path: str) -> list[PackageMember]:
        read.append(path)
        if len(read) == 1:
            raise error
        return []

    monkeypatch.setattr("gsym.store.packages._RETRY_SECONDS", pause)
    monkeypatch.setattr("gsym.confined.binaries.ConfinedBinaries.index", index)
    symbolizer = opened(tmp_path)
    wait_for(symbolizer)
    wait_for(symbolizer)
    assert len(read) == reads
    symbolizer.close()


def test_packages_that_fail_for_long_are_read_once_for_each_update(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However long a round takes, it ends, and the next one is that of an update."""

    def fail(_path: str) -> None:
        if len(reader.paths) < 10:
            raise OSError(ENOSPC, "full")

    monkeypatch.setattr("gsym.store.packages._RETRY_SECONDS", -1.0)
    reader = Reading(fail)
    known = Packages(reader, str(tmp_path))
    for rounds in (1, 2):
        known.update({"a": FileStamp(1, 1), "b": FileStamp(1, 1)})
        known.wait()
        assert reader.paths == ["a", "b"] * rounds
        assert known.find_all(key(1)) == []


@pytest.mark.parametrize(
    ("later", "paths"),
    [
        ({"a": FileStamp(1, 1)}, ["a"]),
        ({"a": FileStamp(1, 1), "b": FileStamp(2, 2)}, ["a", "b"]),
        ({"a": FileStamp(2, 2), "b": FileStamp(1, 1)}, ["a", "b", "a"]),
    ],
    ids=["removed", "replaced", "replaced while it is read"],
)
def test_packages_that_change_during_a_round_are_read_as_they_are(
    later: dict[str, FileStamp], paths: list[str], tmp_path: Path
) -> None:
    reader = Reading(lambda _path: known.update(later))
    known = Packages(reader, str(tmp_path))
    known.update({"a": FileStamp(1, 1), "b": FileStamp(1, 1)})
    known.wait()
    assert reader.paths == paths
    assert len(list(tmp_path.iterdir())) == len(later)


@pytest.mark.parametrize(
    ("errors", "warnings"),
    [
        ([OSError(ENOSPC, "full"), OSError(ENOSPC, "full")], ["full"]),
        ([OSError(ENOSPC, "full"), FormatError("damaged")], ["full", "damaged"]),
    ],
)
def test_a_failure_that_lasts_is_logged_once_and_another_one_too(
    errors: list[Exception],
    warnings: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    left = iter(errors)

    def fail(_path: str) -> None:
        raise next(left)

    monkeypatch.setattr("gsym.store.packages._RETRY_SECONDS", -1.0)
    known = Packages(Reading(fail), str(tmp_path))
    for _ in errors:
        known.update({"a": FileStamp(1, 1)})
        known.wait()
    expected = [f"the package a is not searched: {reason}" for reason in warnings]
    assert caplog.messages == expected


# ---- hostile packages

VERSION = packages.ar_member("debian-binary", b"2.0\n")
GOOD = packages.deb({"a": binary(1)}, "")
GOOD_RPM = packages.rpm({"a": binary(1)}, "")
HOSTILE: dict[str, Callable[[], bytes]] = {
    "truncated": lambda: GOOD[:900],
    "no data": lambda: GOOD[:100],
    "negative size": lambda: GOOD.replace(b"4         `", b"-4        `", 1),
    "no archive": lambda: GOOD[:8] + VERSION * 200,
    "odd compression": lambda: GOOD[:200] + b"\xfd7zXZ\0" + GOOD[206:],
    "truncated rpm": lambda: GOOD_RPM[:-600],
    "huge header": lambda: GOOD_RPM[:104] + b"\xff" * 8 + GOOD_RPM[112:],
    "no cpio": lambda: GOOD_RPM.replace(b"070701", b"07070X"),
    "signs in numbers": lambda: GOOD_RPM.replace(b"00000001", b"-0000001"),
    "module bomb": lambda: packages.deb(
        {"a.ko.xz": packages.PACKERS[".xz"](binary(1, 64 << 20))}
    ),
    "bomb": lambda: packages.deb({"a": binary(1, 64 << 20)}),
    "rpm bomb": lambda: packages.rpm({"a": binary(1, 64 << 20)}),
}


@pytest.mark.parametrize("made", HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_package_is_refused_and_leaves_nothing(
    made: Callable[[], bytes], tmp_path: Path
) -> None:
    package = tmp_path / "x.deb"
    package.write_bytes(made())
    settings = made_settings(store=str(tmp_path / "store"), max_fetch=1 << 20)
    with pytest.raises(GsymError):
        confined_binaries(settings).index(str(package))
    assert [path for path in tmp_path.rglob("*") if path.stat().st_size > 4096] in (
        [],
        [package],
    )


@pytest.mark.parametrize("write", [packages.deb, packages.rpm])
def test_names_in_a_package_lead_nowhere(
    write: Callable[[dict[str, bytes]], bytes], tmp_path: Path
) -> None:
    names = ["../../../evil", f"{tmp_path}/evil", "..", "a\nb", "x" * 5000]
    package = tmp_path / "x"
    package.write_bytes(
        write({name: binary(number) for number, name in enumerate(names, 1)})
    )
    reader = confined_binaries(made_settings(store=str(tmp_path / "store")))
    found = reader.index(str(package))
    assert len(found) == len(names)
    for number in range(len(names)):
        target = tmp_path / f"unpacked{number}"
        reader.extract(str(package), number, str(target))
        assert target.read_bytes() == binary(number + 1)
    assert not list(tmp_path.rglob("evil*"))
    assert not (tmp_path.parent / "evil").exists()


def test_a_store_adds_what_is_in_packages(tmp_path: Path) -> None:
    store = Store(tmp_path / "store")
    for number, write in enumerate((packages.deb, packages.rpm)):
        (tmp_path / f"{number}").write_bytes(write({"usr/bin/app": binary(number)}))
    paths = [tmp_path / "0", tmp_path / "1"]
    assert sorted(each.outcome for each in add_tree(store, paths)) == ["added"] * 2
