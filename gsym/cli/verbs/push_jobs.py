"""What `gsym symbfile push` has to send, as its command line says."""

from __future__ import annotations

from contextlib import contextmanager
from itertools import zip_longest

from gsym.cli.options import UsageError
from gsym.cli.terminal import progress_for
from gsym.cli.verbs.symbfile_options import extraction_options, read_kinds
from gsym.symbfile.upload import PART_SIZE, extract_upload, ready_upload

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from gsym.cli.options import Values
    from gsym.cli.terminal import Progress
    from gsym.symbfile.file_id import FileId
    from gsym.symbfile.upload import Upload

    # What is sent of an executable with a FileID; its files go into a folder.
    Preparation = Callable[[str, FileId, str], Upload]


def push_jobs(values: Values) -> Iterator[tuple[str, Preparation]]:
    """Each executable, and how its parts are made.

    Raises:
        UsageError: The command line makes no sense.
    """
    executables = values.texts("--executable")
    debug_files = values.texts("--debug-file")
    symbfiles = values.operands("SYMBFILE")
    part_size = values.number("--part-size", minimum=1)
    kinds, extraction = read_kinds(values, "both"), extraction_options(values)
    if not executables:
        raise UsageError("option '--executable' is missing: what to push")
    if debug_files and len(debug_files) != len(executables):
        raise UsageError("give one '--debug-file' for each '--executable', or none")
    if symbfiles:
        if len(executables) > 1:
            raise UsageError("SYMBFILE is of one '--executable'")
        if debug_files or part_size or values.texts("--kind"):
            raise UsageError("SYMBFILE is sent as it is: leave out how to extract it")
        yield (
            executables[0],
            lambda _, file_id, folder: ready_upload(symbfiles, file_id, folder),
        )
        return

    def extraction_of(debug_file: str | None) -> Preparation:
        def extract(executable: str, file_id: FileId, folder: str) -> Upload:
            with progress_of(executable, values) as progress:
                return extract_upload(
                    executable,
                    file_id,
                    folder,
                    debug_file=debug_file,
                    kinds=kinds,
                    part_size=part_size or PART_SIZE,
                    progress=progress,
                    **extraction,
                )

        return extract

    for executable, debug_file in zip_longest(executables, debug_files):
        yield executable, extraction_of(debug_file)


@contextmanager
def progress_of(label: str, values: Values) -> Iterator[Progress | None]:
    """A bar, which is gone afterwards."""
    progress = None if values.flag("--quiet") else progress_for(label)
    try:
        yield progress
    finally:
        if progress is not None:
            progress.clear()
