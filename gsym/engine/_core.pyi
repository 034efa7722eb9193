# The compiled engine; only gsym/engine/native.py imports it.
from typing import Any

ffi: Any
lib: Any
