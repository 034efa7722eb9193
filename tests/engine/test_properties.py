"""Random functions through creator and reader, with the oracle as the judge."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, strategies as st

import gsym
from gsym.engine.native import lib
from tests import oracle, strategies
from tests.engine_image import Image
from tests.views import (
    boundaries,
    functions_from_oracle,
    lookup_from_oracle,
    to_oracle,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

pytestmark = pytest.mark.long


def create(
    functions: Iterable[gsym.FunctionInfo],
    version: int,
    byteorder: str,
    uuid: bytes = b"",
) -> bytes:
    with gsym.Creator(
        version=version, byteorder=byteorder, uuid=uuid, index=False
    ) as creator:
        for function in functions:
            creator.add(function)
        return creator.to_bytes()


# ---- what goes in comes out ---------------------------------------------------


@given(
    strategies.function_lists(),
    strategies.versions,
    strategies.byte_orders,
    strategies.uuids,
)
def test_a_file_holds_the_functions_that_were_added(
    functions: list[gsym.FunctionInfo], version: int, byteorder: str, uuid: bytes
) -> None:
    """For the reader and for the oracle, which would write the same bytes."""
    data = create(functions, version, byteorder, uuid)
    assert create(functions, version, byteorder, uuid) == data
    file = oracle.decode_file(data)
    assert functions_from_oracle(file) == functions
    assert file.uuid == uuid
    assert oracle.encode_file(file) == data
    with gsym.Reader(data) as reader:
        assert list(reader.functions()) == functions
        assert len(reader) == len(functions)
        assert reader.uuid == uuid
        assert (reader.header.version, reader.header.byteorder) == (version, byteorder)
        assert reader.header.base_address == functions[0].start


@given(strategies.function_lists(), strategies.byte_orders)
def test_a_file_survives_a_trip_through_the_other_version(
    functions: list[gsym.FunctionInfo], byteorder: str
) -> None:
    first = create(functions, 1, byteorder)
    with gsym.Reader(first) as reader:
        second = create(reader.functions(), 2, byteorder)
    with gsym.Reader(second) as reader:
        assert list(reader.functions()) == functions
        assert create(reader.functions(), 1, byteorder) == first


def copy(data: bytes, version: int, byteorder: str) -> bytes:
    """*data* written again, without a look at its functions from Python."""
    with gsym.Reader(data) as reader:
        creator = gsym.Creator(
            version, byteorder, reader.header.base_address, reader.uuid
        )
        creator.add_reader(reader)
        return creator.to_bytes()


@given(
    strategies.function_lists(),
    strategies.versions,
    strategies.byte_orders,
    strategies.uuids,
)
def test_a_copy_in_another_version_and_byte_order_holds_the_same(
    functions: list[gsym.FunctionInfo], version: int, byteorder: str, uuid: bytes
) -> None:
    foreign = oracle.encode_file(to_oracle(functions, 2, "big", uuid=uuid))
    first = copy(foreign, version, byteorder)
    file = oracle.decode_file(first)
    assert functions_from_oracle(file) == functions
    assert file.uuid == uuid
    assert copy(copy(first, 3 - version, "big"), version, byteorder) == first


@given(
    strategies.function_lists(max_size=4).flatmap(
        lambda functions: st.tuples(st.just(functions), st.permutations(functions))
    ),
    strategies.versions,
)
def test_functions_may_be_added_in_any_order(
    lists: tuple[list[gsym.FunctionInfo], list[gsym.FunctionInfo]], version: int
) -> None:
    functions, shuffled = lists
    with gsym.Reader(create(shuffled, version, "little")) as reader:
        assert list(reader.functions()) == functions


@given(st.lists(strategies.wild_function_infos, min_size=1, max_size=4))
def test_invalid_functions_are_refused_or_stay_readable(
    functions: list[gsym.FunctionInfo],
) -> None:
    with gsym.Creator() as creator:
        for function in functions:
            with suppress(ValueError, gsym.LimitError):
                creator.add(function)
        with suppress(ValueError, gsym.EmptyError):
            data = creator.to_bytes()
            file = oracle.decode_file(data)
            with gsym.Reader(data) as reader:
                assert list(reader.functions()) == functions_from_oracle(file)
            assert oracle.encode_file(file) == data


# ---- answers --------------------------------------------------------------------


def expected_lookup(file: oracle.GsymFile, address: int) -> gsym.Lookup | None:
    try:
        answers = oracle.lookup_merged(file, address, llvm_rules=False)
    except oracle.NotFoundError:
        return None
    answer, *merged = (lookup_from_oracle(file, answer) for answer in answers)
    return answer._replace(merged=tuple(merged))


def expected_rows(
    file: oracle.GsymFile, expected: list[gsym.Lookup | None]
) -> list[dict[str, object]]:
    """The answers as `Frames.to_pylist` spells them."""
    return [
        {
            "address_index": index,
            "address": answer.address,
            "function_index": oracle.find_entry(file, answer.address),
            "name": frame.name,
            "path": frame.path,
            "line": frame.line,
            "offset": frame.offset,
            "inlined": frame.inlined,
            "found": True,
            "reason": "",
        }
        for index, answer in enumerate(expected)
        if answer is not None
        for frame in answer.frames
    ]


def assert_answers_equal(data: bytes, functions: list[gsym.FunctionInfo]) -> None:
    file = oracle.decode_file(data)
    addresses = boundaries(functions)
    expected = [expected_lookup(file, address) for address in addresses]
    alone = [answer and answer._replace(merged=()) for answer in expected]
    with gsym.Reader(data) as reader:
        assert [reader.lookup(at, merged=True) for at in addresses] == expected
        assert [reader.lookup(at) for at in addresses] == alone
        frames = reader.lookup_many(addresses, misses=False)
        assert frames.to_pylist() == expected_rows(file, expected)
        assert frames.answered == sum(answer is not None for answer in expected)
        assert frames.damaged == 0


@given(strategies.function_lists(), strategies.versions, strategies.byte_orders)
def test_answers_equal_the_oracles_at_every_boundary(
    functions: list[gsym.FunctionInfo], version: int, byteorder: str
) -> None:
    assert_answers_equal(create(functions, version, byteorder), functions)


@given(strategies.odd_files())
def test_answers_equal_the_oracles_in_files_that_no_creator_writes(
    file: oracle.GsymFile,
) -> None:
    assert_answers_equal(oracle.encode_file(file), functions_from_oracle(file))


# ---- answers by LLVM's rules ------------------------------------------------------


def expected_by_llvm(file: oracle.GsymFile, address: int) -> gsym.Lookup | str | None:
    """The answer, the text of the error, or None."""
    try:
        answer = oracle.lookup(file, address, llvm_rules=True)
    except oracle.NotFoundError:
        return None
    except oracle.OracleError as error:
        return str(error)
    return lookup_from_oracle(file, answer)


def answer_by_llvm(image: Image, address: int) -> gsym.Lookup | str | None:
    try:
        return image.lookup(address, lib.GSYM_LOOKUP_LLVM)
    except gsym.GsymError as error:
        return error.reason


@given(strategies.odd_files())
def test_answers_by_the_rules_of_llvm_equal_the_oracles(file: oracle.GsymFile) -> None:
    addresses = boundaries(functions_from_oracle(file))
    image = Image(oracle.encode_file(file))
    for address in addresses:
        assert answer_by_llvm(image, address) == expected_by_llvm(file, address)
