"""The kinds of input: a module for each, which has `convert(request)`.

Adding one takes a row in `containers/recognition.py` (how it is recognized), a row here
(what an input of the kind may have), and the module.
"""

from __future__ import annotations

from gsym import import_module
from gsym.records import NamedTuple

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Callable

    from gsym.conversion.output import ConversionRequest
    from gsym.conversion.report import ConversionReport


class InputKind(NamedTuple):
    """Conversion of files of one kind."""

    module: str  # its `convert` carries a request out
    is_binary: bool = False  # whether it is a binary or contains binaries
    has_data_symbols: bool = False  # whether it may have symbols of variables

    @property
    def convert(self) -> Callable[[ConversionRequest], ConversionReport]:
        """Carries a request out; `gsym.convert` lists what it raises."""
        function: Callable[[ConversionRequest], ConversionReport]
        function = import_module(self.module).convert
        return function


_BINARY = InputKind(
    "gsym.conversion.inputs.dwarf", is_binary=True, has_data_symbols=True
)

# By the names that `recognise` returns.
INPUTS = {
    "object": _BINARY,
    "fat": _BINARY,
    "archive": _BINARY,
    "pdb": InputKind("gsym.conversion.inputs.pdb"),
    "breakpad": InputKind("gsym.conversion.inputs.breakpad"),
    "gsym": InputKind("gsym.conversion.inputs.gsym", has_data_symbols=True),
}
