/* lookup.c - find the frames of addresses, and functions by entry or name. */
#include "internal.h"

enum { USUAL_FRAMES = 256 }; /* number of frames for which no memory is allocated */

static void put_location(const gsym_file *file, const gsym_frame *frame,
                         gsym_location *location_ret) {
    location_ret->function = file_string(file, frame->name);
    file_source(file, frame->file, &location_ret->directory, &location_ret->filename);
    location_ret->offset = frame->offset;
    location_ret->line = frame->line;
    location_ret->inlined = frame->inlined;
}

static gsym_status look_up(const gsym_file *file, uint64_t address, gsym_frame *frames,
                           size_t capacity, gsym_answer *answer_ret, gsym_error *error) {
    gsym_lookup_room room = {frames, capacity, NULL, 0};
    return in_file(file->path,
                   gsym_image_lookup(file->image, address, 0, 0, &room, answer_ret, error),
                   error);
}

static void put_locations(const gsym_file *file, const gsym_frame *frames, size_t count,
                          gsym_location *locations) {
    for (size_t i = 0; i < count; ++i) put_location(file, &frames[i], &locations[i]);
}

/* Look up an address that has more than USUAL_FRAMES frames. */
static gsym_status look_up_deep(const gsym_file *file, uint64_t address, size_t count,
                                gsym_location *locations, gsym_error *error) {
    gsym_frame *frames = calloc(count, sizeof *frames);
    gsym_answer answer;
    gsym_status status;
    if (frames == NULL) return gsym_fail_memory(error);
    status = look_up(file, address, frames, count, &answer, error);
    if (status == GSYM_OK) put_locations(file, frames, count, locations);
    free(frames);
    return status;
}

gsym_status gsym_file_lookup(const gsym_file *file, uint64_t address,
                             gsym_location *locations, size_t capacity, size_t *count_ret,
                             gsym_symbol *symbol_ret, gsym_error *error) {
    gsym_frame frames[USUAL_FRAMES];
    gsym_answer answer;
    size_t count;
    GSYM_TRY(look_up(file, address, frames,
                     capacity < USUAL_FRAMES ? capacity : USUAL_FRAMES, &answer, error));
    count = answer.frame_count < capacity ? answer.frame_count : capacity;
    if (count <= USUAL_FRAMES)
        put_locations(file, frames, count, locations);
    else
        GSYM_TRY(look_up_deep(file, address, count, locations, error));
    *count_ret = answer.frame_count;
    if (symbol_ret != NULL)
        *symbol_ret = (gsym_symbol){file_string(file, answer.function_name),
                                    answer.function_address, answer.function_size,
                                    answer.entry, 0};
    return GSYM_OK;
}

/* ---- many ---------------------------------------------------------------------------- */

struct gsym_answers {
    size_t count; /* of addresses */
    size_t *ends; /* end of the frames of each address, which begin where the previous ones
                   * end */
    gsym_location *locations;
    uint64_t damaged;
};

/* Copy the rows of a batch, which are ordered by address index. */
static void fill_answers(gsym_answers *answers, const gsym_file *file,
                         const gsym_columns *columns) {
    size_t row = 0;
    for (size_t i = 0; i < answers->count; ++i) {
        for (; row < columns->count && columns->address_index[row] == i; ++row) {
            gsym_frame frame = {.name = columns->name[row],
                                .offset = columns->offset[row],
                                .file = columns->file[row],
                                .line = columns->line[row],
                                .inlined = columns->inlined[row]};
            put_location(file, &frame, &answers->locations[row]);
        }
        answers->ends[i] = row;
    }
    answers->damaged = columns->damaged;
}

static gsym_answers *create_answers(size_t count, size_t location_count) {
    gsym_answers *answers = calloc(1, sizeof *answers);
    if (answers == NULL) return NULL;
    answers->count = count;
    answers->ends = calloc(count + 1, sizeof *answers->ends);
    answers->locations = calloc(location_count + 1, sizeof *answers->locations);
    if (answers->ends != NULL && answers->locations != NULL) return answers;
    gsym_answers_destroy(answers);
    return NULL;
}

gsym_status gsym_file_lookup_many(const gsym_file *file, const uint64_t *addresses,
                                  size_t count, gsym_answers **answers_ret,
                                  gsym_error *error) {
    gsym_answers *answers;
    gsym_columns columns;
    gsym_batch *batch;
    GSYM_TRY(in_file(
        file->path,
        gsym_image_lookup_many(file->image, addresses, count, 0, &batch, error), error));
    gsym_batch_columns(batch, &columns);
    answers = create_answers(count, columns.count);
    if (answers != NULL) fill_answers(answers, file, &columns);
    gsym_batch_destroy(batch);
    if (answers == NULL) return gsym_fail_memory(error);
    *answers_ret = answers;
    return GSYM_OK;
}

const gsym_location *gsym_answers_at(const gsym_answers *answers, size_t index,
                                     size_t *count_ret) {
    size_t start;
    *count_ret = 0;
    if (index >= answers->count) return answers->locations;
    start = index == 0 ? 0 : answers->ends[index - 1];
    *count_ret = answers->ends[index] - start;
    return answers->locations + start;
}

uint64_t gsym_answers_damaged(const gsym_answers *answers) {
    return answers->damaged;
}

void gsym_answers_destroy(gsym_answers *answers) {
    if (answers == NULL) return;
    free(answers->ends);
    free(answers->locations);
    free(answers);
}

/* ---- functions by entry and by name -------------------------------------------------- */

enum { RANGES_AT_ONCE = 64 };

typedef struct symbol_list {
    gsym_symbol *symbols;
    size_t capacity;
    size_t count;
} symbol_list;

/* Append the functions of an entry, or only those called `name`. */
static gsym_status list_ranges(const gsym_file *file, uint32_t entry, const char *name,
                               gsym_function_range *ranges, size_t capacity,
                               size_t *count_ret, symbol_list *list, gsym_error *error) {
    GSYM_TRY(in_file(file->path,
                     gsym_image_functions(file->image, entry, ranges, capacity, count_ret,
                                          error),
                     error));
    if (*count_ret > capacity) return GSYM_OK; /* the caller has to call again with more
                                                  room */
    for (size_t i = 0; i < *count_ret; ++i) {
        const char *own = file_string(file, ranges[i].name);
        if (name != NULL && strcmp(name, own) != 0) continue;
        if (list->count < list->capacity)
            list->symbols[list->count] =
                (gsym_symbol){own, ranges[i].address, ranges[i].size, entry, 0};
        ++list->count;
    }
    return GSYM_OK;
}

static gsym_status list_entry(const gsym_file *file, uint32_t entry, const char *name,
                              symbol_list *list, gsym_error *error) {
    gsym_function_range few[RANGES_AT_ONCE], *many;
    gsym_status status;
    size_t count;
    GSYM_TRY(list_ranges(file, entry, name, few, RANGES_AT_ONCE, &count, list, error));
    if (count <= RANGES_AT_ONCE) return GSYM_OK;
    many = calloc(count, sizeof *many);
    if (many == NULL) return gsym_fail_memory(error);
    status = list_ranges(file, entry, name, many, count, &count, list, error);
    free(many);
    return status;
}

gsym_status gsym_file_symbols(const gsym_file *file, uint32_t entry, gsym_symbol *symbols,
                              size_t capacity, size_t *count_ret, gsym_error *error) {
    symbol_list list = {symbols, capacity, 0};
    GSYM_TRY(file_check_entry(file, entry, error));
    GSYM_TRY(list_entry(file, entry, NULL, &list, error));
    *count_ret = list.count;
    return GSYM_OK;
}

gsym_status gsym_file_find(const gsym_file *file, const char *name, gsym_symbol *symbols,
                           size_t capacity, size_t *count_ret, gsym_error *error) {
    symbol_list list = {symbols, capacity, 0};
    for (uint32_t entry = 0; entry < file->header.num_addresses; ++entry)
        GSYM_TRY(list_entry(file, entry, name, &list, error));
    *count_ret = list.count;
    return GSYM_OK;
}
