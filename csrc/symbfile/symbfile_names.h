/* symbfile_names.h - names and paths of an image as strings of a symbfile. */
#ifndef GSYM_SYMBFILE_SYMBFILE_NAMES_H
#define GSYM_SYMBFILE_SYMBFILE_NAMES_H

#include "export/function_walk.h"

struct gsym_symbfile_names {
    const gsym_image *image;
    function_walk walk;
    name_numbers names;
    bool is_counted;
    uint32_t *strings;     /* of each name: its number in the writer */
    uint64_t string_count; /* of those that are known */
    uint32_t *files;       /* of each file: number of its path, 0: not asked for yet */
    uint64_t text_left;    /* bytes of names and paths that may still come */
    buffer text;           /* scratch */
};

/* The string of a name, 0 where it was not collected; "<name omitted>" for the empty one. */
uint32_t symbfile_names_function(const gsym_symbfile_names *names, uint64_t strp);
/* The string of the path of a file; 0 for no file. */
gsym_status symbfile_names_file(gsym_symbfile_names *names, gsym_symbfile_writer *writer,
                                uint32_t file, uint32_t *string_ret, gsym_error *error);

#endif
