/* embedded_sources.c - collect the texts of source files that line tables have embedded, as
 * `clang -gembed-source` does.
 *
 * Only the headers of line tables are read. The paths are those that functions have. If
 * units have different texts for one path, the first is used. Empty texts are ignored. */
#include "base/hash.h"
#include "base/path_rules.h"
#include "dwarf/line.h"
#include "sources/conversion.h"

typedef struct embedded_text {
    size_t path; /* offset in the paths */
    size_t path_size;
    dwarf_string text;
} embedded_text;

struct gsym_embedded_sources {
    buffer paths;
    LIST(embedded_text) texts;
    slot_table by_path; /* hash of a path -> index in `texts` plus 1 */
};

/* The state of collecting. */
typedef struct source_reader {
    gsym_embedded_sources *sources;
    abbrev_cache roots;
    dwarf_line_table lines;
    number_map seen; /* dwarf_keys of the line tables that were read */
    dwarf_budget budget;
    bool is_cut; /* the budget is spent */
    warning_list *warnings;
    warning_list ignored; /* warnings that the conversion of the units reports */
} source_reader;

/* Whether there is a text for the path at the end of the paths, from `start` on. */
static bool is_known(const gsym_embedded_sources *sources, size_t start, uint64_t hash) {
    size_t size = sources->paths.size - start;
    uint64_t at = hash, number;
    while ((number = slot_table_next(&sources->by_path, hash, &at)) != 0) {
        const embedded_text *text = &sources->texts.items[number - 1];
        const uint8_t *paths = sources->paths.bytes;
        if (text->path_size == size && memcmp(paths + text->path, paths + start, size) == 0)
            return true;
    }
    return false;
}

/* Whether `cost` is left of a budget. If not, no more texts are read, and a warning says
 * so. */
static bool spend(source_reader *reader, atomic_int_fast64_t *left, uint64_t cost,
                  const dwarf_unit *unit) {
    if (reader->is_cut || dwarf_spend(left, cost)) return !reader->is_cut;
    reader->is_cut = true;
    dwarf_warn(reader->warnings, GSYM_WARN_LIMIT, unit->stmt_list, cost);
    return false;
}

/* Read a text; false if it is empty, or if the budget is spent. */
static bool read_text(source_reader *reader, const dwarf_unit *unit,
                      const line_string *string, dwarf_string *text_ret) {
    atomic_int_fast64_t *budget = &reader->budget.text;
    int_fast64_t now = atomic_load(budget);
    uint64_t left = now > 0 ? (uint64_t)now : 0;
    *text_ret = dwarf_line_text(unit, string, &left);
    if (text_ret->bytes == NULL) return spend(reader, budget, INT64_MAX, unit);
    return text_ret->size > 0 && spend(reader, budget, text_ret->size, unit);
}

static bool add_source(source_reader *reader, const dwarf_unit *unit,
                       const line_source *source) {
    gsym_embedded_sources *sources = reader->sources;
    buffer *paths = &sources->paths;
    embedded_text added = {.path = paths->size};
    uint64_t hash;
    dwarf_line_table_path(&reader->lines, &reader->lines.files.items[source->file], unit,
                          paths);
    path_rules_apply(unit->input->path_rules, paths, added.path);
    if (paths->failed) return false;
    added.path_size = paths->size - added.path;
    hash = string_hash((const char *)paths->bytes + added.path, added.path_size);
    if (spend(reader, &reader->budget.text, added.path_size, unit) &&
        !is_known(sources, added.path, hash) &&
        read_text(reader, unit, &source->text, &added.text)) {
        if (!slot_table_reserve(&sources->by_path) || !LIST_ADD(sources->texts, added))
            return false;
        slot_table_insert(&sources->by_path, hash, sources->texts.count);
    } else {
        paths->size = added.path;
    }
    return true;
}

static bool add_unit(source_reader *reader, const unit_source *source) {
    dwarf_unit unit;
    uint64_t key, ignored;
    if (dwarf_is_type_unit(source->header) ||
        !dwarf_unit_open(&unit, source->input, source->header, NULL, &reader->roots,
                         &reader->ignored) ||
        !dwarf_lines_key(&unit, &key) || number_map_find(&reader->seen, key, &ignored))
        return true;
    if (!number_map_set(&reader->seen, key, 0) ||
        !dwarf_read_line_files(&reader->lines, &unit))
        return false;
    if (reader->lines.version == 0 ||
        !spend(reader, &reader->budget.lines, reader->lines.end - unit.stmt_list, &unit))
        return true;
    for (size_t i = 0; i < reader->lines.sources.count && !reader->is_cut; ++i) {
        const line_source *each = &reader->lines.sources.items[i];
        if (each->file < reader->lines.files.count && !add_source(reader, &unit, each))
            return false;
    }
    return true;
}

gsym_status gsym_embedded_sources_create(gsym_conversion *conversion,
                                         gsym_embedded_sources **sources_ret,
                                         gsym_error *error) {
    const debug_files *files = conversion_files(conversion);
    source_reader reader = {.roots = {.limit = SCAN_TABLES, .has_roots = true},
                            .lines = {.reads_sources = true},
                            .warnings = conversion_warnings(conversion)};
    bool is_made;
    reader.sources = calloc(1, sizeof *reader.sources);
    if (reader.sources == NULL) return gsym_fail_memory(error);
    conversion_set_budget(conversion, &reader.budget);
    is_made = true;
    for (size_t i = 0; i < files->units.count && !reader.is_cut && is_made; ++i) {
        unit_source source = debug_files_unit(files, i);
        is_made = add_unit(&reader, &source);
    }
    is_made = is_made && !reader.roots.failed;
    abbrev_cache_deinit(&reader.roots);
    dwarf_line_table_deinit(&reader.lines);
    number_map_deinit(&reader.seen);
    if (!is_made) {
        gsym_embedded_sources_destroy(reader.sources);
        return gsym_fail_memory(error);
    }
    *sources_ret = reader.sources;
    return GSYM_OK;
}

void gsym_embedded_sources_destroy(gsym_embedded_sources *sources) {
    if (sources == NULL) return;
    buffer_deinit(&sources->paths);
    free(sources->texts.items);
    free(sources->by_path.slots);
    free(sources);
}

size_t gsym_embedded_sources_count(const gsym_embedded_sources *sources) {
    return sources->texts.count;
}

void gsym_embedded_source_at(const gsym_embedded_sources *sources, size_t index,
                             gsym_embedded_source *source_ret) {
    const embedded_text *text = &sources->texts.items[index];
    *source_ret = (gsym_embedded_source){
        .path = (const char *)sources->paths.bytes + text->path,
        .path_size = text->path_size,
        .text = text->text.bytes,
        .text_size = text->text.size};
}
