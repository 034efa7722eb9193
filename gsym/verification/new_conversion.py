"""Functions of a new conversion: the reference for what no second decoder reads."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import gsym.reading.reader
from gsym.conversion.job import convert_file
from gsym.conversion.options import ConvertOptions
from gsym.verification.reference import Reference

if TYPE_CHECKING:
    from collections.abc import Callable

    from gsym.conversion.debug_info import SearchOptions
    from gsym.conversion.input_file import InputFile
    from gsym.conversion.report import ConversionReport


class ConversionReference(Reference):
    """Functions that a new conversion finds in its input.

    Args:
        source: The input.
        options: The options of the conversion.
        progress: As for a conversion.

    Attributes:
        report: The report of the conversion.
    """

    source = "a new conversion"

    def __init__(
        self,
        source: InputFile,
        options: ConvertOptions,
        progress: Callable[[int, int], None] | None,
    ) -> None:
        super().__init__()
        with TemporaryDirectory() as folder:
            output = str(Path(folder, "new.gsym"))
            self.report: ConversionReport = convert_file(
                source, output, options, progress, sync_folder=False
            )
            with gsym.reading.reader.open(output) as reader:
                self.build_id: bytes = reader.header.uuid
                self.base_address: int | None = reader.header.base_address
                for info in reader.functions():
                    # Of one range, the first is what the file has without the others.
                    self.functions[info.start, info.start + info.size] = [
                        info._replace(merged=()),
                        *info.merged,
                    ]


def options_of_conversion(
    search: SearchOptions, path_map: tuple[tuple[str, str], ...], *, like_llvm: bool
) -> ConvertOptions:
    """The options by which a file was made that is compared, and all that it may have.

    That are merged functions and call sites.
    """
    return ConvertOptions(
        merged_functions=True,
        call_sites=True,
        path_map=path_map,
        image_code=not like_llvm,
        pclntab="never" if like_llvm else "auto",
        **search._asdict(),
    )
