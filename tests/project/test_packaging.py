"""The source distribution, wheels, and recipes of packages."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from email import message_from_string
from fcntl import LOCK_EX, flock
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from gsym import __version__
from tests.conftest import REPOSITORY, find_peer
from tools import release

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.no_engine

DEBIAN = REPOSITORY / "packaging/debian"
RECIPE = REPOSITORY / "packaging/conda/recipe.yaml"
CONTAINER = REPOSITORY / "deploy/Containerfile"
CHECK = REPOSITORY / "tools/check_installation.py"
# An engine for tests need not be fast.
QUICKLY = {**os.environ, "GSYM_CFLAGS": "-O0"}


def output_of(*command: object, **options: Any) -> str:  # noqa: ANN401
    done = subprocess.run(
        [str(word) for word in command],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        **options,
    )
    text: str = done.stdout
    assert done.returncode == 0, text[-4000:]
    return text


@pytest.fixture
def alone() -> Iterator[None]:
    """No other test makes a source distribution, which takes room in the checkout."""
    (REPOSITORY / "build").mkdir(exist_ok=True)
    with (REPOSITORY / "build/packaging.lock").open("w") as lock:
        flock(lock, LOCK_EX)
        yield


@pytest.fixture
def source_distribution(alone: None, tmp_path: Path) -> Path:
    del alone
    command = ["setup.py", "-q", "egg_info", "--egg-base", tmp_path]
    command += ["sdist", "--dist-dir", tmp_path / "dist"]
    output_of(sys.executable, *command, cwd=REPOSITORY)
    (path,) = (tmp_path / "dist").iterdir()
    return path


@pytest.mark.long
def test_source_distribution_has_the_files_of_the_checkout(
    source_distribution: Path,
) -> None:
    if not (REPOSITORY / ".git").exists():
        pytest.skip("not a checkout of git")
    command = ["ls-files", "--cached", "--others", "--exclude-standard"]
    wanted = output_of(find_peer("git"), *command, cwd=REPOSITORY).splitlines()
    with tarfile.open(source_distribution) as archive:
        found = {
            member.name.partition("/")[2]
            for member in archive.getmembers()
            if member.isfile()
        }
    made = {name for name in found if name in {"PKG-INFO", "setup.cfg"}}
    made |= {name for name in found if name.startswith("gsym.egg-info/")}
    assert found - made == {
        name
        for name in wanted
        if not name.startswith(".") and (REPOSITORY / name).exists()
    }


def without_network() -> list[str]:
    """The words before a command that shall have no network."""
    words = [find_peer("unshare"), "--net", "--map-root-user"]
    if subprocess.run([*words, "true"], check=False, capture_output=True).returncode:
        pytest.skip("no network namespaces here")
    return words


@pytest.mark.slow
def test_wheel_of_the_source_distribution_works_elsewhere(
    source_distribution: Path, tmp_path: Path
) -> None:
    """Built offline; for all versions of Python; stripped; used without the sources."""
    pip = (sys.executable, "-m", "pip", "--disable-pip-version-check")
    options = ("--no-index", "--no-deps", "--no-build-isolation", "--wheel-dir")
    build = (*without_network(), *pip, "wheel", *options, tmp_path, source_distribution)
    output_of(*build, cwd=tmp_path, env=QUICKLY)
    (wheel,) = tmp_path.glob("*.whl")
    assert wheel.name.startswith(f"gsym-{__version__}-cp310-abi3-linux_")

    venv = tmp_path / "venv"
    output_of(sys.executable, "-m", "venv", "--without-pip", venv)
    python = venv / "bin/python"
    output_of(*pip, "--python", python, "install", "--no-index", "--no-deps", wheel)
    (packages,) = venv.glob("lib/python*/site-packages")
    modules = list(packages.rglob("*.so"))
    assert len(modules) == 2
    for module in modules:
        sections = output_of(find_peer("readelf"), "-SdW", module)
        assert not re.search(r" \.debug_info | \.symtab |R(UN)?PATH", sections), module
    # What gsym depends on is that of this environment.
    site = Path(pytest.__file__).parents[1]
    (packages / "dependencies.pth").write_text(f"{site}\n")
    assert "works" in output_of(python, CHECK, cwd=tmp_path)

    auditor = Path(sys.executable).with_name("abi3audit")
    if not auditor.exists():
        pytest.skip("not installed: abi3audit, auditwheel (make .venv/.package)")
    output_of(auditor, "--strict", wheel)
    shown = output_of(sys.executable, "-m", "auditwheel", "show", wheel)
    assert '"manylinux_' in shown.replace("\n", " ")


def test_cibuildwheel_makes_wheels_with_and_without_the_lock() -> None:
    program = Path(sys.executable).with_name("cibuildwheel")
    if not program.exists():
        pytest.skip("not installed: cibuildwheel (make .venv/.package)")
    command = (program, "--print-build-identifiers", "--platform")
    found = [
        *output_of(*command, "linux", "--archs", "x86_64,aarch64", REPOSITORY).split(),
        *output_of(*command, "macos", REPOSITORY).split(),
    ]
    systems = ["manylinux_x86_64", "manylinux_aarch64", "musllinux_x86_64"]
    systems += ["musllinux_aarch64", "macosx_x86_64", "macosx_arm64"]
    assert sorted(found) == sorted(
        f"{python}-{system}" for python in ("cp310", "cp314t") for system in systems
    )


def python_requirements() -> set[tuple[str, str]]:
    """(name, least version) of what any installation needs."""
    text = (REPOSITORY / "pyproject.toml").read_text(encoding="utf-8")
    (listed,) = re.findall(r"(?ms)^dependencies = \[\n(.*?)^\]", text)
    return set(re.findall(r'^  "([\w.-]+)>=([\w.]+)', listed, re.MULTILINE))


def test_conda_recipe_needs_what_the_package_needs() -> None:
    text = RECIPE.read_text(encoding="utf-8")
    assert f'version: "{__version__}"' in text
    run = text.partition("  run:\n")[2].partition("\n\n")[0]
    found = set(re.findall(r"([\w.-]+) >=([\w.]+)", run))
    names = {"isal": "python-isal"}  # conda's isal is the library
    assert found == {(names.get(name, name), v) for name, v in python_requirements()}


@pytest.mark.parametrize(("python", "is_needed"), [("3.13", True), ("3.14", False)])
def test_rattler_build_reads_the_conda_recipe(python: str, is_needed: bool) -> None:  # noqa: FBT001
    rattler = pytest.importorskip("rattler_build", reason="no py-rattler-build")
    variants = {
        "python": [f"{python}.*"],
        "c_compiler": ["gcc"],
        "c_stdlib": ["sysroot"],
    }
    recipe = rattler.Stage0Recipe.from_file(RECIPE)
    (rendered,) = recipe.render(rattler.VariantConfig(variants))
    needs = rendered.recipe.to_dict()["requirements"]
    assert ("backports.zstd >=1.0" in needs["run"]) == is_needed
    assert any(name.startswith("gcc_") for name in needs["build"])


def test_debian_packages_are_of_this_version() -> None:
    changelog = (DEBIAN / "changelog").read_text(encoding="utf-8")
    assert changelog.startswith(f"gsym ({__version__}-1) ")
    versions = re.findall(
        r"^(LIBGSYM_\S+) \{",
        (REPOSITORY / "libgsym/libgsym.map").read_text(encoding="utf-8"),
        re.MULTILINE,
    )
    symbols = (DEBIAN / "libgsym0.symbols").read_text(encoding="utf-8")
    assert re.findall(r"\(symver\)(\S+)", symbols) == versions


def test_recipes_carry_the_data_of_the_package() -> None:
    tomllib = pytest.importorskip("tomllib")  # from Python 3.11
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]
    assert set(release.HOSTED) - {"pyproject.toml"} == {
        str(path.relative_to(REPOSITORY))
        for path in (RECIPE, DEBIAN / "control", CONTAINER)
    }
    home, summary = project["urls"]["Homepage"], project["description"]
    assert [url for url in project["urls"].values() if not url.startswith(home)] == []
    for path in (RECIPE, CONTAINER):
        text = path.read_text(encoding="utf-8")
        assert {"MIT", home, summary} <= set(re.findall(r'[:=] ?"?([^"\n]+)', text))
    control = (DEBIAN / "control").read_text(encoding="utf-8")
    assert f"\nHomepage: {home}\n" in control
    (author,) = project["authors"]
    assert f"{author['name'].lower()} <" in control.lower()
    licence = (REPOSITORY / "LICENSE").read_text(encoding="utf-8")
    assert author["name"].lower() in licence.lower()
    assert release.version() == project["version"] == __version__


def test_the_licence_of_each_dependency_is_named() -> None:
    page = (REPOSITORY / "docs/install.md").read_text(encoding="utf-8")
    listed = page.partition("\n## Licences\n")[2]
    named = re.findall(r"^\| ([a-z][\w.]+) \| [^|]+ \|", listed, re.MULTILINE)
    assert set(named) == {name for name, _ in python_requirements()}


def test_the_host_is_named_everywhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in release.HOSTED:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(REPOSITORY / name, tmp_path / name)
    monkeypatch.setattr(release, "ROOT", tmp_path)
    release.name_host("https://code.example.org/us/gsym/")
    for name in release.HOSTED:
        written = (tmp_path / name).read_text()
        assert "https://code.example.org/us/gsym" in written
        assert release.UNKNOWN not in written.replace(f"is {release.UNKNOWN}", "")


def test_what_is_uploaded_is_checked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match="the tag v9 is not that of version"):
        release.check(tmp_path, "v9")
    with pytest.raises(SystemExit, match="not one source distribution, and wheels"):
        release.check(tmp_path, "")
    wheel = tmp_path / f"gsym-{__version__}-py3-none-any.whl"
    info = f"gsym-{__version__}.dist-info"
    fields = f"Metadata-Version: 2.4\nName: gsym\nVersion: {__version__}\n"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr(f"{info}/METADATA", fields)
    with pytest.raises(SystemExit, match="without its licence"):
        release.check_wheel(wheel)
    with zipfile.ZipFile(wheel, "a") as archive:
        archive.writestr("gsym.libs/libz.so", b"")
    with pytest.raises(SystemExit, match=r"files of others: .'gsym.libs/libz.so'"):
        release.check_wheel(wheel)
    assert capsys.readouterr().out == ""


def test_workflows_run_what_is_here() -> None:
    yaml = pytest.importorskip("yaml", reason="PyYAML is not installed")
    if not (REPOSITORY / ".github").exists():
        pytest.skip("not a checkout of git")
    makefile = (REPOSITORY / "Makefile").read_text(encoding="utf-8")
    paths = sorted((REPOSITORY / ".github/workflows").glob("*.yml"))
    assert [path.stem for path in paths] == ["check", "release"]
    for path in paths:
        jobs = yaml.safe_load(path.read_text())["jobs"].values()
        commands = "\n".join(
            step["run"] for job in jobs for step in job["steps"] if "run" in step
        )
        for target in re.findall(r"(?m)(?:^|&& )make ([a-z]+)", commands):
            assert f"\n{target}:" in makefile
        for name in re.findall(r"(?<!\S)((?:\.ci|tools)/\S+)", commands):
            assert (REPOSITORY / name).exists(), name


@pytest.fixture
def debian(alone: None, tmp_path: Path) -> Path:
    """A folder with the packages, built by the Python of the system."""
    del alone
    for tool in ("dh", "dh_python3", "pybuild", "dpkg-buildpackage"):
        find_peer(tool)
    if not Path("/usr/share/perl5/Debian/Debhelper/Buildsystem/pybuild.pm").exists():
        pytest.skip("not installed: dh-python")
    version = ("-c", "import sys, sysconfig; print(*sys.version_info[:2])")
    system = ("/usr/bin/python3", "/usr/bin/python3-config")
    if not all(map(os.path.exists, system)) or output_of(
        system[0], *version
    ) != output_of(sys.executable, *version):
        pytest.skip("the Python of the system has another version, or no headers")
    environment = {
        **os.environ,
        "DEB_BUILD_OPTIONS": "noopt noautodbgsym",
        "PATH": "/usr/sbin:/usr/bin:/sbin:/bin",
        # The system's setuptools and cffi may be older than those that are needed.
        "PYTHONPATH": str(Path(pytest.__file__).parents[1]),
    }
    folder = tmp_path / "deb"
    values = (f"VENV={sys.prefix}", f"DEB={folder}", "DEB_FLAGS=-b -d")
    make = ("make", "--old-file=build", "deb", *values)
    output_of(*make, cwd=REPOSITORY, env=environment)
    return folder


@pytest.mark.slow
def test_debian_packages_work(debian: Path, tmp_path: Path) -> None:
    root = tmp_path / "root"
    packages = {path.name.partition("_")[0]: path for path in debian.glob("*.deb")}
    assert {"libgsym0", "libgsym-dev", "gsym-tools", "python3-gsym"} <= set(packages)
    for package in packages.values():
        output_of("dpkg-deb", "-x", package, root)
    fields = message_from_string(output_of("dpkg-deb", "-f", packages["libgsym-dev"]))
    assert fields["Depends"] == f"libgsym0 (= {__version__}-1)"
    symbols = output_of("dpkg-deb", "-I", packages["libgsym0"], "symbols")
    assert f" gsym_convert@LIBGSYM_0.1 {__version__}" in symbols
    assert not list(root.glob("usr/lib/python3/**/libgsym.*"))

    # With it, the folder is the prefix of a Python.
    output_of("/usr/bin/python3", "-m", "venv", "--without-pip", root / "usr")
    (library,) = root.glob("usr/lib/*/libgsym.so.0")
    own = root / "usr/lib/python3/dist-packages"
    site = Path(pytest.__file__).parents[1]
    environment = {
        **os.environ,
        "LD_LIBRARY_PATH": str(library.parent),
        "PKG_CONFIG_LIBDIR": str(library.parent / "pkgconfig"),
        "PKG_CONFIG_SYSROOT_DIR": str(root),
        "PYTHONPATH": f"{own}{os.pathsep}{site}",
    }
    flags = (find_peer("pkg-config"), "--cflags", "--libs", "libgsym")
    command = (root / "usr/bin/python3", CHECK, *flags)
    assert "works" in output_of(*command, env=environment, cwd=tmp_path)

    lintian = shutil.which("lintian")
    if lintian is None:
        pytest.skip("not installed: lintian")
    (changes,) = debian.glob("*.changes")
    options = ("--fail-on", "error,warning", "--suppress-tags")
    output_of(lintian, *options, "initial-upload-closes-no-bugs", changes)


@pytest.mark.slow
def test_a_changed_file_compiles_what_includes_it(tmp_path: Path) -> None:
    for name in ("csrc", "cpython", "gsym", "integrations"):
        ignored = shutil.ignore_patterns("*.so", "__pycache__")
        shutil.copytree(REPOSITORY / name, tmp_path / name, ignore=ignored)
    for name in ("setup.py", "pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(REPOSITORY / name, tmp_path)

    def compiled(changed: str) -> set[str]:
        """What the build after a change of a file compiles."""
        before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.o")}
        (tmp_path / changed).touch()
        command = (sys.executable, "setup.py", "-q", "build_ext", "--inplace")
        output_of(*command, cwd=tmp_path, env=QUICKLY)
        return {
            path.stem
            for path in tmp_path.rglob("*.o")
            if path.stat().st_mtime_ns != before.get(path)
        }

    sources = {path.stem for path in tmp_path.glob("csrc/*/*.c")}
    assert compiled("csrc/gsym/lookup.c") > sources
    assert compiled("csrc/gsym/lookup.c") == {"lookup"}
    includers = {"filter", "problems", "reader", "records", "tables", "tally"}
    assert compiled("csrc/fxt/reader.h") == includers
