"""The samples of a profile that meet conditions."""

from __future__ import annotations

from gsym.conditions import Patterns, Selection, Span
from gsym.model import base_name

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from gsym.profiles.model import Profile


def select_samples(
    profile: Profile, selection: Selection, origin_ns: int | None = None
) -> None:
    """Remove the samples that are not selected; the rest of the profile stays.

    A sample has the names of the functions in its stack, and their modules for
    categories. One whose time or thread is not known is in no span of time and of no
    thread.

    Args:
        profile: Whose samples are chosen.
        selection: The conditions.
        origin_ns: The origin of moments; None: the first sample.
    """
    if origin_ns is None:
        times = [each.time for each in profile.samples if each.time is not None]
        origin_ns = min(times, default=0)
    span = Span(selection, origin_ns)
    processes, threads = Patterns(selection.processes), Patterns(selection.threads)
    names, modules = Patterns(selection.names), Patterns(selection.categories)
    takes_thread: dict[int | None, bool] = {None: not processes and not threads}
    for index, (process, thread, process_name, name) in enumerate(profile.threads):
        is_of_process = processes.match(process_name, process)
        takes_thread[index] = is_of_process and threads.match(name, thread)
    module_of = [modules.match(base_name(each.path)) for each in profile.mappings]

    def takes(stack: int) -> bool:
        frames = profile.frames_of(stack) if names else ()
        if names and not any(names.match(frame.name) for frame in frames):
            return False
        mappings = (profile.locations[at].mapping for at in profile.stacks[stack])
        return not modules or any(module_of[at] for at in mappings if at is not None)

    takes_stack = list(map(takes, range(len(profile.stacks))))
    profile.samples = [
        each
        for each in profile.samples
        if span.includes(each.time)
        and takes_thread[each.thread]
        and takes_stack[each.stack]
    ]
