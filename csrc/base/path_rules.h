/* path_rules.h - replace prefixes of source paths by rules. */
#ifndef GSYM_BASE_PATH_RULES_H
#define GSYM_BASE_PATH_RULES_H

#include "base/buffer.h"
#include "base/list.h"

typedef struct path_rule {
    char *old_prefix, *new_prefix;
    size_t old_size, new_size;
} path_rule;

typedef LIST(path_rule) path_rule_list;

bool path_rules_add(path_rule_list *rules, const char *old_bytes, size_t old_size,
                    const char *new_bytes, size_t new_size);
void path_rules_deinit(path_rule_list *rules);
/* Rewrite the path in `out` from `first` on with the first rule that matches. */
void path_rules_apply(const path_rule_list *rules, buffer *out, size_t first);

#endif
