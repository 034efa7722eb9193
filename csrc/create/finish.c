/* finish.c - call the steps that turn the functions of a creator into its file. */
#include "base/system.h"
#include "create/state.h"

static gsym_status check_filled(const gsym_creator *creator, gsym_error *error) {
    if (creator->records.count > 0) return GSYM_OK;
    return gsym_fail(error, GSYM_E_EMPTY, 0, "no functions to encode");
}

gsym_status gsym_creator_finish(gsym_creator *creator, gsym_creator_report *report_ret,
                                gsym_error *error) {
    gsym_creator_report *report = &creator->report;
    side_work indexes = {.run = creator_make_indexes, .context = creator};
    gsym_status status;
    GSYM_TRY(creator_check_open(creator, error));
    GSYM_TRY(check_filled(creator, error));
    GSYM_TRY(creator_prune(creator, error));
    GSYM_TRY(check_filled(creator, error)); /* again, because pruning omits functions
                                               without names */
    GSYM_TRY(creator_assign_lines(creator, error));
    GSYM_TRY(creator_place_call_sites(creator, error));
    GSYM_TRY(creator_continue(creator, error));
    side_work_begin(&indexes, creator_uses_thread(creator));
    status = creator_order_strings(creator, error);
    side_work_end(&indexes);
    GSYM_TRY(status);
    creator->is_finished = true;
    GSYM_TRY(creator_lay_out(creator, error));
    report->functions = creator->records.count;
    report->functions_pruned = report->functions_debug_info +
                               report->functions_symbol_table +
                               report->functions_continued - report->functions_merged -
                               report->functions;
    report->strings = creator->strings.slots.count + 1;
    report->files = creator->files.count;
    *report_ret = *report;
    return GSYM_OK;
}
