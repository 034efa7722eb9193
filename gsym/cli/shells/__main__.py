"""`python -m gsym.cli.shells FOLDER`: write the files of share/, print their paths."""

from __future__ import annotations

import os
import sys

from gsym.cli.shells.completion import script_files
from gsym.cli.shells.manual import manual_files

for _place, _text in (*script_files(), *manual_files()):
    _path = os.path.join(sys.argv[1], _place)
    os.makedirs(os.path.dirname(_path), exist_ok=True)
    with open(_path, "w", encoding="utf-8") as _file:
        _file.write(_text)
    print(_path)
