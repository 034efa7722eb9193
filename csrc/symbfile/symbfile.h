/* symbfile.h - define the numbers in symbfiles, which are sequences of protobuf messages,
 * each after its length and type.
 *
 * The schema is that of the profilers of Elastic and OpenTelemetry; docs/symbfile.md
 * describes the format. */
#ifndef GSYM_SYMBFILE_SYMBFILE_H
#define GSYM_SYMBFILE_SYMBFILE_H

#include "symbfile/protobuf.h"

#define SYMBFILE_MAGIC "symbfile"

enum { SYMBFILE_MAGIC_SIZE = sizeof SYMBFILE_MAGIC - 1 };

/* Fields of the messages. A text is given by its bytes (STR) or by its number (REF). */
enum symbfile_range_field {
    RANGE_DELTA_ELF_VA = 1, /* or RANGE_SET_ELF_VA */
    RANGE_LENGTH = 2,
    RANGE_FUNC_STR = 3, /* or RANGE_FUNC_REF */
    RANGE_FILE_STR = 4, /* or RANGE_FILE_REF */
    RANGE_CALL_LINE = 5,
    RANGE_CALL_FILE_STR = 6, /* or RANGE_CALL_FILE_REF */
    RANGE_DEPTH = 7,
    RANGE_LINE_TABLE = 8,
    RANGE_FUNC_REF = 9,
    RANGE_FILE_REF = 10,
    RANGE_CALL_FILE_REF = 11,
    RANGE_SET_ELF_VA = 12
};

enum symbfile_line_table_field {
    LINE_TABLE_OFFSET = 1, /* each offset is the difference to the one before */
    LINE_TABLE_LINE_NUMBER = 2
};

enum symbfile_return_pad_field {
    RETURN_PAD_DELTA_ELF_VA = 1,
    RETURN_PAD_FUNC = 2,
    RETURN_PAD_FILE = 3,
    RETURN_PAD_LINE = 4,
    RETURN_PAD_SET_ELF_VA = 5
};

enum symbfile_string_table_field { STRING_TABLE_STRINGS = 1 };

#endif
