/* conversion.c - read units in several threads and encode their functions.
 *
 * Each thread is called a worker. It takes the next unit, reads it and parks it, that is,
 * puts it aside. The unit with the lowest number whose names have no numbers in the output
 * yet has its turn. A worker that finds this unit parked does the ordered step for it and
 * for the parked units after it: names and files get numbers in the order of the units, so
 * the output does not depend on the number of threads. A worker encodes a unit after its
 * ordered step. Several units of each worker can be parked, so that one giant unit does not
 * stall the others. A unit with very many functions comes in parts: its worker waits for
 * its turn and interns all parts but the last one itself.
 *
 * A large unit is read before its turn, so that the others do not stop for it with all
 * their units parked. */
#include "sources/conversion.h"
#include "base/system.h"
#include "create/intern.h"
#include "sources/debug_files.h"
#include "sources/pdb_functions.h"
#include "sources/unit_encoder.h"
#include "sources/unit_joiner.h"
#include "sources/unit_pieces.h"

#define RESULTS_PER_THREAD 8
#define LARGE_SIZE (2u << 20) /* of a unit that is read before its turn */
#define KEPT_SIZE (4u << 20) /* of each kind of list, in units that are done */
#define MIN_RELEASED (4u << 20) /* bytes of units */
#define FETCH_AHEAD 8           /* items of a list between a prefetch and its use */

/* Limit: Shared or overlapping line tables */
LIMIT(LINE_BYTES, 1 << 20, 16);
/* Limit: Steps of all units */
LIMIT(ALL_STEPS, 1 << 27, 256);
/* Limit: Parts of functions of a PDB, by the entries of its OMAP */
LIMIT(MOVED_PARTS, 1 << 16, 16);

/* Where the records of a unit are. */
typedef struct unit_run {
    uint32_t worker;
    uint32_t count;
    size_t first;
} unit_run;

typedef struct conversion_worker {
    unit_joiner joiner;
    pdb_reader pdb;
    unit_encoder encoder;
    warning_list warnings;
} conversion_worker;

struct gsym_conversion {
    gsym_creator *creator;
    bool keeps_repeated;
    debug_files files;
    unit_pieces pieces; /* a unit below is one of these */
    /* NULL, or the PDB whose modules are the units of the conversion. */
    const gsym_pdb *pdb;
    uint64_t pdb_base;
    shared_lines *lines;
    dwarf_budget budget;
    warning_list warnings;
    unit_run *runs;
    size_t run_count;
    conversion_worker *workers;
    uint32_t worker_count;
    unit_functions *results;
    size_t result_count;
    atomic_uint_fast64_t done;
    atomic_bool is_cancelled;
    /* The members from here on may be used only by the thread that holds the gate. */
    sync_gate gate;
    uint32_t next_worker;
    size_t next_unit; /* the next one to be read, but for large ones */
    size_t large_end; /* the index after the large unit that was taken last; 0: none was */
    size_t searched; /* the first unit that was not yet looked at for being large */
    size_t next_interned; /* the unit for which the ordered step comes next */
    bool is_interning;
    bool is_stopped;
    unit_functions **idle;
    size_t idle_count;
    unit_functions **parked; /* index: number of the unit modulo result_count */
    /* used in the ordered step only */
    number_map fingerprints; /* fingerprint of a function of an earlier unit -> its
                                address */
    uint64_t repeated;
};

static unit_source unit_at(const gsym_conversion *conversion, size_t index) {
    giant_unit *giant;
    return unit_pieces_at(&conversion->pieces, index, &giant);
}

static size_t unit_count(const gsym_conversion *conversion) {
    return conversion->pdb != NULL ? conversion->pdb->modules.count
                                   : conversion->pieces.count;
}

/* Return the size of a unit, by which progress is measured. */
static uint64_t unit_size(const gsym_conversion *conversion, size_t index) {
    unit_source source;
    if (conversion->pdb != NULL) return pdb_module_size(conversion->pdb, index);
    source = unit_at(conversion, index);
    return unit_source_size(&source);
}

gsym_creator *conversion_creator(gsym_conversion *conversion) {
    return conversion->creator;
}

debug_files *conversion_files(gsym_conversion *conversion) { return &conversion->files; }

const gsym_pdb *conversion_pdb(const gsym_conversion *conversion, uint64_t *base_ret) {
    *base_ret = conversion->pdb_base;
    return conversion->pdb;
}

const dwarf_input *conversion_input(const gsym_conversion *conversion) {
    return &conversion->files.common;
}

warning_list *conversion_warnings(gsym_conversion *conversion) {
    return &conversion->warnings;
}

/* ---- set-up ------------------------------------------------------------------------ */

gsym_status gsym_conversion_create(gsym_creator *creator,
                                   const gsym_conversion_options *options,
                                   gsym_conversion **conversion_ret, gsym_error *error) {
    gsym_conversion *conversion = calloc(1, sizeof *conversion);
    gsym_status status;
    if (conversion == NULL) return gsym_fail_memory(error);
    if (!sync_init(&conversion->gate)) {
        free(conversion);
        return gsym_fail_memory(error);
    }
    conversion->creator = creator;
    creator_allow_lower_base(creator);
    conversion->files.common.big_endian = options->big_endian != 0;
    conversion->files.common.call_sites = (options->flags & GSYM_CONVERT_CALL_SITES) != 0;
    conversion->files.common.full_walk = (options->flags & GSYM_CONVERT_FULL_WALK) != 0;
    conversion->keeps_repeated = (options->flags & GSYM_CONVERT_KEEP_REPEATED) != 0;
    conversion->warnings.keep = (options->flags & GSYM_CONVERT_KEEP_WARNINGS) != 0;
    conversion->worker_count = options->thread_count == 0 ? 1 : options->thread_count;
    if (conversion->worker_count > 1) creator_allow_thread(creator);
    status = debug_files_init(&conversion->files, error);
    if (status != GSYM_OK) {
        gsym_conversion_destroy(conversion);
        return status;
    }
    *conversion_ret = conversion;
    return GSYM_OK;
}

/* Free what a worker needs only to read units. */
static void end_worker(conversion_worker *worker) {
    unit_joiner_deinit(&worker->joiner);
    worker->joiner = (unit_joiner){0};
    pdb_reader_deinit(&worker->pdb);
    worker->pdb = (pdb_reader){0};
}

/* Free what is needed only to read units. */
static void end_reading(gsym_conversion *conversion) {
    for (uint32_t i = 0; conversion->workers != NULL && i < conversion->worker_count; ++i)
        end_worker(&conversion->workers[i]);
    for (size_t i = 0; conversion->results != NULL && i < conversion->result_count; ++i)
        unit_functions_deinit(&conversion->results[i]);
    number_map_deinit(&conversion->fingerprints);
    unit_pieces_deinit(&conversion->pieces);
    conversion->pieces = (unit_pieces){0};
    debug_files_end(&conversion->files);
    conversion->fingerprints = (number_map){0};
    free(conversion->results);
    free(conversion->idle);
    free(conversion->parked);
    conversion->results = NULL;
    conversion->idle = conversion->parked = NULL;
}

/* Free the records and the lists of them. */
static void end_collecting(gsym_conversion *conversion) {
    for (uint32_t i = 0; conversion->workers != NULL && i < conversion->worker_count; ++i) {
        unit_encoder_deinit(&conversion->workers[i].encoder);
        free(conversion->workers[i].warnings.items);
    }
    shared_lines_destroy(conversion->lines);
    free(conversion->workers);
    free(conversion->runs);
    conversion->lines = NULL;
    conversion->workers = NULL;
    conversion->runs = NULL;
    conversion->worker_count = 0;
    conversion->run_count = 0;
}

void gsym_conversion_destroy(gsym_conversion *conversion) {
    if (conversion == NULL) return;
    end_reading(conversion);
    end_collecting(conversion);
    debug_files_deinit(&conversion->files);
    free(conversion->warnings.items);
    sync_deinit(&conversion->gate);
    free(conversion);
}

static gsym_status create_workers(gsym_conversion *conversion, gsym_error *error) {
    size_t per_thread = conversion->worker_count > 1 ? RESULTS_PER_THREAD : 1;
    size_t count = conversion->worker_count * per_thread;
    uint64_t done, input_size;
    conversion->result_count = count;
    conversion->workers = calloc(conversion->worker_count, sizeof *conversion->workers);
    conversion->results = calloc(count, sizeof *conversion->results);
    conversion->idle = calloc(count, sizeof *conversion->idle);
    conversion->parked = calloc(count, sizeof *conversion->parked);
    if (!unit_pieces_list(&conversion->pieces, &conversion->files))
        return gsym_fail_memory(error);
    conversion->run_count = unit_count(conversion);
    conversion->runs = calloc(conversion->run_count + 1, sizeof *conversion->runs);
    conversion->lines = shared_lines_create(&conversion->files);
    if (conversion->workers == NULL || conversion->results == NULL ||
        conversion->idle == NULL || conversion->parked == NULL ||
        conversion->runs == NULL || conversion->lines == NULL)
        return gsym_fail_memory(error);
    gsym_conversion_progress(conversion, &done, &input_size);
    for (size_t i = 0; i < count; ++i)
        conversion->idle[conversion->idle_count++] = &conversion->results[count - 1 - i];
    for (uint32_t i = 0; i < conversion->worker_count; ++i) {
        conversion_worker *worker = &conversion->workers[i];
        worker->warnings.keep = conversion->warnings.keep;
        worker->joiner.warnings = &worker->warnings;
        worker->joiner.creator = conversion->creator;
        worker->joiner.keeps_nameless = !conversion->keeps_repeated;
        worker->joiner.shared_lines = conversion->lines;
        worker->joiner.budget = &conversion->budget;
        if (!known_names_init(&worker->joiner.known, input_size))
            return gsym_fail_memory(error);
        worker->pdb.pdb = conversion->pdb;
        worker->pdb.base = conversion->pdb_base;
        worker->pdb.path_rules = &conversion->files.path_rules;
        worker->pdb.warnings = &worker->warnings;
        worker->pdb.budget = &conversion->budget;
        worker->pdb.creator = conversion->creator;
        worker->pdb.known = worker->joiner.known;
        worker->encoder.warnings = &worker->warnings;
        worker->encoder.encodes_all = conversion->keeps_repeated;
        worker->encoder.strp_size = creator_strp_size(conversion->creator);
        worker->encoder.has_index = creator_has_index(conversion->creator);
        worker->encoder.chunk.swap =
            creator_big_endian(conversion->creator) != CURSOR_HOST_BIG_ENDIAN;
    }
    return GSYM_OK;
}

static gsym_status collect_warnings(warning_list *all, const warning_list *some,
                                    gsym_error *error) {
    for (unsigned i = 0; i < GSYM_WARN_COUNT; ++i) all->counts[i] += some->counts[i];
    if (some->failed || !LIST_RESERVE(*all, some->count)) return gsym_fail_memory(error);
    if (some->count > 0)
        memcpy(all->items + all->count, some->items, some->count * sizeof *some->items);
    all->count += some->count;
    return GSYM_OK;
}

gsym_status conversion_scan_roots(gsym_conversion *conversion, const root_visit *visit,
                                  gsym_error *error) {
    debug_files_prepare(&conversion->files);
    return debug_files_scan(&conversion->files, visit, &conversion->warnings, error);
}

gsym_status gsym_conversion_scan(gsym_conversion *conversion, gsym_error *error) {
    return conversion_scan_roots(conversion, NULL, error);
}

gsym_status conversion_scan_beside(gsym_conversion *conversion, side_work *beside,
                                   gsym_error *error) {
    warning_list found = {.keep = conversion->warnings.keep};
    gsym_status status, collected;
    debug_files_prepare(&conversion->files);
    side_work_begin(beside, true);
    status = debug_files_scan(&conversion->files, NULL, &found, error);
    side_work_end(beside);
    collected = collect_warnings(&conversion->warnings, &found, error);
    free(found.items);
    return status == GSYM_OK ? collected : status;
}

gsym_status gsym_conversion_set_pdb(gsym_conversion *conversion, const gsym_pdb *pdb,
                                    uint64_t base_address, gsym_error *error) {
    if (base_address > UINT64_MAX - UINT32_MAX)
        return gsym_fail(error, GSYM_E_ARGUMENT, 0, "impossible base address");
    conversion->pdb = pdb;
    conversion->pdb_base = base_address;
    creator_raise_string_limit(conversion->creator, pdb->file.size);
    return GSYM_OK;
}

/* ---- working ------------------------------------------------------------------------- */

/* Drop functions that repeat a function of an earlier unit, which has the same fingerprint
 * and address. Functions with different addresses are all kept, even if their fingerprints
 * are equal. */
static gsym_status drop_repeated(gsym_conversion *conversion, unit_functions *unit,
                                 gsym_error *error) {
    uint32_t kept = 0;
    for (size_t i = 0; i < unit->functions.count; ++i) {
        const unit_function *function = &unit->functions.items[i];
        uint64_t address = function->address + function->shift, known;
        if (unit->functions.count - i > FETCH_AHEAD)
            number_map_fetch(&conversion->fingerprints, function[FETCH_AHEAD].fingerprint);
        if (function->fingerprint != 0) {
            if (!number_map_find(&conversion->fingerprints, function->fingerprint,
                                 &known)) {
                if (!number_map_set(&conversion->fingerprints, function->fingerprint,
                                    address))
                    return gsym_fail_memory(error);
            } else if (known == address) {
                ++conversion->repeated;
                continue;
            }
        }
        unit->functions.items[kept++] = *function;
    }
    unit->functions.count = kept;
    return GSYM_OK;
}

/* Do the ordered step: give the names and files of one unit their numbers. */
static gsym_status intern_unit(gsym_conversion *conversion, unit_functions *unit,
                               gsym_error *error) {
    gsym_creator *creator = conversion->creator;
    const char *arena = (const char *)unit->arena.bytes;
    if (!LIST_RESERVE(unit->strps, unit->names.count) ||
        !LIST_RESERVE(unit->files, unit->paths.count))
        return gsym_fail_memory(error);
    if (!conversion->keeps_repeated) GSYM_TRY(drop_repeated(conversion, unit, error));
    for (size_t i = 0; i < unit->names.count; ++i) {
        const unit_name *name = &unit->names.items[i];
        const resolved_name *text = &name->text;
        if (unit->names.count - i > FETCH_AHEAD && name[FETCH_AHEAD].text.strp == 0)
            creator_fetch_string(creator, name[FETCH_AHEAD].text.bytes,
                                 name[FETCH_AHEAD].hash);
        if (text->strp != 0) {
            unit->strps.items[i] = text->strp;
            continue;
        }
        GSYM_TRY(creator_intern(creator,
                                text->bytes != NULL ? text->bytes
                                                    : arena + text->arena_offset,
                                text->size, name->hash, &unit->strps.items[i], error));
    }
    for (size_t i = 0; i < unit->paths.count; ++i) {
        const unit_path *path = &unit->paths.items[i];
        GSYM_TRY(creator_intern_path(creator, arena + path->arena_offset, path->size,
                                     path->hash, &unit->files.items[i], error));
    }
    unit->strps.count = unit->names.count;
    unit->files.count = unit->paths.count;
    return GSYM_OK;
}

static unit_functions **parked_slot(gsym_conversion *conversion, size_t unit_index) {
    return &conversion->parked[unit_index % conversion->result_count];
}

/* Stop all workers; called with the gate held. */
static void stop(gsym_conversion *conversion) {
    conversion->is_stopped = true;
    sync_announce(&conversion->gate);
}

/* Keep the strps of the names of a unit for the units that this worker reads later. */
static void learn_names(unit_joiner *joiner, const unit_functions *unit) {
    for (size_t i = 0; i < unit->names.count; ++i) {
        const unit_name *name = &unit->names.items[i];
        uint64_t key = name->text.key;
        if (key != 0)
            *known_names_slot(&joiner->known, key) =
                (known_name){key, unit->strps.items[i], name->hash, name->text.size};
    }
}

static gsym_status encode_unit(gsym_conversion *conversion, uint32_t index,
                               unit_functions *unit, gsym_error *error) {
    unit_encoder *encoder = &conversion->workers[index].encoder;
    unit_run *run = &conversion->runs[unit->unit_index];
    gsym_status status;
    learn_names(&conversion->workers[index].joiner, unit);
    run->worker = index;
    if (run->count == 0) run->first = encoder->record_count;
    status = unit_encoder_add(encoder, unit, error);
    run->count = (uint32_t)(encoder->record_count - run->first);
    if (unit->is_last)
        atomic_fetch_add_explicit(&conversion->done,
                                  unit_size(conversion, unit->unit_index),
                                  memory_order_relaxed);
    return status;
}

/* Do the ordered step for parked units, and encode them, as long as the next unit in order
 * is parked. Called with the gate held; it is released during the work. */
static gsym_status intern_parked_units(gsym_conversion *conversion, uint32_t index,
                                       gsym_error *error) {
    while (!conversion->is_interning && !conversion->is_stopped) {
        unit_functions **slot = parked_slot(conversion, conversion->next_interned);
        unit_functions *unit = *slot;
        done_pages pages = {0};
        gsym_status status;
        if (unit == NULL || unit->unit_index != conversion->next_interned) return GSYM_OK;
        *slot = NULL;
        conversion->is_interning = true;
        sync_unlock(&conversion->gate);
        status = intern_unit(conversion, unit, error);
        sync_lock(&conversion->gate);
        conversion->is_interning = false;
        if (status != GSYM_OK) return status;
        ++conversion->next_interned;
        if (conversion->pdb == NULL) {
            unit_source source = unit_at(conversion, unit->unit_index);
            pages = debug_files_unit_done(&conversion->files, &source, unit->lines_end,
                                          unit->lists_end);
        }
        sync_unlock(&conversion->gate);
        done_pages_drop(&pages);
        status = encode_unit(conversion, index, unit, error);
        unit_functions_release(unit, KEPT_SIZE / conversion->result_count);
        sync_lock(&conversion->gate);
        conversion->idle[conversion->idle_count++] = unit;
        sync_announce(&conversion->gate);
        if (status != GSYM_OK) return status;
    }
    return GSYM_OK;
}

void conversion_set_budget(const gsym_conversion *conversion, dwarf_budget *budget) {
    uint64_t text = creator_string_limit(conversion->creator);
    uint64_t lines = 0, dies = 0, entries = 0;
    for (size_t i = 0; i < conversion->files.files.count; ++i) {
        const dwarf_input *input = &conversion->files.files.items[i]->input;
        lines += input->sections[GSYM_DEBUG_LINE].size;
        dies += input->sections[GSYM_DEBUG_INFO].size;
    }
    if (conversion->pdb != NULL && conversion->pdb->has_omap) {
        lines += conversion->pdb->file.size;
        dies += conversion->pdb->file.size;
        entries += conversion->pdb->omap_size;
    }
    atomic_store(&budget->text, text > INT64_MAX ? INT64_MAX : (int64_t)text);
    atomic_store(&budget->lines, (int64_t)LIMIT_OF(LINE_BYTES, lines));
    atomic_store(&budget->rows, (int64_t)LIMIT_OF(LINE_BYTES, lines));
    atomic_store(&budget->visits, (int64_t)LIMIT_OF(ALL_STEPS, dies));
    atomic_store(&budget->parts, (int64_t)LIMIT_OF(MOVED_PARTS, entries));
}

gsym_status conversion_fail_reading(const dwarf_budget *budget, gsym_error *error) {
    if (atomic_load(&budget->text) < 0) return string_table_fail_limit(error);
    if (atomic_load(&budget->lines) < 0 || atomic_load(&budget->rows) < 0)
        return gsym_fail(error, GSYM_E_LIMIT, 0,
                         "its line tables share their bytes and would take %d times their "
                         "size",
                         LINE_BYTES_FACTOR);
    if (atomic_load(&budget->visits) < 0)
        return gsym_fail(error, GSYM_E_LIMIT, 0,
                         "its functions share calls and ranges, and would take %d steps "
                         "for each byte",
                         ALL_STEPS_FACTOR);
    if (atomic_load(&budget->parts) < 0)
        return gsym_fail(error, GSYM_E_LIMIT, 0,
                         "its functions overlap, and its omap would cut them into more "
                         "than %d parts for each of its entries",
                         MOVED_PARTS_FACTOR);
    return gsym_fail_memory(error);
}

static gsym_status check_cancelled(const gsym_conversion *conversion, gsym_error *error) {
    if (!atomic_load_explicit(&conversion->is_cancelled, memory_order_relaxed))
        return GSYM_OK;
    return gsym_fail(error, GSYM_E_CANCELLED, 0, "the conversion was cancelled");
}

/* Do the ordered step for a part of a unit, encode it and read the next part; called with
 * the gate held. */
static gsym_status intern_part(gsym_conversion *conversion, uint32_t index,
                               unit_functions *unit, gsym_error *error) {
    unit_source source = unit_at(conversion, unit->unit_index);
    done_pages pages;
    gsym_status status;
    GSYM_TRY(check_cancelled(conversion, error));
    while (conversion->next_interned != unit->unit_index) {
        if (conversion->is_stopped) return GSYM_OK;
        sync_wait(&conversion->gate);
    }
    sync_unlock(&conversion->gate);
    status = intern_unit(conversion, unit, error);
    if (status == GSYM_OK) status = encode_unit(conversion, index, unit, error);
    pages = debug_files_part_done(&conversion->files, &source, unit->reached);
    done_pages_drop(&pages);
    if (status == GSYM_OK &&
        !unit_functions_read_on(unit, &conversion->workers[index].joiner))
        status = conversion_fail_reading(&conversion->budget, error);
    sync_lock(&conversion->gate);
    return status;
}

static bool read_unit(gsym_conversion *conversion, conversion_worker *worker,
                      unit_functions *unit, size_t unit_index) {
    unit_source source;
    if (conversion->pdb != NULL) return pdb_module_read(unit, &worker->pdb, unit_index);
    source = unit_at(conversion, unit_index);
    return unit_functions_read(unit, &worker->joiner, &source, unit_index);
}

/* Return the next unit to be read; called with the gate held. It is the next large one that
 * can be parked, if the large one before it has had its turn and other units can be read
 * meanwhile. */
static size_t choose_unit(gsym_conversion *conversion) {
    size_t end = conversion->next_interned + conversion->result_count;
    size_t *searched = &conversion->searched, next = conversion->next_unit++;
    giant_unit *giant = NULL;
    if (*searched <= next) *searched = next + 1;
    while (conversion->large_end <= conversion->next_interned &&
           conversion->idle_count > 0 && *searched < end &&
           *searched < unit_count(conversion)) {
        size_t index = (*searched)++;
        if (conversion->pdb == NULL)
            (void)unit_pieces_at(&conversion->pieces, index, &giant);
        if (giant != NULL || unit_size(conversion, index) < LARGE_SIZE) continue;
        conversion->large_end = index + 1;
        --conversion->next_unit;
        next = index;
    }
    if (conversion->next_unit + 1 == conversion->large_end) ++conversion->next_unit;
    return next;
}

/* Take the next unit; called with the gate held. If it is the rest of a giant unit, wait
 * until all other pieces of that are read. */
static gsym_status take_unit(gsym_conversion *conversion, size_t *unit_index_ret,
                             giant_unit **giant_ret, gsym_error *error) {
    *unit_index_ret = choose_unit(conversion);
    *giant_ret = NULL;
    if (conversion->pdb != NULL) return GSYM_OK;
    if (!unit_pieces_take(&conversion->pieces, *unit_index_ret))
        return gsym_fail_memory(error);
    if (unit_pieces_at(&conversion->pieces, *unit_index_ret, giant_ret).is_rest)
        while ((*giant_ret)->left > 0 && !conversion->is_stopped)
            sync_wait(&conversion->gate);
    return GSYM_OK;
}

/* Run the line program of a giant unit; called with the gate held. */
static gsym_status run_lines(gsym_conversion *conversion, conversion_worker *worker,
                             giant_unit *giant, gsym_error *error) {
    dwarf_unit unit = conversion->pieces.unit;
    const shared_table *lines;
    bool is_own, is_run;
    giant->runs_lines = true;
    sync_unlock(&conversion->gate);
    worker->warnings.file = unit.input->number;
    is_run = shared_lines_find(conversion->lines, &unit, true, &conversion->budget,
                               &worker->warnings, &lines, &is_own);
    sync_lock(&conversion->gate);
    giant->runs_lines = false;
    sync_announce(&conversion->gate);
    return is_run ? GSYM_OK : conversion_fail_reading(&conversion->budget, error);
}

/* Walk the next piece of a giant unit ahead; called with the gate held. */
static gsym_status walk_ahead(gsym_conversion *conversion, conversion_worker *worker,
                              giant_unit *giant, gsym_error *error) {
    size_t piece = giant->walked++;
    piece_walk *ahead = &giant->walks[piece];
    unit_source source;
    bool is_done;
    if (!unit_pieces_take(&conversion->pieces, giant->first + piece))
        return gsym_fail_memory(error);
    source = unit_at(conversion, giant->first + piece);
    ahead->is_begun = true;
    sync_unlock(&conversion->gate);
    is_done = unit_walk_ahead(&worker->joiner, &source, ahead);
    sync_lock(&conversion->gate);
    ahead->is_done = is_done;
    sync_announce(&conversion->gate);
    return is_done ? GSYM_OK : gsym_fail_memory(error);
}

/* Have the line program of a giant unit run before its first piece is read; called with the
 * gate held. Meanwhile walk pieces ahead, and wait for the walk of this piece if another
 * thread makes it. */
static gsym_status prepare_piece(gsym_conversion *conversion, conversion_worker *worker,
                                 giant_unit *giant, size_t piece, gsym_error *error) {
    if (giant->is_whole || piece >= GIANT_PIECES) return GSYM_OK;
    if (piece == 0 && conversion->pieces.unit.tag != DW_TAG_partial_unit)
        GSYM_TRY(run_lines(conversion, worker, giant, error));
    while (giant->runs_lines && !conversion->is_stopped) {
        if (giant->walked < GIANT_PIECES)
            GSYM_TRY(walk_ahead(conversion, worker, giant, error));
        else
            sync_wait(&conversion->gate);
    }
    while (giant->walks[piece].is_begun && !giant->walks[piece].is_done &&
           !conversion->is_stopped)
        sync_wait(&conversion->gate);
    return GSYM_OK;
}

/* Note that a piece of a giant unit was read; called with the gate held. */
static gsym_status end_piece(gsym_conversion *conversion, giant_unit *giant,
                             const range_list *covered, gsym_error *error) {
    if (giant->left == 0) return GSYM_OK; /* it is the rest */
    if (!ranges_append(&giant->covered, covered)) return gsym_fail_memory(error);
    --giant->left;
    sync_announce(&conversion->gate);
    return GSYM_OK;
}

/* Take the next unit, read it and park it; called with the gate held. */
static gsym_status read_next_unit(gsym_conversion *conversion, uint32_t index,
                                  gsym_error *error) {
    unit_functions *unit = conversion->idle[--conversion->idle_count];
    giant_unit *giant;
    size_t unit_index;
    bool is_read;
    GSYM_TRY(take_unit(conversion, &unit_index, &giant, error));
    if (giant != NULL)
        GSYM_TRY(prepare_piece(conversion, &conversion->workers[index], giant,
                               unit_index - giant->first, error));
    if (conversion->is_stopped) return GSYM_OK;
    sync_unlock(&conversion->gate);
    is_read = read_unit(conversion, &conversion->workers[index], unit, unit_index);
    sync_lock(&conversion->gate);
    if (!is_read) return conversion_fail_reading(&conversion->budget, error);
    while (!unit->is_last && !conversion->is_stopped)
        GSYM_TRY(intern_part(conversion, index, unit, error));
    if (giant != NULL)
        GSYM_TRY(end_piece(conversion, giant, &conversion->workers[index].joiner.covered,
                           error));
    *parked_slot(conversion, unit_index) = unit;
    return GSYM_OK;
}

static gsym_status work(gsym_conversion *conversion, uint32_t index, gsym_error *error) {
    while (!conversion->is_stopped &&
           conversion->next_unit < unit_count(conversion)) {
        GSYM_TRY(check_cancelled(conversion, error));
        if (conversion->idle_count == 0) {
            sync_wait(&conversion->gate);
            continue;
        }
        GSYM_TRY(read_next_unit(conversion, index, error));
        GSYM_TRY(intern_parked_units(conversion, index, error));
    }
    return GSYM_OK;
}

gsym_status gsym_conversion_work(gsym_conversion *conversion, gsym_error *error) {
    gsym_status status = GSYM_OK;
    uint32_t index;
    sync_lock(&conversion->gate);
    index = conversion->next_worker++;
    if (index >= conversion->worker_count) {
        sync_unlock(&conversion->gate);
        return gsym_fail(error, GSYM_E_ARGUMENT, 0, "more workers than announced");
    }
    if (index == 0) {
        conversion_set_budget(conversion, &conversion->budget);
        status = create_workers(conversion, error);
    }
    if (status == GSYM_OK) status = work(conversion, index, error);
    if (status != GSYM_OK) stop(conversion);
    sync_unlock(&conversion->gate);
    if (conversion->workers != NULL) end_worker(&conversion->workers[index]);
    return status;
}

void gsym_conversion_progress(gsym_conversion *conversion, uint64_t *done_ret,
                              uint64_t *total_ret) {
    *done_ret = atomic_load_explicit(&conversion->done, memory_order_relaxed);
    *total_ret = 0;
    if (conversion->pdb == NULL) *total_ret = debug_files_size(&conversion->files);
    for (size_t i = 0; conversion->pdb != NULL && i < unit_count(conversion); ++i)
        *total_ret += unit_size(conversion, i);
}

void gsym_conversion_cancel(gsym_conversion *conversion) {
    atomic_store_explicit(&conversion->is_cancelled, true, memory_order_relaxed);
}

/* ---- collecting ---------------------------------------------------------------------- */

/* Give all records to the creator in the order of the units. */
static gsym_status keep_records(gsym_conversion *conversion, gsym_error *error) {
    size_t count = 0;
    for (size_t unit = 0; unit < conversion->run_count; ++unit)
        count += conversion->runs[unit].count;
    /* There are about as many symbols, if they are not kept already. */
    GSYM_TRY(creator_expect(conversion->creator, 2 * count, error));
    for (size_t unit = 0; unit < conversion->run_count; ++unit) {
        const unit_run *run = &conversion->runs[unit];
        const unit_encoder *encoder = &conversion->workers[run->worker].encoder;
        for (uint32_t i = 0; i < run->count; ++i) {
            const creator_record *record = unit_encoder_record(encoder, run->first + i);
            GSYM_TRY(creator_keep(conversion->creator, record, 1, error));
        }
    }
    return GSYM_OK;
}

gsym_status gsym_conversion_collect(gsym_conversion *conversion, gsym_error *error) {
    for (uint32_t i = 0; conversion->workers != NULL && i < conversion->worker_count; ++i) {
        unit_encoder *encoder = &conversion->workers[i].encoder;
        GSYM_TRY(unit_encoder_close_chunk(encoder, error));
        while (encoder->chunks.count > 0) {
            GSYM_TRY(creator_adopt(conversion->creator,
                                   encoder->chunks.items[encoder->chunks.count - 1],
                                   error));
            --encoder->chunks.count;
        }
        GSYM_TRY(collect_warnings(&conversion->warnings, &conversion->workers[i].warnings,
                                  error));
    }
    creator_count_repeated(conversion->creator, conversion->repeated);
    end_reading(conversion);
    GSYM_TRY(keep_records(conversion, error));
    end_collecting(conversion);
    /* A small conversion leaves little memory, which the next one can use. */
    if (conversion->files.scanned == NULL && conversion->done >= MIN_RELEASED)
        memory_release();
    return GSYM_OK;
}

const uint64_t *gsym_conversion_warning_counts(const gsym_conversion *conversion) {
    return conversion->warnings.counts;
}

static int compare_warnings(const void *left, const void *right) {
    const gsym_warning *a = left, *b = right;
    if (a->file != b->file) return a->file < b->file ? -1 : 1;
    if (a->offset != b->offset) return a->offset < b->offset ? -1 : 1;
    if (a->category != b->category) return a->category < b->category ? -1 : 1;
    return a->value < b->value ? -1 : a->value > b->value;
}

const gsym_warning *gsym_conversion_warnings(gsym_conversion *conversion,
                                             size_t *count_ret) {
    warning_list *warnings = &conversion->warnings;
    if (warnings->count > 1)
        qsort(warnings->items, warnings->count, sizeof *warnings->items, compare_warnings);
    *count_ret = warnings->count;
    return warnings->items;
}
