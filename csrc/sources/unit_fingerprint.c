/* unit_fingerprint.c - hash the contents of a function's record before it is encoded.
 *
 * A linker that keeps one of many copies of a function lets the debug information of all
 * copies refer to it. Fingerprints find such repetitions. */
#include "sources/unit_joiner.h"

static inline uint64_t mix(uint64_t fingerprint, uint64_t value) {
    fingerprint = (fingerprint ^ value) * UINT64_C(0x9fb21c651e98df25);
    return fingerprint ^ (fingerprint >> 35);
}

static uint64_t mark_of_name(const unit_functions *result, uint32_t name) {
    return name == NO_INDEX ? 0 : result->names.items[name].hash;
}

static void mark_nodes(const unit_functions *result, unit_function *function) {
    const unit_node *node = result->nodes.items + function->node_first;
    const unit_node *end = node + function->node_count;
    uint64_t fingerprint = mix(function->fingerprint, function->node_count);
    for (; node < end; ++node) {
        const gsym_range *range = result->ranges.items + node->range_first;
        /* Each call is hashed alone, so that those of several overlap in time. */
        uint64_t call = mark_of_name(result, node->name);
        call = mix(call, fingerprint_of_file(result, node->file_code));
        call = mix(call, (uint64_t)node->call_line << 32 | node->depth);
        for (uint32_t i = 0; i < node->range_count; ++i)
            call = mix(mix(call, range[i].start), range[i].end);
        fingerprint = mix(fingerprint, call);
    }
    function->fingerprint = fingerprint;
}

static void mark_call_sites(const unit_functions *result, unit_function *function) {
    for (uint32_t i = 0; i < function->site_count; ++i) {
        const unit_call_site *site = &result->call_sites.items[function->site_first + i];
        function->fingerprint =
            mix(mix(function->fingerprint, site->return_offset),
                mark_of_name(result, site->name));
    }
}

static void mark_head(const unit_functions *result, unit_function *function) {
    uint64_t fingerprint = mix(function->fingerprint, function->address);
    if (function->shift != 0) fingerprint = mix(fingerprint, function->shift);
    fingerprint = mix(fingerprint, function->size);
    fingerprint = mix(fingerprint, mark_of_name(result, function->name));
    function->fingerprint = mix(fingerprint, function->row_count);
}

void fingerprint_function(const unit_functions *result, unit_function *function) {
    mark_nodes(result, function);
    mark_call_sites(result, function);
    mark_head(result, function);
}
