"""Receivers of symbfiles that are killed, in front of each change they make on a disk.

    python -m tests.server.symbfile_killing KIND FOLDER

It forks, and so has no threads. What goes wrong is its exit code; it prints for each
child whether it was killed, and how many records were published then.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

import gsym
from gsym.confined.confinement import ChildLimits
from gsym.confined.symbfile_parts import assemble
from gsym.server.settings import Limits
from gsym.server.symbfiles import receiving as symbfile_publication
from gsym.server.symbfiles.pending import PendingUploads
from gsym.server.symbfiles.protocol import PartHeader
from gsym.server.symbfiles.receiving import publish_symbfile
from gsym.store.directory import Store
from gsym.store.received_symbfile import key_of_file_id, return_pads_path
from gsym.store.verification import verify_store
from gsym.symbfile.file_id import FileId
from gsym.symbfile.format import open_symbfile
from tests.server.symbfile_pushes import ranges, records, return_pads

if TYPE_CHECKING:
    from collections.abc import Callable

ID = FileId(bytes(range(16)))
MOST = 1 << 30
CHANGES = ("rename", "replace", "mkdir", "unlink", "rmdir", "symlink", "fsync", "utime")
# What a killed process may leave, and whoever comes next removes.
LEFT = {"unused files", "the link is broken"}


def receive(store: Store, kind: str, part: int, body: bytes) -> str:
    """Take a part of two as the endpoint does; what became of it."""
    pending = PendingUploads(store, Limits(max_symbfile=MOST))
    header = PartHeader(ID, part, 2, len(body))
    with store.temporary_folder() as folder:
        path = Path(folder, "part")
        path.write_bytes(body)
        with pending.open("owner", f"{ID.hex()}.{kind}") as upload:
            assert upload.try_lock()
            assert upload.exists()
            upload.add(header, sha256(body).hexdigest(), str(path))
            parts = upload.all_parts()
            if not parts:
                return "stored"
            what = ChildLimits(), MOST, ID, kind, parts
            outcome = publish_symbfile(store, *what, may_replace=True)
            upload.end(("", outcome))
            return outcome


def run_here(task: str, arguments: dict[str, Any], *_: Any, **__: Any) -> Any:
    """In the place of `run_confined`, which starts processes."""
    return assemble(**arguments) if task == "assemble" else {}


def is_killed(left: int, work: Callable[[], object]) -> bool:
    """Whether a child that does *work* had more than so many changes to make.

    It is killed in front of the next one.
    """
    child = os.fork()
    if child:
        _, status = os.waitpid(child, 0)
        assert os.waitstatus_to_exitcode(status) in {0, -signal.SIGKILL}
        return os.WIFSIGNALED(status)

    def counted(call: Callable[..., Any]) -> Callable[..., Any]:
        def count(*arguments: Any, **options: Any) -> Any:
            nonlocal left
            left -= 1
            if left < 0:
                os.kill(os.getpid(), signal.SIGKILL)
            return call(*arguments, **options)

        return count

    try:
        for name in CHANGES:
            setattr(os, name, counted(getattr(os, name)))
        work()
        os._exit(0)
    finally:
        os._exit(1)


def published(store: Store, kind: str) -> int:
    """How many records are published; they and what is made of them can be read."""
    if kind == "returnpads":
        path = return_pads_path(store.path, ID)
        return len(list(open_symbfile(path).records())) if Path(path).exists() else 0
    entry = store.get(key_of_file_id(ID))
    if entry is None:
        return 0
    with gsym.open(entry.path) as reader:
        assert len(reader) == entry.quality.functions == 6
    return len(list(open_symbfile(entry.originals["ranges"]).records()))


def main(kind: str, folder: str) -> None:
    """Kill one child after the other, a step later each."""
    vars(symbfile_publication)["run_confined"] = run_here
    make = ranges if kind == "ranges" else return_pads
    bodies = [make(1, 0), make(1, 3)]
    whole = sum(len(records(body)) for body in bodies)
    seen: list[tuple[bool, int]] = []
    while not seen or seen[-1][0]:
        place = Path(folder, str(len(seen)))
        assert receive(Store(place), kind, 0, bodies[0]) == "stored"
        work = partial(receive, Store(place), kind, 1, bodies[1])
        seen.append((is_killed(len(seen), work), published(Store(place), kind)))
        assert {each.reason for each in verify_store(Store(place))} <= LEFT
        if seen[-1][0]:
            # Its answer was lost, so the part comes again.
            again = receive(Store(place), kind, 1, bodies[1])
            assert published(Store(place), kind) == whole
            assert again != "stored" or seen[-1][1] == whole
        list(verify_store(Store(place), repair=True))
        assert not list(verify_store(Store(place)))
    assert not list(Path(folder).glob(f"{len(seen) - 1}/.symbfiles/*"))
    json.dump({"seen": seen, "whole": whole}, sys.stdout)


if __name__ == "__main__":
    main(*sys.argv[1:])
