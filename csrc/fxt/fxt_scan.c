/* fxt_scan.c - where a record ends and what kind it is, by its header alone. */
#include "fxt/fxt.h"

static gsym_fxt_kind metadata_kind(uint64_t header) {
    uint64_t type = fxt_bits(header, 16, 4);
    if (type < 1 || type > 4) return GSYM_FXT_UNKNOWN;
    return (gsym_fxt_kind)(GSYM_FXT_PROVIDER_INFO + type - 1);
}

static gsym_fxt_kind event_kind(uint64_t header) {
    uint64_t type = fxt_bits(header, 16, 4);
    return type <= GSYM_FXT_FLOW_END ? (gsym_fxt_kind)type : GSYM_FXT_UNKNOWN;
}

static gsym_fxt_kind scheduling_kind(uint64_t header) {
    uint64_t type = header >> 60;
    if (type > 2) return GSYM_FXT_UNKNOWN;
    return (gsym_fxt_kind)(GSYM_FXT_LEGACY_CONTEXT_SWITCH + type);
}

static gsym_fxt_kind profiler_kind(uint64_t header) {
    uint64_t type = fxt_bits(header, 16, 4);
    return type <= 2 ? (gsym_fxt_kind)(GSYM_FXT_MODULE + type) : GSYM_FXT_UNKNOWN;
}

static gsym_fxt_kind large_kind(uint64_t header) {
    uint64_t format = fxt_bits(header, 40, 4);
    if (fxt_bits(header, 36, 4) != 0 || format > 1) return GSYM_FXT_UNKNOWN;
    return (gsym_fxt_kind)(GSYM_FXT_LARGE_BLOB_WITH_METADATA + format);
}

static gsym_fxt_kind kind_of(uint64_t header) {
    switch (fxt_bits(header, 0, 4)) {
        case GSYM_FXT_TYPE_METADATA: return metadata_kind(header);
        case GSYM_FXT_TYPE_INITIALIZATION: return GSYM_FXT_INITIALIZATION;
        case GSYM_FXT_TYPE_STRING: return GSYM_FXT_STRING;
        case GSYM_FXT_TYPE_THREAD: return GSYM_FXT_THREAD;
        case GSYM_FXT_TYPE_EVENT: return event_kind(header);
        case GSYM_FXT_TYPE_BLOB: return GSYM_FXT_BLOB;
        case GSYM_FXT_TYPE_USERSPACE_OBJECT: return GSYM_FXT_USERSPACE_OBJECT;
        case GSYM_FXT_TYPE_KERNEL_OBJECT: return GSYM_FXT_KERNEL_OBJECT;
        case GSYM_FXT_TYPE_SCHEDULING: return scheduling_kind(header);
        case GSYM_FXT_TYPE_LOG: return GSYM_FXT_LOG;
        case GSYM_FXT_TYPE_PROFILER: return profiler_kind(header);
        case GSYM_FXT_TYPE_LARGE: return large_kind(header);
        default: return GSYM_FXT_UNKNOWN;
    }
}

uint64_t fxt_subtype(uint64_t header) {
    switch (fxt_bits(header, 0, 4)) {
        case GSYM_FXT_TYPE_METADATA:
        case GSYM_FXT_TYPE_EVENT:
        case GSYM_FXT_TYPE_PROFILER: return fxt_bits(header, 16, 4);
        case GSYM_FXT_TYPE_SCHEDULING: return header >> 60;
        case GSYM_FXT_TYPE_LARGE: return fxt_bits(header, 36, 4);
        default: return GSYM_FXT_NO_SUBTYPE;
    }
}

fxt_record fxt_read_header(cursor *c) {
    fxt_record record;
    record.header = cursor_u64(c);
    if (GSYM_UNLIKELY(record.header == __builtin_bswap64(FXT_MAGIC_HEADER))) {
        c->swap = !c->swap;
        record.header = FXT_MAGIC_HEADER;
    }
    record.kind = kind_of(record.header);
    record.size = FXT_WORD_SIZE * fxt_bits(record.header, 4, 12);
    if (GSYM_UNLIKELY(fxt_bits(record.header, 0, 4) == GSYM_FXT_TYPE_LARGE))
        record.size = FXT_WORD_SIZE * fxt_bits(record.header, 4, 32);
    return record;
}
