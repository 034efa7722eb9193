/* record_fault.h - what is wrong with a record, as llvm-gsymutil would say it. */
#ifndef GSYM_GSYM_RECORD_FAULT_H
#define GSYM_GSYM_RECORD_FAULT_H

#include "gsym/image.h"

/* Put LLVM's reason to refuse the record of an entry into *error, whose text stays
 * as it is where LLVM would find nothing. Gives GSYM_E_FORMAT. */
gsym_status record_fault(const gsym_image *image, uint32_t index, gsym_error *error);

#endif
