"""Chains of functions beside those of llvm-symbolizer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.conftest import find_peer
from tests.differential import elf, peers, sampling
from tests.differential.differences import Case, agrees
from tests.differential.test_targets import named_symbols

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


def unexplained(
    output: Path,
    judge: Path,
    addresses: Sequence[int],
    chains: Sequence[tuple[peers.Frame, ...]],
) -> list[Case]:
    """Where llvm-symbolizer gives another chain, and no known difference explains it.

    Args:
        output: The GSYM file that the chains come from.
        judge: The binary to ask about.
        addresses: Where.
        chains: At each, innermost first.
    """
    find_peer(peers.LLVM_SYMBOLIZER)
    find_peer("llvm-nm-22")
    linkage = peers.symbolizer_answers(judge, addresses, "--disable-gsym")
    short = peers.symbolizer_answers(
        judge, addresses, "--disable-gsym", "--functions=short"
    )
    functions, symbols = sampling.functions(output), named_symbols(judge)
    cases = [
        Case(
            *(address, (), frames[0], None),
            sampling.function_at(functions, address),
            *(frames[1], frames[2], elf.symbols_near(symbols, address)),
        )
        for address, *frames in zip(addresses, chains, linkage, short, strict=True)
    ]
    return [case for case in cases if not agrees(case)]
