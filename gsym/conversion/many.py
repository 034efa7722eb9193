"""Convert many files side by side in one process.

Most debug files of a distribution are small, too small for several threads. So they are
converted side by side, each by one thread, the biggest first, so that none of these is
left for the end. Big files come before, one at a time with all threads: that bounds the
memory.
"""

from __future__ import annotations

import os
import stat

from gsym.arguments import integer_of, path_of, paths_of
from gsym.conversion.input_file import open_input
from gsym.conversion.job import convert_file
from gsym.conversion.options import complete_options
from gsym.engine.workers import core_count, run_workers, taken_from
from gsym.errors import GsymError
from gsym.records import NamedTuple

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import Any, TypeVar

    from gsym.conversion.report import ConversionReport

    Result = TypeVar("Result")
    Progress = Callable[[int, int], None]

# What a file may fail with while the others are converted.
FAILURES = (GsymError, OSError, MemoryError)
_ALONE = 16 << 20  # bytes of a file
_MAX_AT_ONCE = 32


class Conversion(NamedTuple):
    """The outcome of an input of `convert_many`.

    Attributes:
        input: Its path.
        output: The path of the output, written if there is a report.
        report: The report, or None.
        error: Why it failed, or None.
    """

    input: str
    output: str
    report: ConversionReport | None
    error: Exception | None


def convert_many(
    inputs: Iterable[str | os.PathLike[str]],
    output_dir: str | os.PathLike[str],
    *,
    threads: int | None = None,
    progress: Callable[[int, int], None] | None = None,
    **options: Any,
) -> tuple[Conversion, ...]:
    """Convert files side by side, each to a file in *output_dir*.

    A file that fails does not stop the others. Files of at least 16 MiB are converted
    one at a time, of the others up to 32.

    Args:
        inputs: Paths, as for `convert`; a folder stands for all programs, libraries
            and symbol files below it.
        output_dir: Folder, which is created; an output is named as its input with
            `.gsym` added. Outputs of a folder keep their places below it.
        threads: Worker threads; by default one per core.
        progress: Called regularly from this thread with (bytes done, total bytes) of
            all inputs.
        options: Other keywords of `convert`.

    Returns:
        The outcome of each input, in their order.

    Raises:
        EmptyError: A folder has no such files.
        OSError: *output_dir* cannot be created.
        TypeError: A keyword is not one of `convert`, or *inputs* are not paths.
        ValueError: An option is out of range, two inputs have the same output, or an
            output is an input.
    """
    given, chosen = paths_of("inputs", inputs), complete_options(options)
    if threads is not None:
        threads = integer_of("threads", threads, 1)
    paths, outputs = inputs_and_outputs(given, path_of("output_dir", output_dir))
    replaced = first_replaced(outputs, paths)
    if replaced is not None:
        raise ValueError(f"{replaced}: the output would replace an input")
    make_folders(outputs)

    def convert_one(
        number: int, threads: int | None, progress: Progress | None
    ) -> Conversion:
        path, output = paths[number], outputs[number]
        try:
            report = convert_file(
                open_input(path),
                output,
                chosen._replace(threads=threads),
                progress,
            )
        except FAILURES as error:
            return Conversion(path, output, None, without_frames(error))
        return Conversion(path, output, report, None)

    done: list[Conversion] = []
    run_side_by_side(
        paths, convert_one, done.append, threads=threads, progress=progress
    )
    return tuple(done)


def without_frames(error: Exception) -> Exception:
    """*error*, kept for later: its frames would keep open what a conversion had."""
    error.__cause__ = error.__context__ = None
    return error.with_traceback(None)


def inputs_and_outputs(
    given: Sequence[str], folder: str | None
) -> tuple[list[str], list[str]]:
    """Each input, and the path of its output: in *folder*, or beside the input.

    A folder among *given* stands for the files of `linked_below`, whose outputs keep
    their places below it.

    Raises:
        EmptyError: There is no such file below a folder.
        ValueError: Two have the same output.
    """
    taken: dict[str, str] = {}
    for each in given:
        is_below = is_folder(each)
        found = [each]
        if is_below:
            from gsym.conversion.tree import linked_below

            found = [*linked_below(each)]
        for source in found:
            name = source
            if folder is not None:
                kept = os.path.relpath(source, each) if is_below else None
                name = os.path.join(folder, kept or os.path.basename(source))
            target = name + ".gsym"
            if target in taken:
                both = f"'{taken[target]}' and '{source}' have the same output"
                raise ValueError(both + "; convert their folder to keep their places")
            taken[target] = source
    return list(taken.values()), list(taken)


def make_folders(outputs: Iterable[str]) -> None:
    """Create the folders of outputs."""
    for folder in {os.path.dirname(path) for path in outputs}:
        os.makedirs(folder, exist_ok=True)


def is_folder(path: str) -> bool:
    """Whether *path* is a folder, and not one that is a dSYM bundle."""
    return os.path.isdir(path) and not path.rstrip(os.sep).endswith(".dSYM")


def first_replaced(outputs: Iterable[str], inputs: Iterable[str]) -> str | None:
    """The first of *outputs* that is one of *inputs*."""
    files = {*map(_identity, inputs)} - {None}
    return next((path for path in outputs if _identity(path) in files), None)


def _identity(path: str) -> tuple[int, int] | None:
    """The identity of the file at a path; None if there is no file."""
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_dev, status.st_ino


def run_side_by_side(
    paths: Sequence[str],
    work: Callable[[int, int | None, Progress | None], Result],
    take: Callable[[Result], object],
    *,
    threads: int | None,
    progress: Progress | None,
) -> None:
    """Do *work* for each of *paths*, for small files side by side, the biggest first.

    Args:
        paths: Files; one that cannot be read counts as empty.
        work: Called with an index of *paths*, the threads that it may use, and what it
            should report its progress to.
        take: Gets the results in the order of *paths*, as soon as they are there, in
            this thread.
        threads: All worker threads; None: one per core.
        progress: Called by this thread with (bytes done, total bytes).

    Raises:
        BaseException: The exception of the first *work* that failed.
    """
    sizes = [*map(_size, paths)]
    order = sorted(range(len(paths)), key=sizes.__getitem__, reverse=True)
    waiting: dict[int, Result] = {}
    finished: list[int] = []  # sizes, to which several threads add
    following, size, whole = 0, 0, sum(sizes)

    def report(done: int = 0, total: int = 1) -> None:
        """Report what is finished, and a part of the file that is converted alone."""
        if progress is not None:
            progress(sum(finished) + size * done // max(total, 1), whole)

    def hand_over() -> None:
        nonlocal following
        while following in waiting:
            take(waiting.pop(following))
            following += 1
        report()

    def finish(number: int, threads: int | None, part: Progress | None) -> None:
        waiting[number] = work(number, threads, part)
        finished.append(sizes[number])

    alone = len(order) if len(order) == 1 else sum(size >= _ALONE for size in sizes)
    for number in order[:alone]:
        size = sizes[number]
        finish(number, threads, progress and report)
        hand_over()
    small = order[alone:]
    small.reverse()  # they are taken from its end

    def work_off() -> None:
        for number in taken_from(small):
            finish(number, 1, None)

    if small:
        most = core_count() if threads is None else threads
        count = min(most, _MAX_AT_ONCE, len(small))
        run_workers(work_off, count, hand_over, small.clear)
        hand_over()


def _size(path: str) -> int:
    try:
        status = os.stat(path)
    except OSError:
        return 0
    # A bundle, whose file may have any size.
    return _ALONE if stat.S_ISDIR(status.st_mode) else status.st_size
