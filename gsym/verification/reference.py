"""Reference for a GSYM file: the DWARF decoded once more, and a new conversion."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import gsym.reading.reader
from gsym.conversion.job import convert_file

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gsym.conversion.input_file import InputFile
    from gsym.conversion.options import ConvertOptions
    from gsym.model import FunctionInfo
    from gsym.modules.key import Comparison
    from gsym.verification.described import Described


class Reference:
    """The side that a GSYM file is compared with."""

    def __init__(
        self,
        described: Described,
        fit: Comparison,
        notes: tuple[str, ...],
        *,
        is_sample: bool,
    ) -> None:
        self.described: Described = described  # what the DWARF describes
        # the functions of a new conversion, ascending; to be read once
        self.converted: Iterator[FunctionInfo] = iter(())
        self.build_id: bytes = b""  # that of the new conversion; b"" for none
        # where the image starts; None where nothing says it
        self.base_address: int | None = None
        self.fit: Comparison = fit  # whether the GSYM file is of this build
        # whether only some units of the DWARF were decoded
        self.is_sample: bool = is_sample
        # sentences on files that were not found, and on the fit
        self.notes: tuple[str, ...] = notes
        if fit.reason and not fit.is_refused:
            self.notes += (f"the file may be of another build: {fit.reason}",)

    def convert(self, source: InputFile, options: ConvertOptions) -> None:
        """Add the functions of a new conversion.

        Raises:
            EmptyError: There are none.
        """
        with TemporaryDirectory() as folder:
            path = str(Path(folder, "new.gsym"))
            convert_file(source, path, options, sync_folder=False)
            # A mapped file stays when its folder is removed.
            reader = gsym.reading.reader.open(path)
        self.build_id = reader.header.uuid
        self.base_address = reader.header.base_address
        self.converted = reader.functions()
