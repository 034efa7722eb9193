/* conversion_texts.c - what a conversion says: of its numbers, and of the module. */
#include <inttypes.h>
#include <stdio.h>

#include "base/checksum.h"
#include "base/digits.h"
#include "base/system.h"
#include "containers/object.h"
#include "text/text.h"

/* ---- numbers --------------------------------------------------------------------- */

static void put_string(gsym_text *text, const char *string) {
    buffer_put(&text->out, string, strlen(string));
}

static void put_number(gsym_text *text, const char *before, uint64_t number,
                       const char *after) {
    put_string(text, before);
    text_put_decimal(text, number);
    put_string(text, after);
}

/* The same, unless the number is 0. */
static void put_if_any(gsym_text *text, const char *before, uint64_t number,
                       const char *after) {
    if (number > 0) put_number(text, before, number, after);
}

size_t gsym_numbers_text(const gsym_conversion_numbers *numbers, char *lines) {
    /* Longer than all words and 15 numbers of 20 digits: it never grows. */
    buffer out = {.bytes = (uint8_t *)lines, .capacity = GSYM_NUMBERS_MAX_SIZE};
    gsym_text fixed = {.out = out}, *text = &fixed;
    uint64_t pclntab = numbers->functions_pclntab;
    uint64_t time = numbers->centiseconds;
    put_number(text, "  ", numbers->functions, " functions");
    put_if_any(text, ", ", numbers->functions_continued, " of them continuing others");
    put_number(text, ", ", numbers->functions_with_lines, " with lines");
    put_number(text, ", ", numbers->functions_with_inlines, " with inlined calls");
    put_number(text, "; ", numbers->file_size, " bytes");
    put_if_any(text, ", ", numbers->index_size, " of them index,");
    if (numbers->version > 1) put_string(text, " of version 2");
    put_number(text, " in ", time / 100, time % 100 < 10 ? ".0" : ".");
    put_number(text, "", time % 100, " s\n");
    put_number(text, "  found in debug information ", numbers->functions_debug_info, "");
    if (pclntab > 0 && pclntab < numbers->functions_debug_info)
        put_number(text, ", ", pclntab, " of them in the pclntab");
    else if (pclntab > 0)
        put_string(text, ", that is the pclntab");
    put_number(text, ", in the symbol table ", numbers->functions_symbol_table, "");
    put_number(text, "; pruned ", numbers->functions_pruned, "");
    put_if_any(text, ", merged ", numbers->functions_merged, "");
    put_if_any(text, ", dropped ", numbers->functions_dropped, "");
    put_if_any(text, ", line rows without a function ", numbers->line_rows_unused, "");
    put_string(text, "\n");
    return text->out.size;
}

/* ---- warnings -------------------------------------------------------------------- */

static const char *const warnings[GSYM_WARN_COUNT] = {
    [GSYM_WARN_UNIT_SKIPPED] = "Unit skipped: damaged header or unknown version",
    [GSYM_WARN_ABBREVIATIONS] = "Damaged abbreviations",
    [GSYM_WARN_DIE_DAMAGED] = "DIE cannot be read, rest of its unit is skipped",
    [GSYM_WARN_REFERENCE] = "Reference to a DIE that does not exist",
    [GSYM_WARN_NO_NAME] = "Function has no name",
    [GSYM_WARN_RANGE_INVALID] = "Invalid address range",
    [GSYM_WARN_TOO_LARGE] = "Code of 4 GiB or more that records cannot hold",
    [GSYM_WARN_RANGE_OUTSIDE_TEXT] = "Address range starts outside executable sections",
    [GSYM_WARN_RANGE_LIST] = "Damaged range list",
    [GSYM_WARN_LINE_PROGRAM] = "Damaged line program",
    [GSYM_WARN_LINE_FILE_INDEX] = "Invalid file index in DWARF line table",
    [GSYM_WARN_LINE_ORDER] = "Non-monotonically increasing addresses",
    [GSYM_WARN_CALL_FILE_INDEX] = "Invalid file index in DW_AT_call_file",
    [GSYM_WARN_INLINE_UNCONTAINED] = "Function DIE has uncontained address range",
    [GSYM_WARN_INLINE_EMPTY] = "DIE contains inline functions with no valid ranges",
    [GSYM_WARN_DEPTH] = "DIEs nested too deeply",
    [GSYM_WARN_LIMIT] = "Limit reached, part of a unit or function is left out",
    [GSYM_WARN_SPLIT_MISSING] = "Split unit (.dwo) not found",
    [GSYM_WARN_UNIT_NOT_RELOCATED] = "Unit skipped: its relocations could not be applied",
    [GSYM_WARN_SPLIT_CONTRADICTS] =
        "Function of a split unit (.dwo) contradicts the binary",
    [GSYM_WARN_SUPPLEMENTARY_MISSING] = "Reference to a supplementary file that is missing",
    [GSYM_WARN_SYMBOL] = "Symbol left out: name unreadable or too long, or size impossible",
    [GSYM_WARN_GO_FUNCTION] = "Damaged function in the pclntab",
    [GSYM_WARN_GO_VALUES] = "Damaged lines or files in the pclntab",
    [GSYM_WARN_GO_CALLS] = "Inlined calls of a Go function cannot be read",
    [GSYM_WARN_PDB_SYMBOL] = "Damaged symbol or inline site in a PDB module",
    [GSYM_WARN_PDB_LINES] = "Damaged lines in a PDB module",
    [GSYM_WARN_PDB_REMOVED] = "Function that an optimizer removed after linking",
    [GSYM_WARN_PDB_MANAGED] = "Function of .NET code, which has no address",
};

const char *gsym_warning_text(uint32_t category) {
    return category < GSYM_WARN_COUNT ? warnings[category] : "";
}

/* ---- the module ------------------------------------------------------------------ */

enum { GUID_SIZE = 16, FOOTER_SIZE = 16 };

/* Append a number in little-endian order on any machine. */
static void put_le64(buffer *out, uint64_t value) {
    for (unsigned shift = 0; shift < 64; shift += 8)
        buffer_put_u8(out, (uint8_t)(value >> shift));
}

static void put_digits(gsym_text *text, uint8_t byte) {
    static const char digits[] = "0123456789ABCDEF";
    text_put_char(text, digits[byte >> 4]);
    text_put_char(text, digits[byte & 15]);
}

static void put_field(gsym_text *text, const char *name, const char *value, size_t size) {
    put_string(text, name);
    text_put_char(text, '=');
    buffer_put(&text->out, value, size);
    text_put_char(text, '\0');
}

/* The first bytes of a build id as the numbers of a GUID, and the age 0. */
static void put_debug_id(gsym_text *text, const uint8_t *id, size_t size,
                         bool is_big_endian) {
    static const uint8_t little[GUID_SIZE] = {3, 2, 1, 0,  5,  4,  7,  6,
                                              8, 9, 10, 11, 12, 13, 14, 15};
    put_string(text, "debug_id=");
    for (size_t i = 0; i < GUID_SIZE; ++i) {
        size_t at = is_big_endian ? i : little[i];
        put_digits(text, at < size ? id[at] : 0);
    }
    buffer_put(&text->out, "0", 2);
}

/* Put the hash of the hashes of all sections with code. Release all pages of the file, also
 * those that were read before. */
static gsym_status put_code_hash(gsym_text *text, const gsym_object *object,
                                 gsym_error *error) {
    buffer hashes = {0};
    gsym_status status = GSYM_OK;
    char digits[MAX_HEX_SIZE + 1];
    uint64_t (*hash)(const uint8_t *, size_t) = xxh64;
    if (object->is_file_mapping) {
        pages_release(object->data, object->size);
        hash = xxh64_released;
    }
    for (uint32_t i = 0; status == GSYM_OK && i < object->header.section_count; ++i) {
        gsym_object_section section = {0};
        uint64_t size;
        status = gsym_object_section_at(object, i, &section, error);
        size = section.size < section.memory_size ? section.size : section.memory_size;
        if (status != GSYM_OK || !section.present || !section.holds_code || size == 0)
            continue;
        if (section.offset > object->size || size > object->size - section.offset)
            status = gsym_fail(error, GSYM_E_FORMAT, section.offset,
                               "a section exceeds the file");
        else
            put_le64(&hashes, hash(object->data + section.offset, (size_t)size));
    }
    if (status == GSYM_OK && hashes.failed) status = gsym_fail_memory(error);
    if (status == GSYM_OK && hashes.size > 0) {
        snprintf(digits, sizeof digits, "%016" PRIx64, xxh64(hashes.bytes, hashes.size));
        put_field(text, "code_hash", digits, MAX_HEX_SIZE);
    }
    buffer_deinit(&hashes);
    return status;
}

gsym_status gsym_text_elf_module(gsym_text *text, const gsym_object *object,
                                 const char *name, size_t name_size,
                                 const char *architecture, gsym_error *error) {
    const uint8_t *id;
    size_t size;
    GSYM_TRY(gsym_object_identifier(object, &id, &size, error));
    put_field(text, "debug_file", name, name_size);
    put_debug_id(text, id, size, object->header.big_endian != 0);
    put_string(text, "code_id=");
    for (size_t i = 0; i < size; ++i) put_digits(text, id[i]);
    text_put_char(text, '\0');
    put_field(text, "os", "Linux", 5);
    put_field(text, "architecture", architecture, strlen(architecture));
    GSYM_TRY(put_code_hash(text, object, error));
    return text_status(text, error);
}

gsym_status gsym_text_module_part(gsym_text *text, const char *fields, size_t size,
                                  uint64_t start, uint64_t multiple, gsym_error *error) {
    uint64_t padded = start + size + FOOTER_SIZE;
    padded = size + (multiple - padded % multiple) % multiple;
    buffer_put(&text->out, fields, size);
    while (size++ < padded) text_put_char(text, '\0');
    text_put_literal(text, "GSYMIDEN");
    put_le64(&text->out, padded);
    return text_status(text, error);
}
