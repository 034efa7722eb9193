"""An upload on its way into a store.

Confined processes take it apart, convert what is in it, and look at the result once
more; the server checks what they say and publishes. All of it, or nothing.
"""

from __future__ import annotations

import os
import stat

from gsym.errors import FormatError, GsymError
from gsym.module_identity import ModuleIdentity
from gsym.server.confined_process import run_confined
from gsym.server.upload_tasks import member_key
from gsym.store.entry import Quality

__all__ = ["UploadRules", "publish_members", "take_apart"]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NamedTuple

    from gsym.server.archive_members import ArchiveLimits
    from gsym.server.confinement import ChildLimits
    from gsym.store.directory import Store
    from gsym.store.publication import Publication

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

    class _Module(NamedTuple):
        """A module as a confined process described it, checked."""

        member: str
        path: str
        identity: ModuleIdentity
        uuid: bytes
        quality: Quality
        originals: dict[str, str]

else:
    from gsym.records import record_type

    UploadRules = record_type(
        "UploadRules", "child archive keeps_originals", defaults=(True,)
    )
    UploadRules.__doc__ = "How uploads are taken."
    _Module = record_type("_Module", "member path identity uuid quality originals")

_MEMBERS, _STORE = "members", "store"
_LITTLE_MEMORY = 512 << 20  # bytes of address space, to take an archive apart
_ORIGINALS = {"sym", "debuginfo"}


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
        input_size=os.path.getsize(body),
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
    modules = _described(answer, folder, names)
    if not modules:
        raise FormatError("there is no module in it: " + _why_not(answer))
    run_confined(
        "verify",
        {"paths": [module.path for module in modules]},
        folder,
        rules.child,
        **_sizes([module.path for module in modules]),
    )
    published = [(module, _publish(store, module, source)) for module in modules]
    return {
        "modules": [
            {
                "file": module.member,
                "debug_file": done.entry.identity.debug_file,
                "debug_id": done.entry.identity.debug_id,
                "outcome": done.outcome,
            }
            for module, done in published
        ],
        "skipped_keys": _skipped(answer, names),
    }


def _converted(folder: str, names: list[str], rules: UploadRules) -> dict[str, Any]:
    members = os.path.join(folder, _MEMBERS)
    paths = [os.path.join(members, str(number)) for number in range(len(names))]
    if not all(_is_file_in(path, folder) for path in paths):
        raise FormatError("what came was taken apart in another way than is said")
    arguments = {
        "names": names,
        "folder": members,
        "store": os.path.join(folder, _STORE),
        "keep_originals": rules.keeps_originals,
        "most_inflated": rules.archive.inflated,
    }
    sizes = _sizes(paths)
    return run_confined("convert", arguments, folder, rules.child, **sizes)


def _described(answer: dict[str, Any], folder: str, names: list[str]) -> list[_Module]:
    """The modules of an answer, which anybody may have written."""
    try:
        modules = [
            _Module(
                names[int(row["member"])],
                str(row["path"]),
                ModuleIdentity(*map(str, row["identity"])),
                bytes.fromhex(row["uuid"]),
                Quality(*map(int, row["quality"])),
                {str(kind): str(path) for kind, path in row["originals"].items()},
            )
            for row in answer["modules"]
        ]
    except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
        raise FormatError(f"it was converted to something else: {error!r}") from None
    for module in modules:
        files = [module.path, *module.originals.values()]
        is_sound = all(_is_file_in(path, folder) for path in files)
        if not is_sound or not _ORIGINALS.issuperset(module.originals):
            raise FormatError("it was converted to something else")
    return modules


def _publish(store: Store, module: _Module, source: str) -> Publication:
    import gsym.reader

    with gsym.reader.open(module.path) as reader:
        if not module.uuid.startswith(reader.uuid):
            raise GsymError("the GSYM file is of another module")
    return store.publish(
        module.path,
        module.identity,
        uuid=module.uuid,
        quality=module.quality,
        source=source,
        originals=module.originals,
        key=member_key(module.member) if "/" in module.member else None,
    )


def _is_file_in(path: str, folder: str) -> bool:
    """Whether *path* is a regular file below *folder*, with no link on the way."""
    try:
        status = os.lstat(path)
    except (OSError, ValueError):
        return False
    real, root = os.path.realpath(path), os.path.realpath(folder)
    return stat.S_ISREG(status.st_mode) and real.startswith(root + os.sep)


def _sizes(paths: list[str]) -> dict[str, int]:
    sizes = [os.path.getsize(path) for path in paths]
    return {"input_size": sum(sizes), "largest": max(sizes, default=0)}


def _texts(found: object) -> list[str]:
    return [str(each) for each in found] if isinstance(found, list) else []


def _skipped(answer: dict[str, Any], names: list[str]) -> list[str]:
    return [names[number] for number, _ in answer.get("skipped", ())]


def _why_not(answer: dict[str, Any]) -> str:
    reasons = [str(reason) for _, reason in answer.get("skipped", ())]
    return reasons[0] if reasons else "it holds no file"
