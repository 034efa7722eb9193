# The compiled engine; only gsym/_native.py imports it.
from typing import Any

ffi: Any
lib: Any
