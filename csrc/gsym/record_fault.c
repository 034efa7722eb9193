/* record_fault.c - why LLVM's decoder refuses a record, in its own words.
 *
 * The engine names a fault by its file offset and in its own way; a dump that
 * shall equal llvm-gsymutil's needs that tool's sentence, with offsets that count
 * from the begin of the record or of the information inside it. So the record is
 * walked once more, as LLVM walks it: a LEB128 that is cut short is read as 0 and
 * left where it is. */
#include "gsym/record_fault.h"

#include <inttypes.h>

enum { MAX_MERGE_DEPTH = 8 };

typedef struct fault_walk {
    unsigned strp_size;
    gsym_error *error;
} fault_walk;

static bool at_fault(const fault_walk *walk, const cursor *c, const char *what) {
    gsym_fail(walk->error, GSYM_E_FORMAT, 0, "0x%08" PRIx64 ": %s", cursor_offset(c), what);
    return true;
}

static bool lacks(const fault_walk *walk, const cursor *c, size_t size, const char *what) {
    return cursor_left(c) < size && at_fault(walk, c, what);
}

/* The next `size` bytes, with offsets of their own. */
static cursor take(cursor *c, size_t size) {
    cursor part = *c;
    part.start = c->at;
    part.end = c->at + size;
    c->at += size;
    return part;
}

static uint64_t read_uleb(cursor *c) {
    const uint8_t *at = c->at;
    uint64_t value = cursor_uleb(c);
    if (c->failed) {
        c->at = at;
        c->failed = false;
    }
    return value;
}

static bool line_table_at_fault(const fault_walk *walk, cursor c) {
    if (lacks(walk, &c, 1, "missing LineTable MinDelta")) return true;
    (void)read_uleb(&c);
    if (lacks(walk, &c, 1, "missing LineTable MaxDelta")) return true;
    (void)read_uleb(&c);
    if (lacks(walk, &c, 1, "missing LineTable FirstLine")) return true;
    (void)read_uleb(&c);
    for (;;) {
        if (lacks(walk, &c, 1, "EOF found before EndSequence")) return true;
        switch (cursor_u8(&c)) {
            case 0: return false;
            case 1:
                if (lacks(walk, &c, 1, "EOF found before SetFile value")) return true;
                (void)read_uleb(&c);
                break;
            case 2:
                if (lacks(walk, &c, 1, "EOF found before AdvancePC value")) return true;
                (void)read_uleb(&c);
                break;
            case 3:
                if (lacks(walk, &c, 1, "EOF found before AdvanceLine value")) return true;
                (void)read_uleb(&c);
                break;
            default: break;
        }
    }
}

/* Skip a list of ranges; is one of them not empty? */
static bool skip_ranges(cursor *c) {
    bool any = false;
    for (uint64_t left = read_uleb(c); left > 0; --left) {
        const uint8_t *at = c->at;
        (void)read_uleb(c);
        if (read_uleb(c) != 0) any = true;
        if (c->at == at) break; /* nothing left: all further ranges are empty */
    }
    return any;
}

static bool inline_info_at_fault(const fault_walk *walk, cursor c) {
    uint64_t open_lists = 0;
    do {
        if (lacks(walk, &c, 1, "missing InlineInfo address ranges data")) return true;
        if (skip_ranges(&c)) {
            if (lacks(walk, &c, 1, "missing InlineInfo uint8_t indicating children"))
                return true;
            if (cursor_u8(&c) != 0) open_lists++;
            if (lacks(walk, &c, walk->strp_size, "missing InlineInfo name")) return true;
            cursor_skip(&c, walk->strp_size);
            if (lacks(walk, &c, 1, "missing ULEB128 for InlineInfo call file")) return true;
            (void)read_uleb(&c);
            if (lacks(walk, &c, 1, "missing ULEB128 for InlineInfo call line")) return true;
            (void)read_uleb(&c);
        } else if (open_lists > 0) {
            open_lists--;
        }
    } while (open_lists > 0);
    return false;
}

static bool call_sites_at_fault(const fault_walk *walk, cursor c) {
    if (lacks(walk, &c, 4, "missing CallSiteInfo count")) return true;
    for (uint32_t sites = cursor_u32(&c); sites > 0; --sites) {
        if (lacks(walk, &c, 8, "missing ReturnOffset")) return true;
        cursor_skip(&c, 8);
        if (lacks(walk, &c, 1, "missing Flags")) return true;
        cursor_skip(&c, 1);
        if (lacks(walk, &c, 4, "missing MatchRegex count")) return true;
        for (uint32_t regexes = cursor_u32(&c); regexes > 0; --regexes) {
            if (lacks(walk, &c, walk->strp_size, "missing MatchRegex entry")) return true;
            cursor_skip(&c, walk->strp_size);
        }
    }
    return false;
}

/* The extents of all merged functions, which LLVM tests before it decodes one. */
static bool merged_extents_at_fault(const fault_walk *walk, cursor c) {
    uint32_t count;
    if (cursor_left(&c) < 4) {
        gsym_fail(walk->error, GSYM_E_FORMAT, 0,
                  "unable to read the function count at offset 0x%08" PRIx64,
                  cursor_offset(&c));
        return true;
    }
    count = cursor_u32(&c);
    for (uint32_t i = 0; i < count; ++i) {
        uint32_t size;
        if (cursor_left(&c) < 4) {
            gsym_fail(walk->error, GSYM_E_FORMAT, 0,
                      "unable to read size of function %" PRIu32 " at offset 0x%08" PRIx64,
                      i, cursor_offset(&c));
            return true;
        }
        size = cursor_u32(&c);
        if (cursor_left(&c) < size) {
            gsym_fail(walk->error, GSYM_E_FORMAT, 0,
                      "function data is truncated for function %" PRIu32
                      " at offset 0x%08" PRIx64 ", expected size %" PRIu32,
                      i, cursor_offset(&c), size);
            return true;
        }
        cursor_skip(&c, size);
    }
    return false;
}

static bool function_at_fault(const fault_walk *walk, cursor c, unsigned merge_depth);

static bool merged_at_fault(const fault_walk *walk, cursor c, unsigned merge_depth) {
    if (merged_extents_at_fault(walk, c)) return true;
    if (merge_depth == MAX_MERGE_DEPTH) return false;
    for (uint32_t left = cursor_u32(&c); left > 0; --left) {
        uint32_t size = cursor_u32(&c);
        if (function_at_fault(walk, take(&c, size), merge_depth + 1)) return true;
    }
    return false;
}

static bool info_at_fault(const fault_walk *walk, uint32_t type, cursor info,
                          unsigned merge_depth) {
    switch (type) {
        case GSYM_INFO_LINE_TABLE: return line_table_at_fault(walk, info);
        case GSYM_INFO_INLINE_INFO: return inline_info_at_fault(walk, info);
        case GSYM_INFO_MERGED_FUNCTIONS: return merged_at_fault(walk, info, merge_depth);
        default: return call_sites_at_fault(walk, info);
    }
}

static bool function_at_fault(const fault_walk *walk, cursor c, unsigned merge_depth) {
    if (lacks(walk, &c, 4, "missing FunctionInfo Size")) return true;
    cursor_skip(&c, 4);
    if (lacks(walk, &c, walk->strp_size, "missing FunctionInfo Name")) return true;
    cursor name = c;
    if (cursor_uint(&c, walk->strp_size) == 0)
        return at_fault(walk, &name, "invalid FunctionInfo Name value 0x0");
    for (;;) {
        uint32_t type, size;
        if (lacks(walk, &c, 4, "missing FunctionInfo InfoType value")) return true;
        type = cursor_u32(&c);
        if (lacks(walk, &c, 4, "missing FunctionInfo InfoType length")) return true;
        size = cursor_u32(&c);
        if (cursor_left(&c) < size) {
            gsym_fail(walk->error, GSYM_E_FORMAT, 0,
                      "0x%08" PRIx64 ": missing FunctionInfo data for InfoType %" PRIu32,
                      cursor_offset(&c), type);
            return true;
        }
        if (type == GSYM_INFO_END_OF_LIST) return false;
        if (type > GSYM_INFO_CALL_SITES) {
            gsym_fail(walk->error, GSYM_E_FORMAT, 0,
                      "0x%08" PRIx64 ": unsupported InfoType %" PRIu32,
                      cursor_offset(&c) - 8, type);
            return true;
        }
        if (info_at_fault(walk, type, take(&c, size), merge_depth)) return true;
    }
}

gsym_status record_fault(const gsym_image *image, uint32_t index, gsym_error *error) {
    fault_walk walk = {image->strp_size, error};
    uint64_t offset = image_record_offset(image, index);
    cursor c = cursor_at(image->data, image->record_end, offset,
                         image->header.big_endian != 0);
    if (cursor_left(&c) == 0)
        return gsym_fail(error, GSYM_E_FORMAT, offset,
                         "invalid address info offset 0x%" PRIx64, offset);
    (void)function_at_fault(&walk, take(&c, cursor_left(&c)), 0);
    return error->status = GSYM_E_FORMAT;
}
