"""Chains of functions beside those of llvm-symbolizer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.conftest import find_peer
from tests.differential import peers
from tests.differential.judges import judge_by_llvm

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


def unexplained(
    output: Path,
    judge: Path,
    addresses: Sequence[int],
    chains: Sequence[tuple[peers.Frame, ...]],
) -> list[str]:
    """Where llvm-symbolizer gives another chain, and no known difference explains it.

    Args:
        output: The GSYM file that the chains come from.
        judge: The binary to ask about.
        addresses: Where.
        chains: At each, innermost first.
    """
    find_peer(peers.LLVM_SYMBOLIZER)
    find_peer("llvm-nm-22")
    return judge_by_llvm(judge, output, addresses, chains).unexplained
