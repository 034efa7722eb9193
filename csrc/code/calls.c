/* calls.c - list the calls in the machine code of functions.
 *
 * The instructions of a function are visited from its start to the last address for which a
 * lookup returns it, so that each call belongs to one function. */
#include "code/calls.h"
#include "gsym/function_info.h"
#include "gsym/image.h"
#include "gsym/sweep.h"

typedef unsigned (*instruction_size)(const cursor *code, bool *is_call_ret);

/* Return the decoder of an instruction set, or NULL. */
static instruction_size decoder_of(gsym_instruction_set set) {
    switch (set) {
        case GSYM_INSTRUCTIONS_X86_64: return x86_instruction_size;
        case GSYM_INSTRUCTIONS_AARCH64: return aarch64_instruction_size;
        default: return NULL;
    }
}

typedef struct call_search {
    const gsym_image *image;
    instruction_size size_of;
    const gsym_machine_code *code;
    uint64_t done; /* end of the code visited so far, from the base address */
    gsym_calls *calls;
} call_search;

/* ---- the code of one function ---------------------------------------------------- */

/* Whether the string at `strp` is `text`, of `size` bytes with its NUL. */
static bool is_text(const gsym_image *image, uint64_t strp, const char *text, size_t size) {
    uint64_t table_size = image->header.strtab_size;
    return strp < table_size && table_size - strp >= size &&
           memcmp(image->strings + strp, text, size) == 0;
}

/* Whether a function is runtime.goexit: a goroutine begins as if the first instruction of
 * this function had called it. */
static bool is_goroutine_exit(const gsym_image *image, uint64_t name) {
    static const char plain[] = "runtime.goexit", marked[] = "runtime.goexit.abi0";
    return is_text(image, name, plain, sizeof plain) ||
           is_text(image, name, marked, sizeof marked);
}

static gsym_status go_through(call_search *search, cursor code, uint64_t address,
                              bool returns_to_start, gsym_error *error) {
    gsym_call_columns *counts = &search->calls->counts;
    uint64_t first = address;
    counts->ranges++;
    while (cursor_left(&code) > 0) {
        bool is_call;
        unsigned size = search->size_of(&code, &is_call);
        if (size == 0) {
            counts->ended_early++;
            return GSYM_OK;
        }
        if (GSYM_UNLIKELY(is_call || (returns_to_start && address == first)) &&
            !calls_add(search->calls, address, size, is_call))
            return gsym_fail_memory(error);
        cursor_skip(&code, size);
        address += size;
        counts->instructions++;
    }
    return GSYM_OK;
}

/* Visit the code from `start` up to `end`, relative to the base address. */
static gsym_status search_range(call_search *search, uint64_t start, uint64_t end,
                                bool returns_to_start, gsym_error *error) {
    uint64_t address = search->image->header.base_address + start;
    const gsym_code *code = code_piece_at(search->code, address);
    uint64_t offset, left;
    if (code == NULL) {
        search->calls->counts.without_code++;
        return GSYM_OK;
    }
    offset = address - code->address;
    left = code->size - offset;
    if (end - start < left) left = end - start;
    return go_through(search, cursor_at(code->bytes + offset, (size_t)left, 0, false),
                      address, returns_to_start, error);
}

/* ---- all functions --------------------------------------------------------------- */

static gsym_status read_head(const gsym_image *image, uint32_t index, uint64_t *size_ret,
                             uint64_t *name_ret, gsym_error *error) {
    cursor record;
    GSYM_TRY(image_record(image, index, &record, error));
    return function_info_decode_head(&record, image->strp_size, size_ret, name_ret, error);
}

/* Visit the code of the entries that have the start of entry `index`; *next_ret is the
 * entry after them. The code ends where the largest of their functions ends or, if that is
 * lower, where a later entry starts. */
static gsym_status search_entries(call_search *search, uint32_t index, uint32_t *next_ret,
                                  gsym_error *error) {
    const gsym_image *image = search->image;
    uint32_t count = image->header.num_addresses, next = index;
    uint64_t start = image_addr_offset(image, index), end = start, limit;
    bool returns_to_start = false;
    for (; next < count && image_addr_offset(image, next) == start; ++next) {
        uint64_t size, name;
        gsym_error fault;
        if (read_head(image, next, &size, &name, &fault) != GSYM_OK) {
            search->calls->counts.damaged++;
            continue;
        }
        if (size == 0 || size > UINT64_MAX - start) size = UINT64_MAX - start;
        if (start + size > end) end = start + size;
        returns_to_start |= is_goroutine_exit(image, name);
    }
    *next_ret = next;
    limit = next < count ? image_addr_offset(image, next) : UINT64_MAX;
    if (limit < end) end = limit;
    /* An unsorted table could lead to the same code any number of times: code below the end
     * of what was visited is passed over. */
    if (end <= start || start < search->done) return GSYM_OK;
    search->done = end;
    return search_range(search, start, end, returns_to_start, error);
}

static gsym_status search_all(call_search *search, gsym_error *error) {
    for (uint32_t index = 0; index < search->image->header.num_addresses;)
        GSYM_TRY(search_entries(search, index, &index, error));
    return GSYM_OK;
}

gsym_status gsym_calls_find(const gsym_image *image, const gsym_machine_code *code,
                            gsym_calls **calls_ret, gsym_error *error) {
    call_search search = {
        .image = image, .code = code, .size_of = decoder_of(code->set)};
    gsym_status status;
    if (search.size_of == NULL)
        return gsym_fail(error, GSYM_E_ARGUMENT, 0, "no such instruction set");
    search.calls = calloc(1, sizeof *search.calls);
    if (search.calls == NULL) return gsym_fail_memory(error);
    status = search_all(&search, error);
    if (status != GSYM_OK) {
        gsym_calls_destroy(search.calls);
        return status;
    }
    *calls_ret = search.calls;
    return GSYM_OK;
}
