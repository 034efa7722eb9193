"""Write small seeds for `tools/fuzz.sh convert`: tools/fuzz_seeds.py FOLDER.

Programs with split units, packages and references to a supplementary file, which the
fuzzer takes from the same file. Run it from the checkout: `python -m tools.fuzz_seeds`.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from tests.inputs.dies import Die, Ref
from tests.inputs.dwarf import Dwarf
from tests.inputs.dwarf_constants import At, Form, Tag
from tests.inputs.elf import elf_of
from tests.inputs.program import function, unit
from tests.test_dwarf_package import VERSIONS, Made
from tests.test_dwarf_split import whole_program

if TYPE_CHECKING:
    from collections.abc import Iterator


def with_split(main: dict[str, bytes], split: dict[str, bytes]) -> bytes:
    """A program that holds the sections of its split file or package, too."""
    named = {
        name if name.endswith("_index") else f"{name}.dwo": content
        for name, content in split.items()
    }
    return elf_of({**main, **named})


def seeds() -> Iterator[tuple[str, bytes]]:
    """Each with a name for its file."""
    for index_version, version in VERSIONS.items():
        dwarf = Dwarf([whole_program(version)])
        [split] = dwarf.split_sections()
        yield f"split-{version}", with_split(dwarf.sections(), split)
        made = Made(index_version)
        sections = with_split(made.main_sections, made.package.encode())
        yield f"package-{version}", sections
    named = Die(
        Tag.namespace,
        {At.name: Form.strp("N")},
        Die(Tag.subprogram, {At.name: Form.strp("f"), At.declaration: True}, label="f"),
    )
    for form in (Form.GNU_ref_alt, Form.ref_sup4, Form.ref_sup8):
        text = Form.GNU_strp_alt if form == Form.GNU_ref_alt else Form.strp_sup
        user = function(
            None,
            0x1000,
            0x1010,
            function("g", 0x1004, 0x1008, attributes={At.linkage_name: text("f")}),
            attributes={At.specification: form(Ref("f"))},
        )
        dwarf = Dwarf([unit(named, user)])
        yield f"supplementary-{form.name}", elf_of(dwarf.sections())


def main(folder: str) -> None:
    """Write them all."""
    Path(folder).mkdir(parents=True, exist_ok=True)
    for name, data in seeds():
        # The size chooses the roles that the file plays.
        for more in range(0, 8, 2):
            Path(folder, f"{name}-{more}").write_bytes(data + bytes(more))


if __name__ == "__main__":
    main(*sys.argv[1:])
