/* unit_fingerprint.h - tells repeated functions before they are encoded. */
#ifndef GSYM_SOURCES_UNIT_FINGERPRINT_H
#define GSYM_SOURCES_UNIT_FINGERPRINT_H

#include "sources/unit_functions.h"

/* What a file code adds to the fingerprint of the rows that name it. */
uint64_t fingerprint_of_file(const unit_functions *result, uint32_t code);
/* Complete function->fingerprint, which holds that of the rows. */
void fingerprint_function(const unit_functions *result, unit_function *function);

#endif
