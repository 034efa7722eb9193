/* bulk.c - look up addresses of many modules, each distinct address once.
 *
 * A row has the number of a stack, a stack has frames, a frame has numbers of texts. So all
 * work but the numbering of rows depends only on the number of distinct addresses. */
#include "base/tables.h"
#include "gsym/batch.h"
#include "text/text.h"
#include "text/text_table.h"

/* Stacks that every bulk has, for rows that are not looked up. */
enum { STACK_NO_ADDRESS, STACK_NO_MODULE, STACK_OUTSIDE, FIRST_STACKS };

enum {
    /* How many rows ahead the slot of an address in the table is prefetched, and the
     * address itself; the first frame of a stack, and the number of that. Not by a function
     * that only prefetches: gcc 12 drops calls of it. */
    AHEAD_PLACE = 8,
    AHEAD_ADDRESS = 24,
    AHEAD_FRAME = 16,
    AHEAD_STACK = 48,
    ROWS_PER_ADDRESS = 8, /* a guess, from which the first size of a table is computed */
    /* Frames for which memory is reserved at first. The system gives pages when they are
     * written, and moves a large list without a copy when it grows. */
    FRAMES_PER_ROW = 2,
    FRAMES_PER_STACK = 4
};

/* A frame in one place, since rows have them in any order. */
typedef struct {
    uint64_t offset;
    uint32_t name, file; /* numbers in name_texts and file_texts */
    uint32_t line;
    uint8_t inlined, answered;
} bulk_frame;

typedef LIST(uint32_t) number_list;

typedef struct {
    number_list firsts;  /* the first frame of each stack */
    number_list reasons; /* for each stack, why it has no answer */
    uint32_t frame_count;
} stack_list;

typedef struct {
    LIST(bulk_frame) frames;
    text_table names, files;
} frame_table;

typedef struct {
    number_map stacks; /* address -> stack */
    uint64_t image_base;
} known_module;

struct gsym_known {
    LIST(known_module) modules;
    stack_list stacks;
    bool keeps_frames;
    frame_table frames; /* those of all stacks, if they are kept */
};

struct gsym_bulk {
    gsym_rows rows;
    gsym_known *known;
    uint32_t first_frame; /* number of the first frame of this bulk; lower numbers are
                             those of earlier bulks */
    uint32_t *order;      /* rows with an address, sorted by module */
    uint32_t *starts;     /* first row of each module in `order`, and the end */
    uint32_t *stacks;     /* stack of each row, a number; in `used` if frames are kept */
    gsym_batch found;     /* the frames of the module that is looked up; their
                             address_index is the number of a stack */
    frame_table frames;   /* those of all modules */
    number_map numbers;   /* name or file of the present module -> number of its text */
    LIST(uint64_t) asked; /* addresses of one module that earlier bulks did not have, each
                             once */
    /* If frames are kept, a bulk has the stacks of its own rows, with copies of their
     * frames and texts. */
    stack_list used;
    number_list sources;              /* the known stack of each used one */
    number_list uses;                 /* number of a known stack in `used`, plus 1, or 0 */
    number_list name_uses, file_uses; /* own number of a known text, or 0 */
};

/* ---- stacks and frames --------------------------------------------------------------- */

static void stack_list_deinit(stack_list *list) {
    free(list->firsts.items);
    free(list->reasons.items);
}

/* Text 0 is the empty one, for frames without an answer. */
static bool frame_table_begin(frame_table *table) {
    gsym_error ignored;
    uint32_t empty;
    return text_table_begin(&table->names) && text_table_begin(&table->files) &&
           text_table_end(&table->names, &empty, &ignored) == GSYM_OK &&
           text_table_end(&table->files, &empty, &ignored) == GSYM_OK;
}

static void frame_table_deinit(frame_table *table) {
    free(table->frames.items);
    text_table_deinit(&table->names);
    text_table_deinit(&table->files);
}

static uint32_t stack_end(const stack_list *list, uint32_t stack) {
    return stack + 1 < list->firsts.count ? list->firsts.items[stack + 1]
                                          : list->frame_count;
}

/* ---- what is known ------------------------------------------------------------------- */

gsym_status gsym_known_create(int keep_frames, gsym_known **known_ret, gsym_error *error) {
    gsym_known *known = calloc(1, sizeof *known);
    if (known == NULL) return gsym_fail_memory(error);
    known->keeps_frames = keep_frames != 0;
    if (known->keeps_frames && !frame_table_begin(&known->frames)) {
        gsym_known_destroy(known);
        return gsym_fail_memory(error);
    }
    *known_ret = known;
    return GSYM_OK;
}

void gsym_known_destroy(gsym_known *known) {
    if (known == NULL) return;
    for (size_t i = 0; i < known->modules.count; ++i)
        number_map_deinit(&known->modules.items[i].stacks);
    free(known->modules.items);
    stack_list_deinit(&known->stacks);
    frame_table_deinit(&known->frames);
    free(known);
}

size_t gsym_known_size(const gsym_known *known) {
    const frame_table *frames = &known->frames;
    size_t size = known->stacks.firsts.count * 2 * sizeof *known->stacks.firsts.items +
                  frames->frames.count * sizeof *frames->frames.items +
                  frames->names.bytes.size + frames->files.bytes.size;
    for (size_t i = 0; i < known->modules.count; ++i)
        size += sizeof(known_module) + number_map_size(&known->modules.items[i].stacks);
    return size;
}

/* Return what is known of a module; NULL where memory ran out. */
static known_module *known_of(gsym_known *known, uint32_t number) {
    while (known->modules.count <= number)
        if (!LIST_ADD(known->modules, (known_module){0})) return NULL;
    return &known->modules.items[number];
}

/* Return the table that gets the frames of new stacks. */
static frame_table *new_frames(gsym_bulk *bulk) {
    return bulk->known->keeps_frames ? &bulk->known->frames : &bulk->frames;
}

/* Return the stacks that the rows of a bulk have. */
static const stack_list *stacks_of(const gsym_bulk *bulk) {
    return bulk->known->keeps_frames ? &bulk->used : &bulk->known->stacks;
}

/* ---- the rows ------------------------------------------------------------------------ */

static bool has_address(const gsym_rows *rows, size_t row) {
    return rows->has_address == NULL || rows->has_address[row] != 0;
}

/* Sort the rows that can be answered by module, with a counting sort. The other rows get
 * one of the stacks that every bulk has. */
static void sort_rows(gsym_bulk *bulk) {
    const gsym_rows *rows = &bulk->rows;
    uint32_t *starts = bulk->starts, sum = 0;
    for (size_t row = 0; row < rows->count; ++row) {
        uint32_t module = rows->modules[row];
        bool has_module = module < rows->module_count;
        bulk->stacks[row] = has_address(rows, row) ? STACK_NO_MODULE : STACK_NO_ADDRESS;
        if (has_module && has_address(rows, row)) ++starts[module + 1];
    }
    /* During the sort, starts[module + 1] is the position of the module's next row. */
    for (uint32_t module = 0; module < rows->module_count; ++module) {
        uint32_t size = starts[module + 1];
        starts[module + 1] = sum;
        sum += size;
    }
    for (size_t row = 0; row < rows->count; ++row)
        if (rows->modules[row] < rows->module_count && has_address(rows, row))
            bulk->order[starts[rows->modules[row] + 1]++] = (uint32_t)row;
}

static bool add_stack(gsym_bulk *bulk, size_t frame, uint32_t reason) {
    return frame < UINT32_MAX - bulk->first_frame &&
           LIST_ADD(bulk->known->stacks.firsts, bulk->first_frame + (uint32_t)frame) &&
           LIST_ADD(bulk->known->stacks.reasons, reason);
}

static bool add_miss_stack(gsym_bulk *bulk, uint32_t reason) {
    frame_table *table = new_frames(bulk);
    if (!add_stack(bulk, table->frames.count, reason) ||
        !LIST_ADD(table->frames, (bulk_frame){0}) ||
        (bulk->known->keeps_frames && !LIST_ADD(bulk->uses, 0)))
        return false;
    bulk->known->stacks.frame_count++;
    return true;
}

/* Set the number by which rows name a known stack; false where memory ran out. */
static bool use_stack(gsym_bulk *bulk, uint32_t stack, uint32_t *number_ret) {
    uint32_t *use;
    *number_ret = stack;
    if (!bulk->known->keeps_frames) return true;
    use = &bulk->uses.items[stack];
    if (*use == 0) {
        if (!LIST_ADD(bulk->sources, stack)) return false;
        *use = (uint32_t)bulk->sources.count;
    }
    *number_ret = *use - 1;
    return true;
}

/* Make a list of zeros; false where memory ran out. */
static bool zero_numbers(number_list *list, size_t count) {
    if (!LIST_RESERVE(*list, count + 1)) return false;
    memset(list->items, 0, count * sizeof *list->items);
    list->count = count;
    return true;
}

/* Give a bulk the stacks that every bulk has. */
static bool begin_stacks(gsym_bulk *bulk) {
    uint32_t number;
    const stack_list *known = &bulk->known->stacks;
    if (bulk->known->keeps_frames && !zero_numbers(&bulk->uses, known->firsts.count))
        return false;
    if (known->firsts.count < FIRST_STACKS &&
        !(add_miss_stack(bulk, GSYM_MISS_NO_ADDRESS) &&
          add_miss_stack(bulk, GSYM_MISS_NO_MODULE) &&
          add_miss_stack(bulk, GSYM_MISS_NO_FUNCTION)))
        return false;
    for (uint32_t stack = 0; stack < FIRST_STACKS; ++stack)
        if (!use_stack(bulk, stack, &number)) return false;
    return true;
}

/* Allocate memory. */
static bool begin(gsym_bulk *bulk) {
    size_t count = bulk->rows.count + 1;
    bulk->order = malloc(count * sizeof *bulk->order);
    bulk->stacks = malloc(count * sizeof *bulk->stacks);
    bulk->starts = calloc((size_t)bulk->rows.module_count + 1, sizeof *bulk->starts);
    return bulk->order != NULL && bulk->stacks != NULL && bulk->starts != NULL &&
           (bulk->known->keeps_frames ||
            LIST_RESERVE(bulk->frames.frames, bulk->rows.count * FRAMES_PER_ROW)) &&
           frame_table_begin(&bulk->frames) && begin_stacks(bulk);
}

gsym_status gsym_bulk_create(const gsym_rows *rows, gsym_known *known,
                             gsym_bulk **bulk_ret, gsym_error *error) {
    gsym_bulk *bulk;
    if (rows->count > UINT32_MAX - FIRST_STACKS || rows->module_count == UINT32_MAX)
        return gsym_fail(error, GSYM_E_ARGUMENT, 0, "too many rows or modules");
    bulk = calloc(1, sizeof *bulk);
    if (bulk == NULL) return gsym_fail_memory(error);
    bulk->rows = *rows;
    bulk->known = known;
    bulk->first_frame = known->keeps_frames ? 0 : known->stacks.frame_count;
    if (!begin(bulk)) {
        gsym_bulk_destroy(bulk);
        return gsym_fail_memory(error);
    }
    sort_rows(bulk);
    *bulk_ret = bulk;
    return GSYM_OK;
}

void gsym_bulk_destroy(gsym_bulk *bulk) {
    if (bulk == NULL) return;
    free(bulk->order);
    free(bulk->starts);
    free(bulk->stacks);
    batch_deinit(&bulk->found);
    frame_table_deinit(&bulk->frames);
    number_map_deinit(&bulk->numbers);
    free(bulk->asked.items);
    stack_list_deinit(&bulk->used);
    free(bulk->sources.items);
    free(bulk->uses.items);
    free(bulk->name_uses.items);
    free(bulk->file_uses.items);
    free(bulk);
}

uint32_t gsym_bulk_rows_of(const gsym_bulk *bulk, uint32_t module) {
    return bulk->starts[module + 1] - bulk->starts[module];
}

/* ---- the addresses of a module ------------------------------------------------------- */

/* Compute the link-time address to look up for a row; false if it is negative or above 64
 * bits. */
static bool address_of(const gsym_rows *rows, uint32_t row, uint64_t image_base,
                       uint64_t *address_ret) {
    uint64_t address = rows->addresses[row], returned = 0;
    if (rows->returns != NULL) returned = rows->returns[row] != 0;
    if (rows->bases != NULL) {
        if (address < rows->bases[row]) return false;
        address -= rows->bases[row];
        if (address > UINT64_MAX - image_base) return false;
        address += image_base;
    }
    *address_ret = address - returned;
    return address >= returned;
}

/* Give each row the number of its stack, new ones in the order of first use. */
static bool number_addresses(gsym_bulk *bulk, uint32_t module, number_map *known,
                             uint64_t image_base) {
    const uint32_t *order = bulk->order + bulk->starts[module];
    uint32_t count = gsym_bulk_rows_of(bulk, module);
    uint64_t first = bulk->known->stacks.firsts.count, address, number;
    bulk->asked.count = 0;
    if (known->slots == NULL && !number_map_reset(known, count / ROWS_PER_ADDRESS))
        return false;
    for (uint32_t i = 0; i < count; ++i) {
        if (i + AHEAD_ADDRESS < count)
            __builtin_prefetch(bulk->rows.addresses + order[i + AHEAD_ADDRESS]);
        if (i + AHEAD_PLACE < count &&
            address_of(&bulk->rows, order[i + AHEAD_PLACE], image_base, &address))
            number_map_fetch(known, address);
        if (!address_of(&bulk->rows, order[i], image_base, &address)) {
            bulk->stacks[order[i]] = STACK_OUTSIDE;
            continue;
        }
        if (!number_map_find(known, address, &number)) {
            number = first + bulk->asked.count;
            if (!LIST_ADD(bulk->asked, address) ||
                (bulk->known->keeps_frames && !LIST_ADD(bulk->uses, 0)) ||
                !number_map_set(known, address, number))
                return false;
        }
        if (!use_stack(bulk, (uint32_t)number, &bulk->stacks[order[i]])) return false;
    }
    return true;
}

/* ---- the texts of a module ----------------------------------------------------------- */

static void put_string(text_table *texts, const gsym_image *image, uint64_t strp) {
    size_t size;
    const char *bytes = gsym_image_string(image, strp, &size);
    text_table_put(texts, bytes, size);
}

static void put_path(text_table *texts, const gsym_image *image, uint64_t file) {
    image_path path;
    if (file == 0 || !image_path_get(image, (uint32_t)file, &path)) return;
    text_table_put(texts, path.directory, path.directory_size);
    text_table_put(texts, &path.separator, path.separator != 0);
    text_table_put(texts, path.basename, path.basename_size);
}

typedef void put_text(text_table *texts, const gsym_image *image, uint64_t number);

/* Find the number of the text of a name or file of the image; each text is made once. */
static gsym_status find_text(gsym_bulk *bulk, text_table *texts, put_text *put,
                             const gsym_image *image, uint64_t number, uint32_t *text_ret,
                             gsym_error *error) {
    uint64_t known;
    if (number_map_find(&bulk->numbers, number, &known)) {
        *text_ret = (uint32_t)known;
        return GSYM_OK;
    }
    put(texts, image, number);
    GSYM_TRY(text_table_end(texts, text_ret, error));
    return number_map_set(&bulk->numbers, number, *text_ret) ? GSYM_OK
                                                             : gsym_fail_memory(error);
}

/* Add the frames that were found. */
static gsym_status add_frames(gsym_bulk *bulk, const gsym_image *image, gsym_error *error) {
    const gsym_batch *found = &bulk->found;
    frame_table *table = new_frames(bulk);
    size_t count = found->count;
    bulk_frame *frames;
    if (!LIST_RESERVE(table->frames, count) ||
        !number_map_reset(&bulk->numbers, count / ROWS_PER_ADDRESS))
        return gsym_fail_memory(error);
    frames = table->frames.items + table->frames.count;
    for (size_t i = 0; i < count; ++i) {
        frames[i] = (bulk_frame){.offset = found->offset[i],
                              .line = found->line[i],
                              .inlined = found->inlined[i] != 0,
                              .answered = found->miss[i] == GSYM_MISS_NONE};
        GSYM_TRY(find_text(bulk, &table->names, put_string, image, found->name[i],
                           &frames[i].name, error));
    }
    if (!number_map_reset(&bulk->numbers, count / ROWS_PER_ADDRESS))
        return gsym_fail_memory(error);
    for (size_t i = 0; i < count; ++i)
        GSYM_TRY(find_text(bulk, &table->files, put_path, image, found->file[i],
                           &frames[i].file, error));
    table->frames.count += count;
    return GSYM_OK;
}

/* Add the stacks of the frames that were found. */
static bool add_stacks(gsym_bulk *bulk) {
    const gsym_batch *found = &bulk->found;
    stack_list *known = &bulk->known->stacks;
    size_t first = new_frames(bulk)->frames.count, end = first + found->count;
    for (size_t i = 0; i < found->count; ++i)
        if (found->address_index[i] >= known->firsts.count &&
            !add_stack(bulk, first + i, found->miss[i]))
            return false;
    if (end > UINT32_MAX - bulk->first_frame) return false;
    known->frame_count = bulk->first_frame + (uint32_t)end;
    return true;
}

gsym_status gsym_bulk_look_up(gsym_bulk *bulk, uint32_t module, uint32_t number,
                              const gsym_image *image, gsym_error *error) {
    gsym_known *known = bulk->known;
    known_module *own = known_of(known, number);
    if (own == NULL) return gsym_fail_memory(error);
    if (image != NULL) own->image_base = image->header.base_address;
    if (!number_addresses(bulk, module, &own->stacks, own->image_base))
        return gsym_fail_memory(error);
    if (image == NULL)
        return bulk->asked.count == 0
                   ? GSYM_OK
                   : gsym_fail(error, GSYM_E_ARGUMENT, 0, "an address is not known");
    bulk->found.count = 0;
    GSYM_TRY(batch_look_up(&bulk->found, image, bulk->asked.items, bulk->asked.count,
                           (uint32_t)known->stacks.firsts.count, true, error));
    if (!add_stacks(bulk)) return gsym_fail_memory(error);
    return add_frames(bulk, image, error);
}

int gsym_bulk_damaged(const gsym_bulk *bulk, uint64_t *address_ret) {
    const gsym_batch *found = &bulk->found;
    const size_t first = bulk->known->stacks.firsts.count - bulk->asked.count;
    if (found->damaged == 0) return 0;
    for (size_t i = 0; i < found->count; ++i) {
        if (found->miss[i] != GSYM_MISS_DAMAGED) continue;
        *address_ret = bulk->asked.items[found->address_index[i] - first];
        return 1;
    }
    return 0;
}

gsym_status gsym_bulk_miss(gsym_bulk *bulk, uint32_t module, uint32_t reason,
                           gsym_error *error) {
    uint32_t stack = (uint32_t)bulk->known->stacks.firsts.count;
    if (!add_miss_stack(bulk, reason) || !use_stack(bulk, stack, &stack))
        return gsym_fail_memory(error);
    for (uint32_t i = bulk->starts[module]; i < bulk->starts[module + 1]; ++i)
        bulk->stacks[bulk->order[i]] = stack;
    return GSYM_OK;
}

/* ---- the stacks of a bulk, if frames are kept ---------------------------------------- */

/* Replace the number of a known text by that of a copy, which is made once. */
static bool use_text(text_table *own, number_list *uses, const text_table *known,
                     uint32_t *number) {
    uint32_t *use = &uses->items[*number];
    if (*use == 0 && *number != 0) {
        const int32_t *offsets = known->offsets.items + *number;
        *use = (uint32_t)own->offsets.count - 1;
        buffer_put(&own->bytes, known->bytes.bytes + offsets[0],
                   (size_t)(offsets[1] - offsets[0]));
        if (own->bytes.failed || !LIST_ADD(own->offsets, (int32_t)own->bytes.size))
            return false;
    }
    *number = *use;
    return true;
}

/* Copy the frames of a known stack. */
static bool copy_stack(gsym_bulk *bulk, uint32_t stack) {
    const gsym_known *known = bulk->known;
    const frame_table *from = &known->frames;
    frame_table *to = &bulk->frames;
    uint32_t end = stack_end(&known->stacks, stack);
    if (!LIST_ADD(bulk->used.firsts, (uint32_t)to->frames.count) ||
        !LIST_ADD(bulk->used.reasons, known->stacks.reasons.items[stack]))
        return false;
    for (uint32_t at = known->stacks.firsts.items[stack]; at < end; ++at) {
        bulk_frame frame = from->frames.items[at];
        if (!use_text(&to->names, &bulk->name_uses, &from->names, &frame.name) ||
            !use_text(&to->files, &bulk->file_uses, &from->files, &frame.file) ||
            !LIST_ADD(to->frames, frame))
            return false;
    }
    return true;
}

gsym_status gsym_bulk_end(gsym_bulk *bulk, gsym_error *error) {
    const gsym_known *known = bulk->known;
    const number_list *firsts = &known->stacks.firsts;
    if (!known->keeps_frames) return GSYM_OK;
    if (!zero_numbers(&bulk->name_uses, known->frames.names.offsets.count) ||
        !zero_numbers(&bulk->file_uses, known->frames.files.offsets.count) ||
        !LIST_RESERVE(bulk->frames.frames, bulk->sources.count * FRAMES_PER_STACK))
        return gsym_fail_memory(error);
    for (size_t i = 0; i < bulk->sources.count; ++i) {
        if (i + AHEAD_STACK < bulk->sources.count)
            __builtin_prefetch(firsts->items + bulk->sources.items[i + AHEAD_STACK]);
        if (i + AHEAD_FRAME < bulk->sources.count)
            __builtin_prefetch(known->frames.frames.items +
                               firsts->items[bulk->sources.items[i + AHEAD_FRAME]]);
        if (!copy_stack(bulk, bulk->sources.items[i])) return gsym_fail_memory(error);
    }
    bulk->used.frame_count = (uint32_t)bulk->frames.frames.count;
    return GSYM_OK;
}

/* ---- the answers --------------------------------------------------------------------- */

static gsym_texts texts_of(const text_table *table) {
    return (gsym_texts){.count = table->offsets.count - 1,
                        .offsets = table->offsets.items,
                        .bytes = (const char *)table->bytes.bytes};
}

void gsym_bulk_view(const gsym_bulk *bulk, gsym_bulk_columns *columns_ret) {
    const stack_list *stacks = stacks_of(bulk);
    *columns_ret = (gsym_bulk_columns){
        .stacks = bulk->stacks,
        .stack_count = stacks->firsts.count,
        .reasons = stacks->reasons.items,
        .first_frame = bulk->first_frame,
        .frame_count = bulk->frames.frames.count,
        .name_texts = texts_of(&bulk->frames.names),
        .file_texts = texts_of(&bulk->frames.files),
    };
}

/* Return the first frame of the stack of a row; of the last one after all rows. */
static const uint32_t *first_of(const gsym_bulk *bulk, size_t row) {
    size_t at = row < bulk->rows.count ? row : bulk->rows.count - 1;
    return &stacks_of(bulk)->firsts.items[bulk->stacks[at]];
}

static const bulk_frame *frame_of(const gsym_bulk *bulk, size_t row) {
    return bulk->frames.frames.items + (*first_of(bulk, row) - bulk->first_frame);
}

gsym_status gsym_bulk_offsets(const gsym_bulk *bulk, size_t first, size_t count, int misses,
                              int32_t *offsets_ret, gsym_error *error) {
    const stack_list *stacks = stacks_of(bulk);
    uint64_t end = 0;
    for (size_t row = first; row < first + count; ++row) {
        uint32_t stack = bulk->stacks[row];
        *offsets_ret++ = (int32_t)end;
        const uint32_t *ahead = first_of(bulk, row + AHEAD_STACK);
        __builtin_prefetch(ahead);
        __builtin_prefetch(stacks->reasons.items + (ahead - stacks->firsts.items));
        if (misses || stacks->reasons.items[stack] == GSYM_MISS_NONE)
            end += stack_end(stacks, stack) - stacks->firsts.items[stack];
        if (end > INT32_MAX)
            return gsym_fail(error, GSYM_E_LIMIT, 0,
                             "more than 2^31 - 1 frames; use smaller batches");
    }
    *offsets_ret = (int32_t)end;
    return GSYM_OK;
}

void gsym_bulk_items(const gsym_bulk *bulk, size_t first, size_t count,
                     const int32_t *offsets, uint32_t *items_ret) {
    for (size_t i = 0; i < count; ++i) {
        uint32_t frame = stacks_of(bulk)->firsts.items[bulk->stacks[first + i]];
        for (int32_t at = offsets[i]; at < offsets[i + 1]; ++at)
            items_ret[at] = frame++;
    }
}

/* Write the bitmaps of up to 8 frames, of which each has a byte. */
static void put_bits(const gsym_frame_columns *columns, size_t byte, uint64_t bits) {
    columns->has_name[byte] = (uint8_t)bits;
    columns->has_file[byte] = (uint8_t)(bits >> 8);
    columns->has_line[byte] = (uint8_t)(bits >> 16);
    columns->answered[byte] = (uint8_t)(bits >> 24);
    columns->inlined[byte] = (uint8_t)(bits >> 32);
}

/* Write frames that are side by side from the place `at` on; `bits` are those that are not
 * written yet. Returns these. */
static uint64_t put_frames(const bulk_frame *frame, size_t at, size_t end, uint64_t bits,
                           const gsym_frame_columns *columns) {
    for (; at < end; ++at, ++frame) {
        columns->names[at] = frame->name;
        columns->files[at] = frame->file;
        columns->lines[at] = frame->line;
        columns->offsets[at] = frame->offset;
        bits |= ((uint64_t)(frame->name != 0) | (uint64_t)(frame->file != 0) << 8 |
                 (uint64_t)(frame->line != 0) << 16 | (uint64_t)frame->answered << 24 |
                 (uint64_t)frame->inlined << 32)
                << at % 8;
        if (at % 8 == 7) {
            put_bits(columns, at / 8, bits);
            bits = 0;
        }
    }
    return bits;
}

void gsym_bulk_frames(const gsym_bulk *bulk, size_t first, size_t count,
                      const int32_t *offsets, const gsym_frame_columns *columns) {
    size_t end = offsets == NULL ? bulk->frames.frames.count : (size_t)offsets[count];
    uint64_t bits = 0;
    if (offsets == NULL) {
        bits = put_frames(bulk->frames.frames.items, 0, end, 0, columns);
    } else {
        for (size_t i = 0; i < count; ++i) {
            __builtin_prefetch(first_of(bulk, first + i + AHEAD_STACK));
            __builtin_prefetch(frame_of(bulk, first + i + AHEAD_FRAME));
            bits = put_frames(frame_of(bulk, first + i), (size_t)offsets[i],
                              (size_t)offsets[i + 1], bits, columns);
        }
    }
    if (end % 8 != 0) put_bits(columns, end / 8, bits);
}
