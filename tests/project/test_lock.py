"""requirements.lock has a version of everything that pyproject.toml names."""

from __future__ import annotations

import re
import sys
from itertools import chain
from typing import TYPE_CHECKING

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.conftest import REPOSITORY

if TYPE_CHECKING:
    from collections.abc import Iterator

if sys.version_info < (3, 11):
    pytest.skip("this Python has no tomllib", allow_module_level=True)

import tomllib

pytestmark = pytest.mark.no_engine

LOCK = (REPOSITORY / "requirements.lock").read_text("utf-8")
PROJECT = tomllib.loads((REPOSITORY / "pyproject.toml").read_text("utf-8"))
PYTHONS = ("3.10", "3.11", "3.12", "3.13", "3.14")
HASHED = re.compile(r"(.+?) \\\n((?:    --hash=sha256:[0-9a-f]{64}(?: \\)?\n)+)")


def named() -> Iterator[Requirement]:
    """What pyproject.toml names, the package's own extras left out."""
    project = PROJECT["project"]
    texts = chain(
        project["dependencies"],
        *project["optional-dependencies"].values(),
        PROJECT["build-system"]["requires"],
        PROJECT["dependency-groups"]["build"],
    )
    found = map(Requirement, texts)
    return (each for each in found if each.name != "gsym")


def locked(python: str) -> dict[str, str]:
    """The versions for a version of Python on Linux, by name."""
    environment = {"python_version": python, "python_full_version": f"{python}.1"}
    found = [Requirement(head) for head, _ in HASHED.findall(LOCK)]
    return {
        canonicalize_name(each.name): str(each.specifier).removeprefix("==")
        for each in found
        if each.marker is None or each.marker.evaluate(environment)
    }


def test_each_line_belongs_to_a_version_with_hashes() -> None:
    lines = (f"{head} \\\n{hashes}" for head, hashes in HASHED.findall(LOCK))
    assert "".join(lines) == LOCK


@pytest.mark.parametrize("python", PYTHONS)
def test_versions_are_in_the_ranges_of_the_project(python: str) -> None:
    versions = locked(python)
    environment = {"python_version": python, "python_full_version": f"{python}.1"}
    wrong = [
        f"{each}: {versions.get(canonicalize_name(each.name))}"
        for each in named()
        if each.marker is None or each.marker.evaluate(environment)
        if canonicalize_name(each.name) not in versions
        or not each.specifier.contains(versions[canonicalize_name(each.name)])
    ]
    assert not wrong, "make lock"
