"""The oracle itself, against files and answers of llvm-gsymutil."""

from __future__ import annotations

import re
import subprocess
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, strategies as st

from tests import oracle, strategies
from tests.views import boundaries, functions_from_oracle

if TYPE_CHECKING:
    from pathlib import Path

FILES = [
    "shapes.v1.22.gsym",
    "shapes.v1.24.gsym",
    "shapes.v2.24.gsym",
    "shapes.merged.v1.24.gsym",
    "shapes.merged.v2.24.gsym",
    "shapes-be.v1.24.gsym",
    "shapes-be.v2.24.gsym",
    "shapes-macho.v1.24.gsym",
]


def expected_text(file: oracle.GsymFile, name: str, arguments: list[str]) -> bytes:
    """What llvm-gsymutil prints for *arguments*."""
    merged = "--merged-functions" in arguments
    out = b'Looking up addresses in "%s":\n' % name.encode()
    for argument in arguments:
        option, _, value = argument.partition("=")
        if option != "--address":
            continue
        address = int(value, 0)
        try:
            answer = oracle.lookup(file, address, llvm_rules=True)
        except oracle.OracleError as error:
            out += b"0x%016x: error: %s\n" % (address, str(error).encode())
            continue
        if merged:
            out += b"Found 1 function at address 0x%016x:\n   " % address
        out += oracle.answer_text(answer, call_sites=merged)
    return out


@pytest.mark.parametrize("name", FILES)
def test_a_file_of_llvm_is_written_back_byte_for_byte(
    gsym_fixtures: Path, name: str
) -> None:
    data = (gsym_fixtures / name).read_bytes()
    assert oracle.encode_file(oracle.decode_file(data)) == data


@pytest.mark.parametrize("name", FILES)
def test_answers_are_those_that_llvm_prints(gsym_fixtures: Path, name: str) -> None:
    file = oracle.decode_file((gsym_fixtures / name).read_bytes())
    arguments = (gsym_fixtures / f"{name}.lookup.args").read_text().split()
    printed = (gsym_fixtures / f"{name}.lookup.txt").read_bytes()
    assert expected_text(file, name, arguments) == printed


def test_a_version_1_file_becomes_the_version_2_file_of_llvm(
    gsym_fixtures: Path,
) -> None:
    first = oracle.decode_file((gsym_fixtures / "shapes.v1.24.gsym").read_bytes())
    second = (gsym_fixtures / "shapes.v2.24.gsym").read_bytes()
    assert oracle.encode_file(first.as_version(2)) == second
    assert oracle.decode_file(second).as_version(1) == first


@pytest.fixture(scope="session")
def scratch(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("scratch")


@pytest.mark.slow
@given(strategies.odd_files(), st.data())
def test_llvm_answers_as_the_oracle_in_random_files(
    llvm_gsymutil: str, scratch: Path, file: oracle.GsymFile, data: st.DataObject
) -> None:
    path = scratch / "random.gsym"
    path.write_bytes(oracle.encode_file(file.as_version(1)))
    places = st.sampled_from(boundaries(functions_from_oracle(file)))
    addresses = data.draw(st.lists(places, min_size=1, max_size=40, unique=True))
    arguments = [f"--address={address:#x}" for address in addresses]
    printed = subprocess.run(
        [llvm_gsymutil, *arguments, path.name],
        cwd=scratch,
        capture_output=True,
        check=True,
    ).stdout
    expected = expected_text(file.as_version(1), path.name, arguments)
    # After a call from an unknown file LLVM continues with the rest of the tree, so it
    # may report the file of another call.
    printed, expected = (
        re.sub(rb"file\[\d+\]", b"file[]", each) for each in (printed, expected)
    )
    assert printed == expected
