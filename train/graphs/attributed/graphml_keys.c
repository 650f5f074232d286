/* train/graphs/attributed/graphml_keys.c - the keys of a GraphML file. */
#include "train/graphs/attributed/graphml_keys.h"

#include <stdlib.h>
#include <string.h>

static bool find_type(const char *type, graphml_type *found) {
    static const char *const numbers[] = {"int", "long", "float", "double"};
    *found = type && !strcmp(type, "boolean") ? GRAPHML_BOOLEAN : GRAPHML_TEXT;
    for (int i = 0; type && i < 4; i++)
        if (!strcmp(type, numbers[i]))
            *found = GRAPHML_NUMBER;
    return !type || *found != GRAPHML_TEXT || !strcmp(type, "string");
}

bool graphml_key_add(
    mo_context *ctx, graphml_keys *keys, const char *id, const char *name, const char *type, const char *of) {
    graphml_key key = {0};
    if (!id || mo_word_table_find(&keys->ids, id) >= 0 || !find_type(type, &key.type))
        return false;
    graphml_key *grown = mo_host_array_grow(ctx, keys->key, &keys->capacity, keys->n + 1, sizeof *grown);
    keys->key = grown ? grown : keys->key;
    if (!grown || !mo_word_table_add(ctx, &keys->ids, id))
        return false;
    key.of_nodes = !of || !strcmp(of, "node") || !strcmp(of, "all");
    key.name = name ? mo_text_copy(ctx, name) : NULL;
    keys->key[keys->n++] = key;
    return mo_ok(ctx);
}

bool graphml_key_default(mo_context *ctx, graphml_keys *keys, const char *value) {
    graphml_key *key = &keys->key[keys->n - 1];
    free(key->value);
    bool first = !key->value;
    key->value = mo_text_copy(ctx, value);
    if (!key->value || !key->of_nodes || !key->name || !first)
        return key->value;
    int64_t *grown =
        mo_host_array_grow(ctx, keys->with_default, &keys->default_capacity, keys->defaults + 1, sizeof *grown);
    if (!grown)
        return false;
    keys->with_default = grown;
    keys->with_default[keys->defaults++] = keys->n - 1;
    return true;
}

const graphml_key *graphml_key_find(const graphml_keys *keys, const char *id) {
    int64_t k = mo_word_table_find(&keys->ids, id);
    return k < 0 ? NULL : &keys->key[k];
}

void graphml_keys_release(graphml_keys *keys) {
    for (int64_t k = 0; k < keys->n; k++) {
        free(keys->key[k].name);
        free(keys->key[k].value);
    }
    free(keys->key);
    free(keys->with_default);
    mo_word_table_release(&keys->ids);
    *keys = (graphml_keys){0};
}
