"""Log addresses of this process now; `gsym filter` symbolizes them later.

python log_addresses.py > app.log
gsym filter --debug-file-directory=/usr/lib/debug --debuginfod app.log
"""

import ctypes

from gsym.formats.markup import encode
from gsym.formats.markup_elements import Pc
from gsym.markup_filter.own_modules import own_modules_markup

print(own_modules_markup(), end="")
function = ctypes.cast(ctypes.CDLL(None).qsort, ctypes.c_void_p).value or 0
print("sorting is done by", encode(Pc(function, "pc")))
