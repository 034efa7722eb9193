/* path_rules.c - replace prefixes of source paths by rules. */
#include "base/path_rules.h"

static char *copy_bytes(const char *bytes, size_t size) {
    char *copy = malloc(size + 1);
    if (copy != NULL) memcpy(copy, bytes, size);
    return copy;
}

bool path_rules_add(path_rule_list *rules, const char *old_bytes, size_t old_size,
                    const char *new_bytes, size_t new_size) {
    path_rule *rule;
    if (!LIST_RESERVE(*rules, 1)) return false;
    rule = &rules->items[rules->count++];
    *rule = (path_rule){copy_bytes(old_bytes, old_size), copy_bytes(new_bytes, new_size),
                        old_size, new_size};
    return rule->old_prefix != NULL && rule->new_prefix != NULL;
}

void path_rules_deinit(path_rule_list *rules) {
    for (size_t i = 0; i < rules->count; ++i) {
        free(rules->items[i].old_prefix);
        free(rules->items[i].new_prefix);
    }
    free(rules->items);
}

void path_rules_apply(const path_rule_list *rules, buffer *out, size_t first) {
    for (size_t i = 0; i < rules->count; ++i) {
        const path_rule *rule = &rules->items[i];
        size_t size = out->size - first;
        if (size < rule->old_size ||
            memcmp(out->bytes + first, rule->old_prefix, rule->old_size) != 0)
            continue;
        if (!buffer_reserve(out, rule->new_size)) return;
        memmove(out->bytes + first + rule->new_size, out->bytes + first + rule->old_size,
                size - rule->old_size);
        memcpy(out->bytes + first, rule->new_prefix, rule->new_size);
        out->size = out->size - rule->old_size + rule->new_size;
        return;
    }
}
