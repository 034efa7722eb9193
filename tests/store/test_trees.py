"""Folders and archives go into a store: all modules in them, and nothing beside it."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import os
import random
import re
import stat
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from gsym.cli.main import main
from gsym.containers.cabinet_library import libarchive
from gsym.containers.compression import INFLATERS
from gsym.containers.inflation import believable_size
from gsym.errors import LimitError
from gsym.store.archives import ArchiveLimits, is_archive_file
from gsym.store.directory import Store
from gsym.store.packages import index_package
from gsym.store.tree_adding import add_tree
from tests.conftest import REPOSITORY
from tests.inputs import packages
from tests.inputs.cabinet import STORED, cabinet
from tests.peak_memory import MEASURES, knows_peak
from tests.sanitizer import no_sanitizer
from tests.store_modules import identity, key, write_gsym, write_sym

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

pytestmark = [pytest.mark.long, pytest.mark.no_engine]

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two modules, the richer file of the second one further below, and a letter."""
    root = tmp_path / "input"
    (root / "deep/er").mkdir(parents=True)
    write_sym(root / "one.sym", 1)
    write_gsym(root / "two.gsym", 2)
    write_sym(root / "deep/er/two.sym", 2)
    (root / "deep/letter.txt").write_text("dear")
    (root / "empty").write_text("")
    return root


def outcomes(store: Store, *paths: Path, **options: object) -> dict[str, str]:
    """What became of each file, by the last part of its name."""
    found = list(add_tree(store, paths, **options))  # type: ignore[arg-type]
    assert len({each.path for each in found}) == len(found)
    return {re.split("/|: ", each.path)[-1]: each.outcome for each in found}


def tar_of(folder: Path) -> bytes:
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w") as archive:
        archive.add(folder, "symbols")
    return file.getvalue()


def zip_of(folder: Path) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(folder.rglob("*")):
            archive.write(path, path.relative_to(folder))
    return file.getvalue()


# ---- folders


@pytest.mark.parametrize("jobs", [1, 4])
def test_all_modules_below_a_folder_are_added(
    store: Store, folder: Path, jobs: int
) -> None:
    found = outcomes(store, folder, jobs=jobs)
    assert found.pop("two.gsym") in {"added", "kept"}
    assert found.pop("two.sym") in {"added", "replaced"}
    assert found == {"one.sym": "added", "letter.txt": "skipped", "empty": "skipped"}
    entries = {entry.identity.debug_file: entry for entry in store.entries()}
    assert set(entries) == {"lib1.so", "lib2.so"}
    assert entries["lib2.so"].quality.level == 1


def test_links_are_read_once_and_never_run_in_circles(
    store: Store, folder: Path
) -> None:
    (folder / "again.sym").symlink_to(folder / "one.sym")
    (folder / "deep/circle").symlink_to(folder)
    (folder / "nowhere").symlink_to(folder / "missing")
    found = outcomes(store, folder)
    assert len([name for name in found if name in {"one.sym", "again.sym"}]) == 1
    assert len(found) == 5


def test_the_store_itself_is_not_searched(tmp_path: Path, folder: Path) -> None:
    store = Store(folder / "store")
    assert len(outcomes(store, folder)) == 5
    assert len(outcomes(store, folder)) == 5
    assert tmp_path


def test_bundle_is_one_file_named_after_its_binary(
    store: Store, fixtures: Path
) -> None:
    found = outcomes(store, fixtures / "symbolic/py/dSYMs")
    assert set(found.values()) == {"added"}
    names = {entry.identity.debug_file for entry in store.entries()}
    assert names == {"CrashProbeiOS", "CrashLibiOS"}


def test_a_folder_named_as_a_bundle_is_searched(store: Store, tmp_path: Path) -> None:
    folder = tmp_path / "input/odd.dSYM"
    folder.mkdir(parents=True)
    write_sym(folder / "one.sym", 1)
    assert outcomes(store, tmp_path / "input") == {"one.sym": "added"}


def test_a_file_without_functions_is_skipped(store: Store, tmp_path: Path) -> None:
    (tmp_path / "a.sym").write_text(f"MODULE Linux x86_64 {identity(1).debug_id} a\n")
    (found,) = add_tree(store, [tmp_path / "a.sym"])
    assert (found.outcome, found.reason) == ("skipped", "it contains no function")


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
def test_a_file_that_cannot_be_read_does_not_stop_the_others(
    store: Store, folder: Path
) -> None:
    found = outcomes(store, Path("/proc/self/mem"), folder)
    assert found["mem"] == "failed"
    assert found["one.sym"] == "added"


def test_damaged_file_is_reported_and_does_not_stop_the_others(
    store: Store, folder: Path
) -> None:
    whole = Path(write_gsym(folder / "a.gsym", 3)).read_bytes()
    (folder / "a.gsym").write_bytes(whole[:60])
    found = outcomes(store, folder)
    assert found["a.gsym"] == "failed"
    assert found["one.sym"] == "added"


def test_progress_ends_at_the_total(store: Store, folder: Path) -> None:
    (folder / "x.zip").write_bytes(zip_of(folder))
    steps: list[tuple[int, int]] = []
    outcomes(store, folder, progress=lambda *step: steps.append(step))
    assert steps == sorted(steps)
    assert steps[-1][0] == steps[-1][1] > 0


# ---- archives


@pytest.mark.parametrize(
    ("name", "pack"),
    [
        ("a.zip", zip_of),
        ("a.tar.gz", lambda path: gzip.compress(tar_of(path))),
        ("a.tar.xz", lambda path: lzma.compress(tar_of(path))),
        ("a.tar.bz2", lambda path: bz2.compress(tar_of(path))),
        ("a.tar.zst", lambda path: zstd.compress(tar_of(path))),
        ("no-suffix", zip_of),
    ],
)
def test_all_modules_in_an_archive_are_added(
    store: Store, folder: Path, tmp_path: Path, name: str, pack: Callable[[Path], bytes]
) -> None:
    path = tmp_path / name
    path.write_bytes(pack(folder))
    assert is_archive_file(str(path))
    found = outcomes(store, path)
    assert set(found) == {"one.sym", "two.gsym", "two.sym", "letter.txt", "empty"}
    assert {entry.identity.debug_file for entry in store.entries()} == {
        "lib1.so",
        "lib2.so",
    }
    entry = store.get(key(1))
    assert entry is not None
    assert entry.source.startswith(f"{path}: ")
    assert list(Path(store.path, ".tmp").iterdir()) == []


@pytest.mark.parametrize("jobs", [1, 4])
def test_cancelled_adding_leaves_no_unpacked_files(
    store: Store, folder: Path, tmp_path: Path, jobs: int
) -> None:
    path = tmp_path / "a.zip"
    path.write_bytes(zip_of(folder))
    added = add_tree(store, [path], jobs=jobs)
    next(added)
    added.close()  # type: ignore[attr-defined]
    assert list(Path(store.path, ".tmp").iterdir()) == []


def test_archives_in_archives_are_opened_as_deep_as_allowed(
    store: Store, tmp_path: Path
) -> None:
    nested = tmp_path / "nested"
    nested.mkdir()
    write_sym(nested / "a.sym", 1)
    for depth in range(1, 4):
        data = zip_of(nested)
        (nested / "inner.zip").write_bytes(data)
        (tmp_path / f"{depth}.zip").write_bytes(data)
        (nested / "a.sym").unlink(missing_ok=True)
    limits = ArchiveLimits(depth=2)
    assert outcomes(store, tmp_path / "2.zip", limits=limits) == {"a.sym": "added"}
    (outcome,) = add_tree(store, [tmp_path / "3.zip"], limits=limits)
    assert (outcome.outcome, outcome.reason) == (
        "skipped",
        "a zip archive: unpack it first",
    )


@pytest.mark.parametrize("skipped", [0, 3 << 20])
def test_frames_of_zstd_that_have_nothing_end_no_archive(
    store: Store, folder: Path, tmp_path: Path, skipped: int
) -> None:
    whole = tar_of(folder)
    frames = [bytes(zstd.compress(part)) for part in (whole[:700], whole[700:])]
    skippable = b"\x50\x2a\x4d\x18" + skipped.to_bytes(4, "little") + bytes(skipped)
    path = tmp_path / "a.tar.zst"
    path.write_bytes(skippable.join(frames))
    found = outcomes(store, path)
    assert found["one.sym"] == "added", found


def test_compressed_members_are_inflated(store: Store, tmp_path: Path) -> None:
    inner = tmp_path / "inner"
    inner.mkdir()
    sym = Path(write_sym(tmp_path / "a.sym", 1))
    (inner / "lib1.so.sym.gz").write_bytes(gzip.compress(sym.read_bytes()))
    path = tmp_path / "a.zip"
    path.write_bytes(zip_of(inner))
    assert list(outcomes(store, path).values()) == ["added"]


@pytest.mark.parametrize(
    "name",
    [
        "../../evil.sym",
        "/etc/evil.sym",
        "a\\..\\b.sym",
        "x" * 5000,
    ],
)
def test_member_names_do_not_lead_out_of_the_store(
    store: Store, tmp_path: Path, name: str
) -> None:
    data = Path(write_sym(tmp_path / "a.sym", 1)).read_bytes()
    for kind in ("zip", "tar"):
        path = tmp_path / f"evil.{kind}"
        if kind == "zip":
            with zipfile.ZipFile(path, "w") as archive:
                archive.writestr(zipfile.ZipInfo(name), data)
        else:
            info = tarfile.TarInfo(name)
            info.size = len(data)
            with tarfile.open(path, "w") as archive:
                archive.addfile(info, io.BytesIO(data))
        list(add_tree(store, [path]))
    known = {"a.sym", "store", "evil.zip", "evil.tar"}
    assert {each.name for each in tmp_path.iterdir()} == known
    assert not Path("/etc/evil.sym").exists()


def test_members_that_are_not_files_are_skipped(store: Store, tmp_path: Path) -> None:
    tar = tmp_path / "a.tar"
    with tarfile.open(tar, "w") as archive:
        for kind in (tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE):
            info = tarfile.TarInfo("link.sym")
            info.type, info.linkname = kind, "/etc/passwd"
            archive.addfile(info)
    packed = tmp_path / "a.zip"
    info_zip = zipfile.ZipInfo("link.sym")
    info_zip.external_attr = (stat.S_IFLNK | 0o777) << 16
    with zipfile.ZipFile(packed, "w") as archive_zip:
        archive_zip.writestr(info_zip, "/etc/passwd")
    assert outcomes(store, tar, packed) == {}


@pytest.mark.parametrize("kind", ["zip", "tar"])
def test_the_limits_of_an_archive_are_kept(
    store: Store, folder: Path, tmp_path: Path, kind: str
) -> None:
    path = tmp_path / f"a.{kind}"
    path.write_bytes(zip_of(folder) if kind == "zip" else tar_of(folder))
    size = sum(each.stat().st_size for each in folder.rglob("*") if each.is_file())
    exact = ArchiveLimits(members=5, inflated=size)
    assert "failed" not in outcomes(store, path, limits=exact).values()
    for short, text in (
        (exact._replace(members=4), "more than 4 files"),
        (exact._replace(inflated=size - 1), f"more than {size - 1} bytes"),
    ):
        failed = [
            each
            for each in add_tree(store, [path], limits=short)
            if each.outcome == "failed"
        ]
        assert [text in each.reason for each in failed] == [True]


def test_a_bomb_in_an_archive_fills_no_disk(store: Store, tmp_path: Path) -> None:
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.sym", bytes(200 << 20))
        most = believable_size(archive.getinfo("a.sym").compress_size, 1 << 40)
    (outcome,) = add_tree(store, [path])
    assert outcome.outcome == "failed"
    assert f"more than {most} bytes" in outcome.reason


@pytest.mark.parametrize("is_sparse", [False, True])
def test_a_tar_of_zeros_or_holes_fills_no_disk(
    store: Store, tmp_path: Path, *, is_sparse: bool
) -> None:
    info = tarfile.TarInfo("a.sym")
    info.size = 64 << 20
    data = bytes(64 << 20)
    if is_sparse:
        info.pax_headers = {"GNU.sparse.size": str(1 << 40), "GNU.sparse.map": "0,0"}
        info.size, data = 0, b""
    path = tmp_path / "a.tar.gz"
    header = info.tobuf(tarfile.PAX_FORMAT)
    path.write_bytes(gzip.compress(header + data + bytes(1024)))
    limits = ArchiveLimits(inflated=1 << 41)
    found = list(add_tree(store, [path], limits=limits))
    assert {each.outcome for each in found} == {"failed"}
    most = believable_size(path.stat().st_size, 1 << 40)
    assert f"more than {most} bytes" in found[0].reason


@pytest.mark.parametrize("excess", [0, 512])
def test_the_header_of_a_tar_member_has_a_limit(
    store: Store, tmp_path: Path, excess: int
) -> None:
    data = Path(write_sym(tmp_path / "a.sym", 1)).read_bytes()
    info = tarfile.TarInfo("a.sym")
    info.size = len(data)
    fields = len("16775626 comment=\n")
    blocks = 2 * 512  # of the header itself, and that of the extended one
    size = (16 << 20) + excess - blocks - fields
    info.pax_headers = {"comment": "x" * size}
    header = info.tobuf(tarfile.PAX_FORMAT)
    assert len(header) == (16 << 20) + excess
    path = tmp_path / "a.tar"
    path.write_bytes(header + data + bytes(-len(data) % 512 + 1024))
    (outcome,) = add_tree(store, [path])
    assert (outcome.outcome == "failed") == bool(excess)
    assert ("a header of more than 16777216 bytes" in outcome.reason) == bool(excess)


ZEROS = {"a": bytes(32 << 20)}
BOMBS: dict[str, tuple[str, Callable[[], bytes]]] = {
    "a.deb": ("gzip file", lambda: packages.deb(ZEROS, ".gz")),
    "b.deb": ("zstd file", lambda: packages.deb(ZEROS, ".zst")),
    "a.rpm": ("zstd file", lambda: packages.rpm(ZEROS)),
    "a.tar.gz": ("gzip file", lambda: gzip.compress(tar_with(ZEROS["a"]), 1)),
    "a.tar.zst": ("zstd file", lambda: bytes(zstd.compress(tar_with(ZEROS["a"])))),
    "a.tar.bz2": ("bzip2 file", lambda: bz2.compress(tar_with(ZEROS["a"]))),
    "a.sym.gz": ("gzip file", lambda: gzip.compress(ZEROS["a"], 1)),
    "a.pd_": ("cabinet", lambda: cabinet("a.pdb", ZEROS["a"])),
}


def tar_with(data: bytes) -> bytes:
    info = tarfile.TarInfo("a")
    info.size = len(data)
    return info.tobuf() + data + bytes(-len(data) % 512 + 1024)


def zip_with(data: bytes) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=0) as archive:
        archive.writestr("a", data)
    return file.getvalue()


@pytest.mark.parametrize("name", BOMBS)
def test_a_bomb_is_inflated_no_further_than_is_believable(
    store: Store, tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether its file is wanted, or lies before those that are."""
    kind, make = BOMBS[name]
    inflate, inflated = INFLATERS[kind], []

    def counting(pieces: Iterable[bytes]) -> Iterator[bytes]:
        for piece in inflate(pieces):
            inflated.append(len(piece))
            yield piece

    monkeypatch.setitem(INFLATERS, kind, counting)
    path = tmp_path / name
    path.write_bytes(make())
    most = believable_size(path.stat().st_size, 1 << 40) + (2 << 20)  # pieces of 1 MiB
    assert {each.outcome for each in add_tree(store, [path])} == {"failed"}
    assert (16 << 20) <= sum(inflated) <= most
    if name.endswith(("deb", "rpm")):
        inflated.clear()
        with pytest.raises(LimitError, match="inflates to more than"):
            index_package(str(path), str(tmp_path))
        assert sum(inflated) <= most


def test_a_header_of_any_size_takes_no_memory(store: Store, tmp_path: Path) -> None:
    info = tarfile.TarInfo("x")
    info.type, info.size = tarfile.XHDTYPE, 1 << 40
    path = tmp_path / "a.tar.gz"
    path.write_bytes(gzip.compress(info.tobuf(tarfile.GNU_FORMAT) + bytes(64 << 20)))
    (outcome,) = add_tree(store, [path])
    assert outcome.outcome == "failed"
    assert "archive is damaged: a header of more than" in outcome.reason


# Prints the peak of memory while the files of each archive are unpacked.
UNPACK = f"""
import os, sys
from gsym.containers.cabinet_library import libarchive
from gsym.store.archives import ArchiveLimits, inflate_file, is_archive_file, members
{MEASURES}
folder, *paths = sys.argv[1:]
for path in paths:
    before = begin()
    if is_archive_file(path):
        for member in members(path, ArchiveLimits()):
            os.unlink(member.extract(folder))
    else:
        os.unlink(inflate_file(path, folder))
        os.rmdir(folder + "/inflated")
    print(peak() - before)
"""


@pytest.mark.slow
@no_sanitizer
@knows_peak
def test_unpacking_takes_24_mebibytes_at_most(tmp_path: Path) -> None:
    data = random.Random(1).randbytes(1 << 19) * 64  # noqa: S311 - no secret
    tar = tar_with(data)
    packed = {
        "a.tar": tar,
        "a.tar.gz": gzip.compress(tar, 0),
        "a.tar.xz": lzma.compress(tar, preset=1),
        "a.tar.zst": bytes(zstd.compress(tar)),
        "a.zip": zip_with(data),
        "a.deb": packages.deb({"a": data}, ".zst"),
        "a.rpm": packages.rpm({"a": data}),
        "a.sym.gz": gzip.compress(data, 0),
    }
    if libarchive is not None:
        packed["a.pd_"] = cabinet("a.pdb", data, STORED)
    for name, data in packed.items():
        (tmp_path / name).write_bytes(data)
    (tmp_path / "unpacked").mkdir()
    done = subprocess.run(
        [*(sys.executable, "-c", UNPACK, "unpacked"), *packed],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(REPOSITORY)},
        capture_output=True,
        text=True,
        check=True,
    )
    peaks = dict(zip(packed, map(int, done.stdout.split()), strict=True))
    assert max(peaks.values()) < 24 << 20, peaks


@pytest.mark.parametrize("kind", ["zip", "tar.gz"])
def test_damaged_archive_is_reported(
    store: Store, folder: Path, tmp_path: Path, kind: str
) -> None:
    path = tmp_path / f"a.{kind}"
    whole = zip_of(folder) if kind == "zip" else gzip.compress(tar_of(folder))
    for size in (len(whole) - 10, len(whole) // 2, 600):
        path.write_bytes(whole[:size])
        found = list(add_tree(store, [path]))
        assert "failed" in {each.outcome for each in found} or size == 600


@pytest.mark.parametrize("compression", ["", ".gz"])
@pytest.mark.parametrize("write", [packages.deb, packages.rpm])
def test_a_package_that_is_cut_gives_its_first_files(
    store: Store,
    folder: Path,
    tmp_path: Path,
    write: Callable[[dict[str, bytes], str], bytes],
    compression: str,
) -> None:
    path = tmp_path / "package"
    filling = random.Random(1).randbytes(1 << 20)  # noqa: S311 - no secret
    files = {"one.sym": (folder / "one.sym").read_bytes(), "filling": filling}
    path.write_bytes(write(files, compression)[: -1 << 19])
    found = [each.outcome for each in add_tree(store, [path])]
    assert (found[0], {*found[1:]}) == ("added", {"failed"})


# ---- the command


def test_command_adds_and_counts_modules(
    store: Store, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["store", "add", "--store", store.path, "--threads", "1", str(folder)]
    assert main(arguments) == 0
    lines = capsys.readouterr().out.splitlines()
    assert f"added    lib1.so {identity(1).debug_id}: 1 functions, " in lines[0]
    assert lines[-2:] == ["2 added, 1 replaced, 0 kept", "2 skipped: not a debug file"]


def test_missing_argument_file_is_a_failure(
    store: Store, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = str(folder / "deep/letter.txt")
    assert main(["store", "add", "--store", store.path, path]) == 1
    assert capsys.readouterr().err == f"gsym store add: {path}: not a debug file\n"


def test_the_command_prints_json_and_keeps_originals(
    store: Store, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = str(folder / "one.sym")
    options = ["--keep-original", "--json", "--origin", "CI run 5"]
    assert main(["store", "add", "--store", store.path, path, *options]) == 0
    record = json.loads(capsys.readouterr().out)
    assert record["outcome"] == "added"
    assert record["input"] == path
    assert record["source"] == "CI run 5"
    assert Path(record["originals"]["sym"]).read_bytes() == Path(path).read_bytes()


def test_options_complete_the_identity_of_a_gsym_file(
    store: Store, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["store", "add", "--store", store.path, str(folder / "two.gsym")]
    options = ["--name", "libx.so", "--os", "Android", "--arch", "arm64"]
    assert main([*arguments, *options]) == 0
    (entry,) = store.entries()
    known = entry.identity
    assert (known.os, known.architecture) == ("Android", "arm64")
    assert known.debug_file == "libx.so"
    assert main([*arguments, "--debug-id", "x"]) == 2
    assert "'x' is not a debug id" in capsys.readouterr().err
