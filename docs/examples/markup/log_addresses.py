"""Log addresses of this process now; `gsym filter` symbolizes them later.

python log_addresses.py > app.log
gsym filter --debug-file-directory=/usr/lib/debug --debuginfod app.log
"""

import ctypes

from gsym.markup import Pc, encode, own_modules_markup

print(own_modules_markup(), end="")
function = ctypes.CDLL(None).gnu_get_libc_version
address = ctypes.cast(function, ctypes.c_void_p).value or 0
print("the C library is that of", encode(Pc(address, "pc")))
