"""Addresses of many modules, in Arrow record batches: one kernel, and what calls it."""

from gsym.arrow.modules import Modules as Modules
from gsym.arrow.symbolizing import (
    symbolize as symbolize,
    symbolize_batches as symbolize_batches,
)
