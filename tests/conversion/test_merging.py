"""Several files made one: segments become the whole, duplicates are chosen."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

import gsym
from gsym.cli.main import main
from gsym.writing.selection import write_segments
from tests import oracle, strategies
from tests.conversions import read_functions
from tests.creations import create, decoded
from tests.hostile import FUNCTIONS, small_file
from tests.inputs.elf import CODE, Elf, Section, Symbol
from tests.views import boundaries, to_oracle

pytestmark = pytest.mark.long

LINES = (gsym.LineEntry(0x10, "/a.c", 1),)


def merged(folder: Path, *files: bytes, **options: object) -> bytes:
    paths = []
    for number, data in enumerate(files):
        paths.append(folder / f"{number}.gsym")
        paths[-1].write_bytes(data)
    target = folder / "out.gsym"
    gsym.merge_files(paths, target, **options)  # type: ignore[arg-type]
    return target.read_bytes()


def split(folder: Path, data: bytes, size: int) -> list[bytes]:
    paths, _ = write_segments(data, str(folder / "split"), size)
    return [Path(path).read_bytes() for path in paths]


# ---- segments


@pytest.mark.parametrize("version", strategies.VERSIONS)
@pytest.mark.parametrize("byteorder", strategies.BYTE_ORDERS)
@pytest.mark.parametrize("step", [1, -1])
def test_all_segments_merged_are_the_whole(
    version: int, byteorder: str, step: int, tmp_path: Path
) -> None:
    whole = small_file(version, byteorder)
    segments = split(tmp_path, whole, 260)
    assert len(segments) > 1
    out = merged(tmp_path, *segments[::step])
    assert decoded(out) == FUNCTIONS
    file = oracle.decode_file(out)
    assert (file.version, file.byteorder) == (version, byteorder)
    assert file.extra_sections == ({77: b"unknown"} if version == 2 else {})
    if step == 1:
        assert out == merged(tmp_path, whole)


@given(
    strategies.function_lists(),
    strategies.versions,
    strategies.byte_orders,
    st.integers(1, 400),
)
def test_what_was_split_is_merged_to_the_same_bytes(
    tmp_path_factory: pytest.TempPathFactory,
    functions: list[gsym.FunctionInfo],
    version: int,
    byteorder: str,
    size: int,
) -> None:
    """The creator numbers strings in the order of addresses, and so does a merge."""
    folder = tmp_path_factory.mktemp("merge")
    whole = create(functions, version=version, byteorder=byteorder, uuid=b"id")
    segments = split(folder, whole, 200 + size)
    assert merged(folder, *segments) == whole


def test_segments_of_a_real_file_merge_to_the_same_answers(
    gsym_fixtures: Path, tmp_path: Path
) -> None:
    for path in sorted(gsym_fixtures.glob("*.gsym")):
        data = path.read_bytes()
        out = merged(tmp_path, *split(tmp_path, data, 600))
        functions = decoded(data)
        assert decoded(out) == functions, path.name
        with gsym.Reader(data) as before, gsym.Reader(out) as after:
            for address in boundaries(functions):
                assert after.lookup(address, merged=True) == before.lookup(
                    address, merged=True
                )
        for old in tmp_path.iterdir():
            old.unlink()


# ---- duplicates


def test_the_report_counts_duplicates(tmp_path: Path) -> None:
    other = (gsym.LineEntry(0x10, "/b.c", 2),)
    for number, rows in enumerate([LINES, LINES, other]):
        path = tmp_path / f"{number}"
        path.write_bytes(create([gsym.FunctionInfo(0x10, 0x10, "f", rows)], uuid=b"i"))
    inputs = [tmp_path / f"{number}" for number in range(3)]
    report = gsym.merge_files(inputs, tmp_path / "out")
    assert report.inputs == tuple(map(str, inputs))
    assert report.outputs == (str(tmp_path / "out"),)
    assert (report.functions_read, report.functions_pruned) == (3, 2)
    assert (report.functions, report.functions_with_lines) == (1, 1)
    assert report.duplicates_different == 1
    assert report.uuid == b"i"
    assert report.file_size == (tmp_path / "out").stat().st_size


def test_a_section_without_a_meaning_comes_from_the_first_that_has_it(
    tmp_path: Path,
) -> None:
    file = to_oracle(FUNCTIONS, 2, "little")
    one = oracle.encode_file(replace(file, extra_sections={8: b"one", 9: b"nine"}))
    two = oracle.encode_file(replace(file, extra_sections={8: b"two", 7: b"seven"}))
    found = oracle.decode_file(merged(tmp_path, one, two)).extra_sections
    assert found == {8: b"one", 9: b"nine", 7: b"seven"}


# ---- which files belong together


def with_uuid(uuid: bytes, base_address: int = 0x10, **options: object) -> bytes:
    function = gsym.FunctionInfo(0x100, 4, f"f{uuid.hex()}")
    return create([function], uuid=uuid, base_address=base_address, **options)


@pytest.mark.parametrize(("one", "two"), [(b"a", b"b"), (b"", b"b"), (b"a", b"")])
def test_files_of_different_binaries_are_merged_with_force_only(
    one: bytes, two: bytes, tmp_path: Path
) -> None:
    files = with_uuid(one), with_uuid(two)
    with pytest.raises(gsym.UuidMismatchError, match=r"1\.gsym: the UUID is") as caught:
        merged(tmp_path, *files)
    assert "0.gsym" in caught.value.reason
    assert not (tmp_path / "out.gsym").exists()
    out = oracle.decode_file(merged(tmp_path, *files, force=True))
    assert out.uuid == (one or two)


def test_files_without_a_uuid_are_alike(tmp_path: Path) -> None:
    assert (
        oracle.decode_file(merged(tmp_path, with_uuid(b""), with_uuid(b""))).uuid == b""
    )


def test_files_of_the_same_uuid_and_other_code_are_merged_with_force_only(
    tmp_path: Path,
) -> None:
    files = []
    for name in "one", "two":
        path = tmp_path / name
        code = Section(".text", name.encode(), flags=CODE, address=0x1000)
        elf = Elf([code], symbols=[Symbol(name, 0x1000, 8)], build_id=bytes(20 * [7]))
        path.write_bytes(elf.to_bytes())
        output = path.with_suffix(".gsym")
        gsym.convert(path, output)
        files.append(output.read_bytes())
    with pytest.raises(gsym.UuidMismatchError, match="its code differs"):
        merged(tmp_path, *files)
    merged(tmp_path, *files, force=True)
    with gsym.open(tmp_path / "out.gsym") as reader:
        assert reader.module is not None
        assert reader.module.code_hash == ""
    merged(tmp_path, files[0], files[0])
    with gsym.open(tmp_path / "out.gsym") as reader:
        assert reader.module is not None
        assert reader.module.code_hash != ""


def test_different_base_addresses_are_merged_with_force_only(tmp_path: Path) -> None:
    files = with_uuid(b"a", 0x20), with_uuid(b"a", 0x10)
    with pytest.raises(gsym.FormatError, match=r"base address is 0x10, .* is 0x20"):
        merged(tmp_path, *files)
    out = oracle.decode_file(merged(tmp_path, *files, force=True))
    assert out.base_address == 0x10


# ---- version and byte order


def test_the_highest_version_and_the_first_byte_order_are_taken(tmp_path: Path) -> None:
    files = (
        with_uuid(b"a", version=1, byteorder="big"),
        with_uuid(b"a", version=2, byteorder="little"),
    )
    out = oracle.decode_file(merged(tmp_path, *files))
    assert (out.version, out.byteorder) == (2, "big")
    out = oracle.decode_file(
        merged(tmp_path, *files, output_version=1, byteorder="little")
    )
    assert (out.version, out.byteorder) == (1, "little")


def test_the_result_can_be_segments(tmp_path: Path) -> None:
    path = tmp_path / "a.gsym"
    path.write_bytes(create(FUNCTIONS))
    report = gsym.merge_files([path], tmp_path / "out", segment_size=200)
    assert len(report.outputs) > 1
    parts = [each for path in report.outputs for each in read_functions(path)]
    assert parts == FUNCTIONS
    assert gsym.merge_files([path], path, segment_size=200).outputs[0] != str(path)


# ---- what is refused


def test_an_input_is_not_written_over(tmp_path: Path) -> None:
    path = tmp_path / "a.gsym"
    path.write_bytes(create(FUNCTIONS))
    with pytest.raises(ValueError, match="would replace an input"):
        gsym.merge_files([path], path)
    with pytest.raises(ValueError, match="inputs: expected at least one path"):
        gsym.merge_files([], path)


def test_the_damaged_input_is_named(tmp_path: Path) -> None:
    data = create(FUNCTIONS)
    with pytest.raises(gsym.FormatError, match=r"1\.gsym: offset .*: function 2 at"):
        merged(tmp_path, data, data[:-4])
    with pytest.raises(gsym.FormatError, match=r"1\.gsym: .*invalid ELF class"):
        merged(tmp_path, data, b"\x7fELF" + bytes(100))
    with pytest.raises(FileNotFoundError):
        gsym.merge_files([tmp_path / "none"], tmp_path / "out")


# ---- command line


@pytest.fixture
def two_binaries(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a").write_bytes(with_uuid(b"a"))
    Path("b").write_bytes(with_uuid(b"b"))


@pytest.mark.parametrize(
    ("arguments", "status", "said"),
    [
        (["a", "b"], 2, "option '--output' is required"),
        (["-o", "c"], 2, "FILE is missing"),
        (["a", "b", "-o", "c"], 1, "--force, or force=True, merges them anyway"),
        (["a", "-o", "a"], 1, "would replace an input"),
        (["a", "-o", "c", "--byteorder", "odd"], 2, "little or big"),
    ],
)
@pytest.mark.usefixtures("two_binaries")
def test_mistakes_are_explained(
    arguments: list[str], status: int, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["merge", *arguments]) == status
    assert said in capsys.readouterr().err
    if "a" in arguments and "b" in arguments and status == 1:
        assert main(["merge", "--force", *arguments]) == 0
        assert len(read_functions("c")) == 1
