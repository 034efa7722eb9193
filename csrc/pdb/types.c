/* types.c - read records of types and ids, and make names of functions with parameters.
 *
 * Names are spelled as undname and LLVM spell them, without the words class, struct, union
 * and enum before a type. A record refers to others by index, so records of a hostile file
 * could refer to each other without end: the records read for a name are limited. */
#include "pdb/pdb.h"

enum {
    HEADER_SIZE = 56,
    STEP = 4, /* the offset of every STEP-th record is kept */
    WINDOW_SIZE = 1 << 16,
    FIRST_RECORD = 0x1000, /* lower indexes stand for simple types */
    /* Limit: Types read for one name of a PDB: records */
    WORK_PER_NAME = 1024,
    BYTES_PER_RECORD = 64, /* copying this many bytes counts as reading one record */
    /* Limit: Types read for one name of a PDB: types in a type */
    MAX_NESTED = 32,
    MAX_NAME = NAME_SIZE
};

enum {
    LF_MODIFIER = 0x1001,
    LF_POINTER = 0x1002,
    LF_PROCEDURE = 0x1008,
    LF_MFUNCTION = 0x1009,
    LF_ARGLIST = 0x1201,
    LF_ARRAY = 0x1503,
    LF_CLASS = 0x1504,
    LF_STRUCTURE = 0x1505,
    LF_UNION = 0x1506,
    LF_ENUM = 0x1507,
    LF_ALIAS = 0x150a,
    LF_INTERFACE = 0x1519,
    LF_FUNC_ID = 0x1601,
    LF_MFUNC_ID = 0x1602,
    LF_STRING_ID = 0x1605
};

/* ---- records --------------------------------------------------------------------- */

/* Store the offset of every STEP-th record that begins in a part of the stream, which is at
 * `*offset`; `*offset` moves to the first record after the part. A damaged record ends the
 * index. */
static bool index_part(pdb_types *types, cursor c, uint32_t *index, uint64_t *offset,
                       uint32_t stream_end) {
    while (*index < types->end && cursor_left(&c) >= 2) {
        uint32_t size = cursor_u16_unchecked(&c);
        if (size < 2 || size + 2 > stream_end - *offset) {
            types->end = *index;
            return true;
        }
        if ((*index - types->first) % STEP == 0 &&
            !LIST_ADD(types->offsets, (uint32_t)*offset))
            return false;
        *offset += size + 2;
        ++*index;
        if (cursor_left(&c) < size) return true;
        cursor_skip(&c, size);
    }
    return true;
}

static bool index_records(pdb_types *types, const msf_file *file, uint64_t offset) {
    uint32_t end = msf_stream_size(file, types->stream), index = types->first;
    buffer copy = {0};
    bool has_memory = true;
    while (has_memory && index < types->end && offset + 2 <= end) {
        uint64_t size = end - offset < WINDOW_SIZE ? end - offset : WINDOW_SIZE;
        cursor c = msf_read(file, types->stream, offset, size, &copy);
        has_memory = !copy.failed && index_part(types, c, &index, &offset, end);
    }
    types->end = index;
    buffer_deinit(&copy);
    return has_memory;
}

gsym_status pdb_types_open(pdb_types *types, const msf_file *file, uint32_t stream,
                           gsym_error *error) {
    buffer copy = {0};
    cursor c = msf_read(file, stream, 0, HEADER_SIZE, &copy);
    uint32_t header_size;
    *types = (pdb_types){.stream = stream};
    if (msf_stream_size(file, stream) == 0) return GSYM_OK;
    cursor_skip(&c, 4); /* Version */
    header_size = cursor_u32(&c);
    types->first = cursor_u32(&c);
    types->end = cursor_u32(&c);
    buffer_deinit(&copy);
    if (c.failed || types->first < FIRST_RECORD || types->end < types->first)
        return gsym_fail(error, GSYM_E_FORMAT, msf_file_offset(file, stream, 0),
                         "the header of the types in stream %u is damaged", stream);
    if (!index_records(types, file, header_size)) return gsym_fail_memory(error);
    msf_release(file, stream);
    return GSYM_OK;
}

/* Return a record, which starts with its kind; a failed cursor for an unknown index. */
static cursor record_at(pdb_namer *namer, const pdb_types *types, uint32_t index) {
    const msf_file *file = &namer->pdb->file;
    buffer *copy = &namer->copy;
    uint32_t offset, skipped;
    if (index < types->first || index >= types->end || namer->work_left == 0)
        return cursor_at(NULL, 0, 1, false);
    namer->work_left--;
    offset = types->offsets.items[(index - types->first) / STEP];
    for (skipped = (index - types->first) % STEP;; --skipped) {
        cursor c = msf_read(file, types->stream, offset, 2, copy);
        uint32_t size = cursor_u16(&c), cost = size / BYTES_PER_RECORD;
        if (skipped > 0) {
            offset += size + 2;
            continue;
        }
        c = msf_read(file, types->stream, offset + 2, size, copy);
        if (c.start == copy->bytes)
            namer->work_left -= cost < namer->work_left ? cost : namer->work_left;
        return c;
    }
}

/* Skip a number of varying size. */
static void skip_numeric(cursor *c) {
    static const uint8_t sizes[] = {1, 2, 2, 4, 4, 4, 8, 10, 16, 8, 8};
    uint32_t kind = cursor_u16(c);
    if (kind < 0x8000) return;
    if (kind - 0x8000 >= sizeof sizes)
        c->failed = true;
    else
        cursor_skip(c, sizes[kind - 0x8000]);
}

/* ---- text ---------------------------------------------------------------------------- */

static void put(pdb_namer *namer, const char *text) {
    buffer_put(namer->out, text, strlen(text));
}

/* Return the size of the name of an anonymous namespace, `?A0x` and a number, at the start
 * of a text; 0 if there is none. */
static size_t anonymous_size(const char *text, size_t size) {
    static const char digits[] = "0123456789abcdef";
    size_t at = 4;
    if (size < at || memcmp(text, "?A0x", at) != 0) return 0;
    while (at < size && memchr(digits, text[at], sizeof digits - 1) != NULL) ++at;
    return at;
}

/* Append the name at the end of a record. */
static void put_name(pdb_namer *namer, cursor *c) {
    size_t size;
    const char *name = pdb_symbol_name(c, &size), *end = name + size;
    if (c->failed || namer->out->size - namer->start + size > MAX_NAME) {
        put(namer, "?");
        return;
    }
    while (name < end) {
        const char *mark = memchr(name, '?', (size_t)(end - name));
        if (mark == NULL) mark = end;
        buffer_put(namer->out, name, (size_t)(mark - name));
        if (mark == end) break;
        size = anonymous_size(mark, (size_t)(end - mark));
        put(namer, size > 0 ? "`anonymous namespace'" : "?");
        name = mark + (size > 0 ? size : 1);
    }
}

static const char *simple_name(uint32_t kind) {
    switch (kind) {
        case 0x03: return "void";
        case 0x08: return "HRESULT";
        case 0x10: return "signed char";
        case 0x20: return "unsigned char";
        case 0x70: return "char";
        case 0x71: return "wchar_t";
        case 0x7a: return "char16_t";
        case 0x7b: return "char32_t";
        case 0x7c: return "char8_t";
        case 0x68: return "__int8";
        case 0x69: return "unsigned __int8";
        case 0x11: case 0x72: return "short";
        case 0x21: case 0x73: return "unsigned short";
        case 0x12: return "long";
        case 0x22: return "unsigned long";
        case 0x74: return "int";
        case 0x75: return "unsigned int";
        case 0x13: case 0x76: return "__int64";
        case 0x23: case 0x77: return "unsigned __int64";
        case 0x14: case 0x78: return "__int128";
        case 0x24: case 0x79: return "unsigned __int128";
        case 0x46: return "_Float16";
        case 0x40: return "float";
        case 0x41: case 0x42: return "double";
        case 0x43: return "__float128";
        case 0x30: return "bool";
        default: return "?";
    }
}

static void put_simple(pdb_namer *namer, uint32_t type) {
    if (type == 0x103) {
        put(namer, "std::nullptr_t");
        return;
    }
    put(namer, simple_name(type & 0xff));
    if ((type >> 8 & 0xf) != 0) put(namer, " *"); /* a pointer, such as CV_TM_NPTR */
}

/* ---- types --------------------------------------------------------------------------- */

/* Append the part of a type that C++ writes before a declared name, or the part after
 * it. */
static void put_before(pdb_namer *namer, uint32_t type, unsigned depth);
static void put_after(pdb_namer *namer, uint32_t type, unsigned depth);

static void put_parameters(pdb_namer *namer, uint32_t type, unsigned depth);

static uint32_t kind_of(pdb_namer *namer, uint32_t type) {
    cursor c = record_at(namer, &namer->pdb->types, type);
    return cursor_u16(&c);
}

/* Whether a pointer to a type of this kind needs parentheses, as to a function or an
 * array. */
static bool is_spread(uint32_t kind) {
    return kind == LF_PROCEDURE || kind == LF_MFUNCTION || kind == LF_ARRAY;
}

typedef struct pointer_type {
    uint32_t to, mode, flags, owner;
} pointer_type;

static pointer_type read_pointer(cursor *c) {
    pointer_type pointer = {.to = cursor_u32(c)};
    uint32_t attributes = cursor_u32(c);
    pointer.mode = attributes >> 5 & 7;
    pointer.flags = attributes >> 9 & 3; /* volatile, const */
    if (pointer.mode == 2 || pointer.mode == 3) pointer.owner = cursor_u32(c);
    return pointer;
}

static void put_pointer(pdb_namer *namer, cursor *c, unsigned depth) {
    static const char *const signs[] = {"*", "&", "*", "*", "&&", "*", "*", "*"};
    pointer_type pointer = read_pointer(c);
    uint8_t last;
    put_before(namer, pointer.to, depth);
    last = namer->out->size > namer->start ? namer->out->bytes[namer->out->size - 1] : ' ';
    if (last != '*' && last != '&' && last != '(') put(namer, " ");
    if (is_spread(kind_of(namer, pointer.to))) put(namer, "(");
    if (pointer.owner != 0) {
        put_before(namer, pointer.owner, depth);
        put(namer, "::");
    }
    put(namer, signs[pointer.mode]);
    if (pointer.flags & 2) put(namer, "const");
    if (pointer.flags & 1) put(namer, pointer.flags & 2 ? " volatile" : "volatile");
}

static void put_modified(pdb_namer *namer, cursor *c, unsigned depth) {
    uint32_t type = cursor_u32(c), flags = cursor_u16(c);
    put_before(namer, type, depth);
    if (flags & 1) put(namer, " const");
    if (flags & 2) put(namer, " volatile");
}

/* Append the name of a class, union or enumeration. */
static void put_user_type(pdb_namer *namer, uint32_t kind, cursor *c) {
    cursor_skip(c, 4); /* count, properties */
    if (kind == LF_ENUM)
        cursor_skip(c, 8);
    else
        cursor_skip(c, kind == LF_UNION ? 4 : 12);
    if (kind != LF_ENUM) skip_numeric(c);
    put_name(namer, c);
}

static void put_before(pdb_namer *namer, uint32_t type, unsigned depth) {
    cursor c;
    uint32_t kind;
    if (type < FIRST_RECORD) {
        put_simple(namer, type);
        return;
    }
    c = record_at(namer, &namer->pdb->types, type);
    kind = cursor_u16(&c);
    if (c.failed || depth == MAX_NESTED) {
        put(namer, "?");
        return;
    }
    switch (kind) {
        case LF_MODIFIER: put_modified(namer, &c, depth + 1); return;
        case LF_POINTER: put_pointer(namer, &c, depth + 1); return;
        case LF_PROCEDURE: case LF_MFUNCTION: case LF_ARRAY:
            put_before(namer, cursor_u32(&c), depth + 1);
            return;
        case LF_CLASS: case LF_STRUCTURE: case LF_INTERFACE: case LF_UNION: case LF_ENUM:
            put_user_type(namer, kind, &c);
            return;
        case LF_ALIAS:
            cursor_skip(&c, 4);
            put_name(namer, &c);
            return;
        default: put(namer, "?");
    }
}

/* Read the list of parameters of a function type; false for another type. */
static bool read_function_type(cursor *c, uint32_t kind, uint32_t *list_ret,
                               uint32_t *this_ret) {
    *this_ret = 0;
    cursor_skip(c, 4); /* type of the result */
    if (kind == LF_MFUNCTION) {
        cursor_skip(c, 4); /* class */
        *this_ret = cursor_u32(c);
    } else if (kind != LF_PROCEDURE) {
        return false;
    }
    cursor_skip(c, 4); /* calling convention, attributes, count */
    *list_ret = cursor_u32(c);
    return !c->failed;
}

static void put_after(pdb_namer *namer, uint32_t type, unsigned depth) {
    cursor c = record_at(namer, &namer->pdb->types, type);
    uint32_t kind = cursor_u16(&c), next;
    if (c.failed || depth == MAX_NESTED) return;
    next = cursor_u32(&c);
    switch (kind) {
        case LF_POINTER:
            if (is_spread(kind_of(namer, next))) put(namer, ")");
            break;
        case LF_ARRAY: put(namer, "[]"); break;
        case LF_PROCEDURE: case LF_MFUNCTION: put_parameters(namer, type, depth + 1); break;
        case LF_MODIFIER: break;
        default: return;
    }
    put_after(namer, next, depth + 1);
}

/* Return the type of a parameter without const, which is no part of the function's type. */
static uint32_t unmodified(pdb_namer *namer, uint32_t type) {
    cursor c;
    if (type < FIRST_RECORD) return type;
    c = record_at(namer, &namer->pdb->types, type);
    return cursor_u16(&c) == LF_MODIFIER ? cursor_u32(&c) : type;
}

static void put_arguments(pdb_namer *namer, uint32_t list, unsigned depth) {
    cursor c = record_at(namer, &namer->pdb->types, list);
    uint32_t count;
    if (cursor_u16(&c) != LF_ARGLIST) return;
    count = cursor_u32(&c);
    put(namer, "(");
    for (uint32_t i = 0; i < count; ++i) {
        uint32_t type;
        /* Read the list again: a record that was read for the last parameter may have
         * replaced its bytes in the namer's copy. */
        cursor again = record_at(namer, &namer->pdb->types, list);
        cursor_skip(&again, 6 + 4 * (uint64_t)i);
        type = cursor_u32(&again);
        if (again.failed || namer->out->size - namer->start > MAX_NAME) break;
        type = unmodified(namer, type);
        if (i > 0) put(namer, ", ");
        if (type == 0) {
            put(namer, "...");
            break;
        }
        put_before(namer, type, depth);
        put_after(namer, type, depth);
    }
    put(namer, ")");
}

/* Whether a member function is const, by the type of `this`. */
static bool is_const(pdb_namer *namer, uint32_t this_type) {
    cursor c = record_at(namer, &namer->pdb->types, this_type);
    if (cursor_u16(&c) != LF_POINTER) return false;
    c = record_at(namer, &namer->pdb->types, cursor_u32(&c));
    if (cursor_u16(&c) != LF_MODIFIER) return false;
    cursor_skip(&c, 4);
    return (cursor_u16(&c) & 1) != 0;
}

/* Append the parameters of a function type. */
static void put_parameters(pdb_namer *namer, uint32_t type, unsigned depth) {
    cursor c = record_at(namer, &namer->pdb->types, type);
    uint32_t kind = cursor_u16(&c), list, this_type;
    if (!read_function_type(&c, kind, &list, &this_type)) return;
    put_arguments(namer, list, depth);
    if (this_type != 0 && is_const(namer, this_type)) put(namer, " const");
}

/* ---- functions ----------------------------------------------------------------------- */

void pdb_namer_deinit(pdb_namer *namer) { buffer_deinit(&namer->copy); }

static void start_name(pdb_namer *namer) {
    namer->start = namer->out->size;
    namer->work_left = WORK_PER_NAME;
}

bool pdb_put_procedure(pdb_namer *namer, cursor *name, uint32_t type,
                       bool has_parameters) {
    start_name(namer);
    if (cursor_left(name) > 0 && cursor_peek_unchecked(name, 0) != 0) {
        put_name(namer, name);
        if (has_parameters) put_parameters(namer, type, 0);
    }
    return !namer->out->failed && !namer->copy.failed;
}

/* Append the name of a scope, which is a string or, from some compilers, a type. */
static void put_scope(pdb_namer *namer, uint32_t scope, bool is_type) {
    cursor c;
    if (scope == 0) return;
    if (is_type) {
        put_before(namer, scope, 0);
    } else {
        c = record_at(namer, &namer->pdb->ids, scope);
        if (cursor_u16(&c) != LF_STRING_ID) return;
        cursor_skip(&c, 4); /* list of parts */
        put_name(namer, &c);
    }
    put(namer, "::");
}

bool pdb_put_function_id(pdb_namer *namer, uint32_t id, bool has_parameters) {
    cursor c;
    uint32_t kind, scope, type;
    start_name(namer);
    c = record_at(namer, &namer->pdb->ids, id);
    kind = cursor_u16(&c);
    scope = cursor_u32(&c);
    type = cursor_u32(&c);
    if (!c.failed && (kind == LF_FUNC_ID || kind == LF_MFUNC_ID)) {
        put_scope(namer, scope, kind == LF_MFUNC_ID);
        c = record_at(namer, &namer->pdb->ids, id);
        cursor_skip(&c, 10);
        put_name(namer, &c);
        if (has_parameters) put_parameters(namer, type, 0);
    }
    return !namer->out->failed && !namer->copy.failed;
}
