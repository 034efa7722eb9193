/* entry_copy.c - functions of another GSYM file, in this file's numbers, and its
 * sections of unknown type.
 *
 * Strings and files are interned anew, in the order in which LLVM's converter
 * meets them. Numbers of files are remembered for the length of one call only:
 * nothing tells when an image makes room for another at the same address. */
#include "creator_state.h"
#include "image.h"

typedef struct entry_copy {
    gsym_creator *creator;
    entry_scratch *scratch;
    const gsym_image *image;
    /* How much of the scratch arrays is in use. */
    size_t row_count, node_count, regex_count;
} entry_copy;

#define RESERVE(array, count)                                                            \
    ((count) < (array).capacity ||                                                       \
     array_reserve(&(array).items, &(array).capacity, (count), sizeof *(array).items))

static bool reserve_files(entry_scratch *scratch, uint32_t count) {
    size_t old = scratch->files.capacity;
    if (!RESERVE(scratch->files, count)) return false;
    memset(scratch->files.items + old, 0,
           (scratch->files.capacity - old) * sizeof *scratch->files.items);
    return true;
}

/* Room for all at once: no array may move while a function points into it. */
static bool reserve_all(entry_scratch *scratch, const gsym_function *function) {
    size_t rows = function->row_count, nodes = function->node_count;
    size_t regexes = function->regex_count;
    for (size_t i = 0; i < function->merged_count; ++i) {
        rows += function->merged[i].row_count;
        nodes += function->merged[i].node_count;
        regexes += function->merged[i].regex_count;
    }
    return RESERVE(scratch->rows, rows) && RESERVE(scratch->nodes, nodes) &&
           RESERVE(scratch->regexes, regexes) &&
           RESERVE(scratch->merged, function->merged_count);
}

static gsym_status copy_string(entry_copy *copy, uint64_t strp, uint64_t *strp_ret,
                               gsym_error *error) {
    size_t size;
    const char *bytes = gsym_image_string(copy->image, strp, &size);
    return gsym_creator_add_string(copy->creator, bytes, size, strp_ret, error);
}

static gsym_status copy_file(entry_copy *copy, uint32_t index, uint32_t *file_ret,
                             gsym_error *error) {
    uint64_t directory, basename;
    known_file *known;
    *file_ret = 0;
    if (index == 0) return GSYM_OK; /* no file, here and there */
    GSYM_TRY(gsym_image_file(copy->image, index, &directory, &basename, error));
    known = &copy->scratch->files.items[index];
    if (known->generation == copy->scratch->generation) {
        *file_ret = known->file;
        return GSYM_OK;
    }
    GSYM_TRY(copy_string(copy, directory, &directory, error));
    GSYM_TRY(copy_string(copy, basename, &basename, error));
    GSYM_TRY(gsym_creator_add_file(copy->creator, directory, basename, file_ret, error));
    *known = (known_file){copy->scratch->generation, *file_ret};
    return GSYM_OK;
}

static gsym_status copy_rows(entry_copy *copy, gsym_function *function,
                             gsym_error *error) {
    gsym_line_row *rows = copy->scratch->rows.items + copy->row_count;
    for (size_t i = 0; i < function->row_count; ++i) {
        rows[i] = function->rows[i];
        GSYM_TRY(copy_file(copy, rows[i].file, &rows[i].file, error));
    }
    function->rows = rows;
    copy->row_count += function->row_count;
    return GSYM_OK;
}

static gsym_status copy_nodes(entry_copy *copy, gsym_function *function,
                              gsym_error *error) {
    gsym_inline_node *nodes = copy->scratch->nodes.items + copy->node_count;
    for (size_t i = 0; i < function->node_count; ++i) {
        nodes[i] = function->nodes[i];
        GSYM_TRY(copy_string(copy, nodes[i].name, &nodes[i].name, error));
        GSYM_TRY(copy_file(copy, nodes[i].call_file, &nodes[i].call_file, error));
    }
    function->nodes = nodes;
    copy->node_count += function->node_count;
    return GSYM_OK;
}

static gsym_status copy_regexes(entry_copy *copy, gsym_function *function,
                                gsym_error *error) {
    uint64_t *regexes = copy->scratch->regexes.items + copy->regex_count;
    for (size_t i = 0; i < function->regex_count; ++i)
        GSYM_TRY(copy_string(copy, function->regexes[i], &regexes[i], error));
    function->regexes = regexes;
    copy->regex_count += function->regex_count;
    return GSYM_OK;
}

/* All but the functions merged into it. */
static gsym_status copy_function(entry_copy *copy, gsym_function *function,
                                 gsym_error *error) {
    GSYM_TRY(copy_string(copy, function->name, &function->name, error));
    GSYM_TRY(copy_rows(copy, function, error));
    GSYM_TRY(copy_nodes(copy, function, error));
    return copy_regexes(copy, function, error);
}

/* The values came out of a file, so where they contradict each other it is damaged. */
static gsym_status blame_record(const gsym_image *image, uint32_t index,
                                gsym_status status, gsym_error *error) {
    uint64_t address, offset;
    if (status != GSYM_E_ARGUMENT) return status;
    GSYM_TRY(gsym_image_entry(image, index, &address, &offset, error));
    error->status = GSYM_E_FORMAT;
    error->offset = offset;
    return GSYM_E_FORMAT;
}

gsym_status gsym_creator_add_entry(gsym_creator *creator, const gsym_image *image,
                                   gsym_record *record, uint32_t index,
                                   gsym_error *error) {
    entry_scratch *scratch = &creator->scratch;
    entry_copy copy = {.creator = creator, .scratch = scratch, .image = image};
    const gsym_function *decoded;
    gsym_function function;
    gsym_header header;
    gsym_status status;
    GSYM_TRY(gsym_record_decode(record, image, index, &decoded, error));
    gsym_image_header(image, &header);
    scratch->generation++;
    if (!reserve_files(scratch, header.num_files) || !reserve_all(scratch, decoded))
        return gsym_fail_memory(error);
    function = *decoded;
    GSYM_TRY(copy_function(&copy, &function, error));
    for (size_t i = 0; i < decoded->merged_count; ++i) {
        scratch->merged.items[i] = decoded->merged[i];
        GSYM_TRY(copy_function(&copy, &scratch->merged.items[i], error));
    }
    function.merged = scratch->merged.items;
    status = gsym_creator_add_function(creator, &function, GSYM_ORIGIN_DEBUG_INFO, error);
    return blame_record(image, index, status, error);
}

gsym_status gsym_creator_add_sections(gsym_creator *creator, const gsym_image *image,
                                      gsym_error *error) {
    if (creator->options.version == GSYM_VERSION_1) return GSYM_OK;
    for (uint32_t i = 0; i < image->header.section_count; ++i) {
        gsym_section section;
        GSYM_TRY(gsym_image_section(image, i, &section, error));
        if (section.type > GSYM_SECTION_UUID)
            GSYM_TRY(gsym_creator_add_section(creator, section.type,
                                              image->data + section.offset,
                                              (size_t)section.size, error));
    }
    return GSYM_OK;
}
