/* unit_fingerprint.c - a number for all that a function's record would say.
 *
 * Linkers that keep one of many copies of a function point the debug information of
 * all copies at it. A fingerprint tells such repetitions before they are encoded. */
#include "sources/unit_fingerprint.h"

static inline uint64_t mix(uint64_t fingerprint, uint64_t value) {
    fingerprint = (fingerprint ^ value) * UINT64_C(0x9fb21c651e98df25);
    return fingerprint ^ (fingerprint >> 35);
}

static uint64_t mark_of_name(const unit_functions *result, uint32_t name) {
    return name == NO_INDEX ? 0 : result->names.items[name].hash;
}

uint64_t fingerprint_of_file(const unit_functions *result, uint32_t code) {
    return code < PATH_FIRST ? code : result->paths.items[code - PATH_FIRST].hash;
}

static void mark_nodes(const unit_functions *result, unit_function *function) {
    const gsym_inline_node *node = result->nodes.items + function->node_first;
    const gsym_inline_node *end = node + function->node_count;
    uint64_t fingerprint = mix(function->fingerprint, function->node_count);
    for (; node < end; ++node) {
        const gsym_range *range = result->ranges.items + node->range_first;
        fingerprint = mix(fingerprint, mark_of_name(result, (uint32_t)(node->name - 1)));
        fingerprint = mix(fingerprint, fingerprint_of_file(result, node->call_file));
        fingerprint = mix(fingerprint, (uint64_t)node->call_line << 32 | node->depth);
        for (uint32_t i = 0; i < node->range_count; ++i)
            fingerprint = mix(mix(fingerprint, range[i].start), range[i].end);
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
    fingerprint = mix(fingerprint, function->row_count);
    fingerprint = mix(fingerprint, fingerprint_of_file(result, function->decl_file));
    function->fingerprint = mix(fingerprint, function->decl_line);
}

void fingerprint_function(const unit_functions *result, unit_function *function) {
    mark_nodes(result, function);
    mark_call_sites(result, function);
    mark_head(result, function);
}
