/* debug_files.h - define the files with debug sections that a conversion reads. */
#ifndef GSYM_SOURCES_DEBUG_FILES_H
#define GSYM_SOURCES_DEBUG_FILES_H

#include "base/tables.h"
#include "dwarf/unit.h"

#define SCAN_TABLES 8 /* abbreviation tables kept while root DIEs are read */

/* Two offsets in a section: up to `done`, all units have been read; up to `dropped`, pages
 * were released. */
typedef struct drop_mark {
    uint64_t dropped;
    uint64_t done;
} drop_mark;

/* A unit whose DIEs are in another file, as its split unit. Split units are linked to it
 * after the scan: see split_units.c. */
typedef struct skeleton_unit {
    const dwarf_input *input;
    const dwarf_unit_header *header;
    size_t unit; /* its number among the units to be converted */
    uint64_t dwo_id;
    dwarf_string dwo_name;
    dwarf_string comp_dir;
    const dwarf_input *split_input; /* NULL: no split unit was linked */
    dwarf_unit_header split_header;
} skeleton_unit;

/* A unit to be converted, or a piece of it: the DIEs from offset `from` to `to`. */
typedef struct unit_source {
    const dwarf_input *input;
    const dwarf_unit_header *header;
    const skeleton_unit *skeleton; /* NULL: the unit is complete */
    uint64_t from, to; /* offset and end of the unit, unless it is a piece */
    const uint64_t *cuts; /* of a piece: where it and the pieces before it begin */
    size_t cut_count;     /* 0: it is a whole unit */
    struct piece_walk *ahead; /* the walk over a piece, if it was made ahead, or NULL */
    bool is_rest; /* the piece without DIEs that has the rows without a function */
    const range_list *covered; /* of the rest: addresses of the unit's functions */
} unit_source;

typedef struct debug_file {
    dwarf_input input;
    gsym_dwarf_role role;
    bool is_scanned;
    unit_list units, type_units;
    offset_list abbrev_keys;
    LIST(address_span) spans;
    range_list span_ranges; /* the ranges that the spans cover */
    drop_mark marks[GSYM_DEBUG_SECTION_COUNT];
    size_t units_left; /* units with DIEs in this file that are still to be read */
    uint64_t linked_size; /* bytes of its split units that were linked to a skeleton */
} debug_file;

/* A unit of a main file: the file, and the number of the unit in that file. */
typedef struct unit_position {
    uint32_t file;
    uint32_t number;
} unit_position;

typedef struct debug_files {
    LIST(debug_file *) files; /* the index is the number of the file */
    dwarf_input common; /* what the inputs of all files have in common */
    range_list text;
    LIST(live_code) live;
    path_rule_list path_rules;
    debug_file *supplementary; /* or NULL */
    bool is_scanned;
    /* of the main files; filled by the scan */
    LIST(unit_position) units; /* in their order */
    LIST(skeleton_unit) skeletons; /* sorted by unit */
    skeleton_unit **by_dwo_id;
    number_map line_tables; /* dwarf_key -> number of units that name it */
    const struct debug_files *scanned; /* NULL, or the files that were scanned, of which
                                          these units are a selection */
} debug_files;

gsym_status debug_files_init(debug_files *files, gsym_error *error);
/* Forget the files, once all units are read. */
void debug_files_end(debug_files *files);
void debug_files_deinit(debug_files *files);

gsym_status debug_files_add(debug_files *files, gsym_dwarf_role role, uint32_t *file_ret,
                            gsym_error *error);
/* Find all units of a file. `visit` is called with each unit of .debug_info, unless it is
 * NULL. */
gsym_status debug_file_scan(debug_file *file, dwarf_unit_visit *visit, void *context,
                            warning_list *warnings, gsym_error *error);
/* Sort files->live, to which addresses with code were added, and let the main files use
 * it. */
void debug_files_take_live(debug_files *files);
/* Prepare the scan: code ranges and live code are complete. */
void debug_files_prepare(debug_files *files);
/* What is called with each unit of the main files whose root DIE can be read, and the
 * number of the unit; false if memory ran out. */
typedef struct root_visit {
    bool (*call)(void *context, const dwarf_unit *unit, uint32_t number);
    void *context;
} root_visit;
/* List all units of the main files, those of them that are skeletons, and the number of
 * units of each line table. `visit` may be NULL. */
gsym_status debug_files_scan(debug_files *files, const root_visit *visit,
                             warning_list *warnings, gsym_error *error);

/* Use the files of `scanned`, but only the units with the given numbers, which ascend.
 * `scanned` must outlive `files`. */
gsym_status debug_files_share(debug_files *files, const debug_files *scanned,
                              const uint32_t *units, size_t count, gsym_error *error);

static inline debug_file *debug_file_of(const debug_files *files,
                                        const dwarf_input *input) {
    return files->files.items[input->number];
}

/* Whether several units, selected or not, use the line table with this dwarf_key. */
bool debug_files_share_lines(const debug_files *files, uint64_t key);

unit_source debug_files_unit(const debug_files *files, size_t index);
/* Return the bytes of the DIEs of a unit or piece and of its split unit. */
uint64_t unit_source_size(const unit_source *unit);
/* Return the bytes of the DIEs of all units to be read. */
uint64_t debug_files_size(const debug_files *files);

typedef struct page_range {
    const uint8_t *start;
    size_t size;
} page_range;

/* Pages that no worker will read any more. */
typedef struct done_pages {
    page_range ranges[GSYM_DEBUG_SECTION_COUNT], split_info;
    debug_file *main, *split; /* files of which all units have been read, or NULL */
} done_pages;

/* List the pages that are not needed any more when a unit and all units before it have been
 * read; called by one thread at a time. `lines_end` and `lists_end` are the ends of the
 * unit's parts of .debug_line and .debug_rnglists. */
done_pages debug_files_unit_done(debug_files *files, const unit_source *unit,
                                 uint64_t lines_end, uint64_t lists_end);
/* List the pages of the DIEs of a unit before the offset `reached`. */
done_pages debug_files_part_done(debug_files *files, const unit_source *unit,
                                 uint64_t reached);
void done_pages_drop(const done_pages *pages);
/* Give the pages of all sections back. */
void debug_file_drop(const debug_file *file);

#endif
