"""Log addresses of this process now; `gsym filter` symbolizes them later.

python log_addresses.py > app.log
gsym filter --debug-file-directory=/usr/lib/debug --debuginfod app.log
"""

import ctypes

from gsym.markup.elements import Pc
from gsym.markup.own_modules import own_modules_markup
from gsym.markup.parser import encode

print(own_modules_markup(), end="")
function = ctypes.CDLL(None).gnu_get_libc_version
address = ctypes.cast(function, ctypes.c_void_p).value or 0
print("the C library is that of", encode(Pc(address, "pc")))
