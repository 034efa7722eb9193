"""Check the files of a release and write their sums; name the place that hosts it.

    python tools/release.py check FOLDER [--tag v0.1.0]
    python tools/release.py host https://HOST/OWNER/gsym

`make release` runs the first with the folder of what is uploaded: the source
distribution, wheels, Debian packages and the manual. It fails where the version
differs between files, metadata is not valid, a wheel has files of others, or one of
the files is missing, and writes SHA256SUMS. The second writes the addresses of
pyproject.toml and of the recipes in packaging/ and deploy/; until then they end in
`.invalid`, which `check` says, since such files are not for an index.
"""

from __future__ import annotations

import argparse
import hashlib
import re
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path, PurePosixPath

from packaging.metadata import Metadata

ROOT = Path(__file__).resolve().parent.parent
UNKNOWN = "https://gsym.invalid"
HOSTED = (
    "pyproject.toml",
    "packaging/conda/recipe.yaml",
    "packaging/debian/control",
    "deploy/Containerfile",
)
# Where the version stands, and how.
VERSIONS = {
    "pyproject.toml": r'^version = "(.+)"$',
    "gsym/__init__.py": r'^__version__ = "(.+)"$',
    "libgsym/include/gsym/libgsym.h": r'^#define LIBGSYM_VERSION "(.+)"$',
    "packaging/conda/recipe.yaml": r'^  version: "(.+)"$',
    "packaging/debian/changelog": r"\Agsym \((.+)-\d+\)",
    "deploy/Containerfile": r'image\.version="(.+?)"',
    "CHANGELOG.md": r"^## (\S+) - \d{4}-\d\d-\d\d$",
}
DEBIAN = ("gsym-tools", "libgsym-dev", "libgsym0", "python3-gsym")
SUMS = "SHA256SUMS"


def fail(reason: str) -> None:
    """Stop with the reason."""
    sys.exit(f"release: {reason}")


def version() -> str:
    """The version that all files name; stops where one names another."""
    found = {}
    for name, pattern in VERSIONS.items():
        match = re.search(pattern, (ROOT / name).read_text("utf-8"), re.MULTILINE)
        found[name] = match[1] if match else "none"
    if len(set(found.values())) != 1:
        fail(f"versions differ: {found}")
    return found["pyproject.toml"]


def check_metadata(path: Path, text: bytes, licensed: bool) -> Metadata:  # noqa: FBT001
    """The metadata of a distribution; stops where it is not valid."""
    metadata = Metadata.from_email(text, validate=True)
    if metadata.license_expression != "MIT" or not licensed:
        fail(f"{path.name}: without its licence")
    if metadata.description_content_type != "text/markdown":
        fail(f"{path.name}: README.md is not its description")
    if re.search(r"\]\((?!https?:|#)", metadata.description or ""):
        fail(f"{path.name}: links of its description lead nowhere in an index")
    return metadata


def check_wheel(path: Path) -> Metadata:
    """A wheel has files of this project only: no library that was copied into it."""
    with zipfile.ZipFile(path) as wheel:
        names = [PurePosixPath(name) for name in wheel.namelist()]
        (info,) = {name.parts[0] for name in names if ".dist-info" in name.parts[0]}
        known = {"gsym", info, info.replace(".dist-info", ".data")}
        foreign = [str(name) for name in names if name.parts[0] not in known]
        if foreign:
            fail(f"{path.name}: files of others: {foreign}")
        licensed = PurePosixPath(info, "licenses/LICENSE") in names
        return check_metadata(path, wheel.read(f"{info}/METADATA"), licensed)


def check_source(path: Path) -> Metadata:
    """The source distribution, whose metadata is that of the wheels."""
    with tarfile.open(path) as archive:
        names = [PurePosixPath(name) for name in archive.getnames()]
        top = names[0].parts[0]
        member = archive.extractfile(f"{top}/PKG-INFO")
        if member is None:
            fail(f"{path.name}: without PKG-INFO")
            raise AssertionError
        licensed = PurePosixPath(top, "LICENSE") in names
        return check_metadata(path, member.read(), licensed)


def check(folder: Path, tag: str) -> None:
    """Check all files of a release, and write their sums."""
    wanted = version()
    if tag not in {"", f"v{wanted}"}:
        fail(f"the tag {tag} is not that of version {wanted}")
    sources = sorted(folder.glob("*.tar.gz"))
    wheels = sorted(folder.glob("*.whl"))
    packages = {path.name.partition("_")[0]: path for path in folder.glob("*.deb")}
    if [path.name for path in sources] != [f"gsym-{wanted}.tar.gz"] or not wheels:
        fail(f"{folder}: not one source distribution, and wheels")
    found = [*map(check_source, sources), *map(check_wheel, wheels)]
    if {str(each.version) for each in found} != {wanted}:
        fail(f"{folder}: distributions of other versions than {wanted}")
    missing = [name for name in DEBIAN if name not in packages]
    if missing:
        fail(f"{folder}: without the Debian packages {missing}")
    for path in packages.values():
        asked = ["dpkg-deb", "--field", str(path), "Version"]
        said = subprocess.run(asked, check=True, capture_output=True, text=True).stdout
        if said.strip().partition("-")[0] != wanted:
            fail(f"{path.name}: version {said.strip()}")
    with tarfile.open(folder / f"gsym-{wanted}-manual.tar.xz") as manual:
        if f"gsym-{wanted}-manual/index.html" not in manual.getnames():
            fail("the manual has no first page")
    lines = [
        f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n"
        for path in sorted(folder.iterdir())
        if path.name != SUMS
    ]
    (folder / SUMS).write_text("".join(lines), "utf-8")
    print(f"gsym {wanted}: {len(lines)} files, checked; their sums are in {SUMS}")
    if UNKNOWN in (ROOT / "pyproject.toml").read_text("utf-8"):
        print(f"not for an index: addresses are {UNKNOWN} (tools/release.py host URL)")


def name_host(address: str) -> None:
    """Write the address of the project into all files that have it."""
    text = (ROOT / "pyproject.toml").read_text("utf-8")
    now = re.search(r'^Homepage = "(.+)"$', text, re.MULTILINE)
    if now is None or not address.startswith("https://"):
        fail("no address")
        return
    for name in HOSTED:
        path = ROOT / name
        written = path.read_text("utf-8").replace(now[1], address.rstrip("/"))
        path.write_text(written, "utf-8")


def main() -> None:
    """Check, or name the host."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    verbs = parser.add_subparsers(dest="verb", required=True)
    checking = verbs.add_parser("check")
    checking.add_argument("folder", type=Path)
    checking.add_argument("--tag", default="", help="of the commit, such as v0.1.0")
    verbs.add_parser("host").add_argument("address")
    arguments = parser.parse_args()
    if arguments.verb == "check":
        check(arguments.folder, arguments.tag)
    else:
        name_host(arguments.address)


if __name__ == "__main__":
    main()
