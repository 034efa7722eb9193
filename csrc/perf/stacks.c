/* stacks.c - number what samples of perf.data have in common: stacks, threads, counts. */
#include "base/hash.h"
#include "perf/samples.h"

static uint64_t pair_hash(uint64_t first, uint64_t second) {
    return hash_fold(first ^ HASH_KEY_A, second ^ HASH_KEY_C);
}

/* ---- locations ------------------------------------------------------------------ */

static bool location_number(gsym_perf_samples *samples, gsym_perf_location location,
                            uint32_t *number_ret) {
    uint64_t kind = (uint64_t)(uint32_t)location.process << 2 |
                    (unsigned)location.is_kernel << 1 | location.is_exact;
    uint64_t hash = pair_hash(location.address, kind), at = hash, number;
    while ((number = slot_table_next(&samples->location_numbers, hash, &at)) != 0) {
        const gsym_perf_location *known = &samples->locations.items[number - 1];
        if (known->address == location.address && known->process == location.process &&
            known->is_kernel == location.is_kernel &&
            known->is_exact == location.is_exact) {
            *number_ret = (uint32_t)number - 1;
            return true;
        }
    }
    if (samples->locations.count >= UINT32_MAX - 1 ||
        !LIST_ADD(samples->locations, location) ||
        !slot_table_reserve(&samples->location_numbers))
        return false;
    slot_table_insert(&samples->location_numbers, hash, samples->locations.count);
    *number_ret = (uint32_t)samples->locations.count - 1;
    return true;
}

/* Append the locations of a chain. The mode of the processor at the sample and marks tell
 * what is in the kernel, else an address in its upper half. The innermost address is exact,
 * and so is the first one of user space. */
static bool append_locations(gsym_perf_samples *samples, const perf_chain *chain) {
    enum { KERNEL_MODE = 1 };
    size_t first = samples->stack_locations.count;
    bool in_kernel = chain->mode == KERNEL_MODE, was_kernel = true;
    for (uint32_t i = 0; i < chain->count; ++i) {
        uint64_t word = cursor_load64(chain->words + 8 * (size_t)i, samples->swap);
        bool is_kernel = in_kernel || word >> 63 != 0, is_exact;
        gsym_perf_location location;
        uint32_t number;
        if (perf_is_mark(word)) {
            in_kernel = word == PERF_IN_KERNEL;
            continue;
        }
        is_exact = samples->is_exact || i >= chain->exact_from ||
                   samples->stack_locations.count == first || (was_kernel && !is_kernel);
        was_kernel = is_kernel;
        location = (gsym_perf_location){word, is_kernel ? 0 : chain->process, is_kernel,
                                        is_exact};
        if (!location_number(samples, location, &number) ||
            !LIST_ADD(samples->stack_locations, number))
            return false;
    }
    return true;
}

/* ---- stacks --------------------------------------------------------------------- */

bool perf_stack_number(gsym_perf_samples *samples, const perf_chain *chain,
                       uint32_t *number_ret) {
    size_t size = 8 * (size_t)chain->count;
    uint64_t kind = (uint64_t)(uint32_t)chain->process << 32 | chain->mode;
    uint64_t hash = string_hash((const char *)chain->words, size), at, number;
    perf_stack made = {*chain, samples->stack_locations.count, 0};
    hash = pair_hash(hash ^ chain->exact_from, kind);
    at = hash;
    while ((number = slot_table_next(&samples->stack_numbers, hash, &at)) != 0) {
        const perf_chain *known = &samples->stacks.items[number - 1].chain;
        if (known->process == chain->process && known->mode == chain->mode &&
            known->count == chain->count && known->exact_from == chain->exact_from &&
            memcmp(known->words, chain->words, size) == 0) {
            *number_ret = (uint32_t)number - 1;
            return true;
        }
    }
    if (samples->stacks.count >= UINT32_MAX - 1 || !append_locations(samples, chain))
        return false;
    made.count = (uint32_t)(samples->stack_locations.count - made.first);
    if (!LIST_ADD(samples->stacks, made) || !slot_table_reserve(&samples->stack_numbers))
        return false;
    slot_table_insert(&samples->stack_numbers, hash, samples->stacks.count);
    *number_ret = (uint32_t)samples->stacks.count - 1;
    return true;
}

/* ---- threads and counts --------------------------------------------------------- */

bool perf_thread_number(gsym_perf_samples *samples, gsym_perf_thread thread,
                        uint32_t *number_ret) {
    uint64_t key = (uint64_t)(uint32_t)thread.process << 32 | (uint32_t)thread.thread;
    uint64_t number;
    if (!number_map_find(&samples->thread_numbers, key, &number)) {
        number = samples->threads.count;
        if (number >= UINT32_MAX || !LIST_ADD(samples->threads, thread) ||
            !number_map_set(&samples->thread_numbers, key, number))
            return false;
    }
    *number_ret = (uint32_t)number;
    return true;
}

bool perf_count_number(gsym_perf_samples *samples, gsym_perf_count count,
                       uint32_t *number_ret) {
    uint64_t place = (uint64_t)count.event << 32 | (uint32_t)count.cpu;
    uint64_t hash = pair_hash(count.period, place), at = hash, number;
    while ((number = slot_table_next(&samples->count_numbers, hash, &at)) != 0) {
        const gsym_perf_count *known = &samples->counts.items[number - 1];
        if (known->period == count.period && known->event == count.event &&
            known->cpu == count.cpu) {
            *number_ret = (uint32_t)number - 1;
            return true;
        }
    }
    if (samples->counts.count >= UINT32_MAX - 1 || !LIST_ADD(samples->counts, count) ||
        !slot_table_reserve(&samples->count_numbers))
        return false;
    slot_table_insert(&samples->count_numbers, hash, samples->counts.count);
    *number_ret = (uint32_t)samples->counts.count - 1;
    return true;
}

/* ---- the caller's view ---------------------------------------------------------- */

const uint32_t *gsym_perf_samples_stack(const gsym_perf_samples *samples, uint32_t stack,
                                        int32_t *process_ret, size_t *count_ret) {
    const perf_stack *found = &samples->stacks.items[stack];
    *process_ret = found->chain.process;
    *count_ret = found->count;
    return LIST_FROM(samples->stack_locations, found->first);
}

const gsym_perf_location *gsym_perf_samples_locations(const gsym_perf_samples *samples,
                                                      size_t *count_ret) {
    *count_ret = samples->locations.count;
    return samples->locations.items;
}

const gsym_perf_thread *gsym_perf_samples_threads(const gsym_perf_samples *samples,
                                                  size_t *count_ret) {
    *count_ret = samples->threads.count;
    return samples->threads.items;
}

const gsym_perf_count *gsym_perf_samples_counts(const gsym_perf_samples *samples,
                                                size_t *count_ret) {
    *count_ret = samples->counts.count;
    return samples->counts.items;
}

void gsym_perf_samples_losses(const gsym_perf_samples *samples,
                              gsym_perf_losses *losses_ret) {
    *losses_ret = samples->losses;
}
