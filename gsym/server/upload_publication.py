"""An upload on its way into a store.

Confined processes take it apart and convert what is in it; the server checks what they
say, has the engine look at every record, and publishes. All of it, or nothing.
"""

from __future__ import annotations

import os

from gsym.errors import FormatError
from gsym.records import NamedTuple
from gsym.server.confined_process import run_confined
from gsym.server.described_module import (
    is_file_in,
    publish_described,
    read_descriptions,
)
from gsym.server.upload_tasks import member_key

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from gsym.server.archive_members import ArchiveLimits
    from gsym.server.confinement import ChildLimits
    from gsym.store.directory import Store
    from gsym.store.modules import ModuleKey


class UploadRules(NamedTuple):
    """How uploads are taken.

    Attributes:
        child: Limits of the processes that read them.
        archive: Limits of archives.
        keeps_originals: Whether the store keeps the files that came.
    """

    child: ChildLimits
    archive: ArchiveLimits
    keeps_originals: bool = True


_MEMBERS, _STORE = "members", "store"
_LITTLE_MEMORY = 512 << 20  # bytes of address space, to take an archive apart


def take_apart(
    folder: str, body: str, content_type: str, name: str, rules: UploadRules
) -> tuple[list[str], list[str]]:
    """Names of the files in an upload, and URLs that are there instead.

    Args:
        folder: Of this upload, on the file system of the store.
        body: Path of what came, in *folder*. It is gone afterwards.
        content_type: As the request has it.
        name: What a file is called that came by itself.
        rules: How it is taken.

    Raises:
        ConfinedError: Reading it took too much.
        FormatError: It is of no use.
        LimitError: It holds too much.
        OSError: There is no room for it.
    """
    members = os.path.join(folder, _MEMBERS)
    os.mkdir(members)
    arguments = {
        "body": body,
        "content_type": content_type,
        "name": name,
        "folder": members,
        "limits": list(rules.archive),
    }
    answer = run_confined(
        "take apart",
        arguments,
        folder,
        rules.child._replace(memory=_LITTLE_MEMORY),
        inputs=[body],
    )
    return _texts(answer.get("names")), _texts(answer.get("urls"))


def publish_members(
    store: Store, folder: str, names: list[str], source: str, rules: UploadRules
) -> dict[str, Any]:
    """Put the modules of an upload into a store.

    Args:
        store: The store.
        folder: As for `take_apart`.
        names: As it gave them.
        source: Where they are from, for people.
        rules: How they are taken.

    Returns:
        `modules`: what became of each; `skipped_keys`: files that are no modules.

    Raises:
        GsymError: As for `take_apart`, or there is no module in it. Nothing has been
            published then.
        OSError: The store cannot be written to.
    """
    answer = _converted(folder, names, rules)
    modules = read_descriptions(answer.get("modules"), folder)
    members = [names[module.member] for module in modules]
    if not modules:
        raise FormatError("there is no module in it: " + _why_not(answer))
    published = publish_described(
        store, modules, source=source, keys=[*map(_key, members)]
    )
    return {
        "modules": [
            {
                "file": member,
                "debug_file": done.entry.identity.debug_file,
                "debug_id": done.entry.identity.debug_id,
                "outcome": done.outcome,
            }
            for member, done in zip(members, published, strict=True)
        ],
        "skipped_keys": _skipped(answer, names),
    }


def _converted(folder: str, names: list[str], rules: UploadRules) -> dict[str, Any]:
    members = os.path.join(folder, _MEMBERS)
    paths = [os.path.join(members, str(number)) for number in range(len(names))]
    if not all(is_file_in(path, folder) for path in paths):
        raise FormatError("what came was taken apart in another way than is said")
    arguments = {
        "names": names,
        "folder": members,
        "store": os.path.join(folder, _STORE),
        "keep_originals": rules.keeps_originals,
        "most_inflated": rules.archive.inflated,
    }
    return run_confined("convert", arguments, folder, rules.child, inputs=paths)


def _key(member: str) -> ModuleKey | None:
    """What the module is asked for by, if a path says so."""
    return member_key(member) if "/" in member else None


def _texts(found: object) -> list[str]:
    return [str(each) for each in found] if isinstance(found, list) else []


def _skipped(answer: dict[str, Any], names: list[str]) -> list[str]:
    return [names[number] for number, _ in answer.get("skipped", ())]


def _why_not(answer: dict[str, Any]) -> str:
    reasons = [str(reason) for _, reason in answer.get("skipped", ())]
    return reasons[0] if reasons else "it holds no file"
