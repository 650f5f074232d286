/* tensor/files/json_text.c - JSON files that people write, and where in them something stands. */
#include "tensor/files/json_text.h"

#include "tensor/files/number_text.h"
#include "tensor/storage.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* ---- places ---- */

static mo_json_place extend(mo_json_place place, const char *key, size_t index) {
    if (place.depth < (int)(sizeof place.step / sizeof *place.step)) {
        place.step[place.depth].key = key;
        place.step[place.depth++].index = index;
    }
    return place;
}

mo_json_place mo_json_key(mo_json_place place, const char *key) {
    return extend(place, key, 0);
}

mo_json_place mo_json_index(mo_json_place place, size_t index) {
    return extend(place, NULL, index);
}

void mo_json_fail(const mo_json_text *t, mo_json_place place, const char *format, ...) {
    char said[512], path[256], at[256] = "", word[80];
    size_t used = 0;
    for (int i = 0; i < place.depth; i++) {
        const char *key = place.step[i].key;
        char step[96];
        if (key)
            snprintf(step, sizeof step, "%s%s", i ? "." : "", mo_quote(key, strlen(key), word, sizeof word));
        else
            snprintf(step, sizeof step, "[%zu]", place.step[i].index);
        used = mo_append_text(at, sizeof at, used, step);
    }
    va_list list;
    va_start(list, format);
    mo_format_list(said, sizeof said, format, list);
    va_end(list);
    mo_fail(t->ctx, MO_FORMAT, "%s: %s%s%s", mo_quote(t->path, strlen(t->path), path, sizeof path), at, *at ? ": " : "",
        said);
}

/* ---- reading ---- */

bool mo_json_read(mo_context *ctx, const char *kind, const char *path, mo_json_text *text) {
    char label[MO_LABEL], quoted[256];
    json_error_t error;
    *text = (mo_json_text){.ctx = ctx, .path = path};
    mo_file_label(kind, path, label);
    mo_file_bytes bytes;
    if (!mo_ok(ctx) || !mo_file_read(ctx, label, path, &bytes))
        return false;
    text->root = mo_json_decode((const char *)bytes.data, bytes.n, JSON_REJECT_DUPLICATES, &error);
    mo_file_bytes_free(ctx, &bytes);
    if (!text->root) {
        char why[sizeof error.text];
        mo_fail(ctx, mo_json_code(&error), "%s:%d:%d: %s", mo_quote(path, strlen(path), quoted, sizeof quoted),
            error.line, error.column, mo_quote(error.text, strlen(error.text), why, sizeof why));
    } else if (!json_is_object(text->root)) {
        mo_json_fail(text, (mo_json_place){0}, "expected an object");
    }
    return mo_ok(ctx);
}

void mo_json_release(mo_json_text *text) {
    json_decref(text->root);
    *text = (mo_json_text){0};
}

/* "a, b or c" */
static const char *list_names(const char *const *names, int n, char *list, size_t bytes) {
    size_t used = 0;
    list[0] = '\0';
    for (int i = 0; i < n && used < bytes; i++)
        used += (size_t)snprintf(list + used, bytes - used, "%s%s", i == 0 ? "" : i == n - 1 ? " or " : ", ", names[i]);
    return list;
}

static const char *quote(const char *text, char buffer[80]) {
    return mo_quote(text, strlen(text), buffer, 80);
}

bool mo_json_only(const mo_json_text *t, mo_json_place place, const json_t *object, const char *const *keys, int n) {
    const char *key;
    json_t *value;
    char list[256], quoted[80];
    if (!json_is_object(object)) {
        mo_json_fail(t, place, "expected an object");
        return false;
    }
    json_object_foreach((json_t *)object, key, value) {
        int i = 0;
        while (i < n && strcmp(key, keys[i]) != 0)
            i++;
        if (i == n) {
            mo_json_fail(t, mo_json_key(place, key), "unknown key \"%s\"; expected %s", quote(key, quoted),
                list_names(keys, n, list, sizeof list));
            return false;
        }
    }
    return true;
}

const char *mo_json_string(
    const mo_json_text *t, mo_json_place place, const json_t *object, const char *key, bool required) {
    const json_t *value = json_object_get(object, key);
    if (!value && required)
        mo_json_fail(t, place, "expected the key \"%s\", found none", key);
    else if (value && !json_is_string(value))
        mo_json_fail(t, mo_json_key(place, key), "expected \"%s\" to be a text", key);
    return json_is_string(value) ? json_string_value(value) : "";
}

double mo_json_real(
    const mo_json_text *t, mo_json_place place, const json_t *object, const char *key, const double domain[3]) {
    const json_t *value = json_object_get(object, key);
    if (!value)
        return domain[2];
    if (json_is_number(value) && json_number_value(value) >= domain[0] && json_number_value(value) <= domain[1])
        return json_number_value(value);
    mo_json_fail(t, mo_json_key(place, key), "expected \"%s\" to be a number of %g to %g", key, domain[0], domain[1]);
    return domain[2];
}

const json_t *mo_json_array(
    const mo_json_text *t, mo_json_place place, const json_t *object, const char *key, bool required) {
    const json_t *value = json_object_get(object, key);
    if (!value && required)
        mo_json_fail(t, place, "expected the key \"%s\", found none", key);
    else if (value && !json_array_size(value))
        mo_json_fail(t, mo_json_key(place, key), "expected \"%s\" to be an array of at least one", key);
    return json_array_size(value) ? value : NULL;
}

int mo_json_choice(const mo_json_text *t, mo_json_place place, const json_t *value, const char *const *names, int n) {
    const char *word = json_string_value(value);
    char list[256], quoted[80];
    for (int i = 0; word && i < n; i++)
        if (strcmp(word, names[i]) == 0)
            return i;
    mo_json_fail(t, place, "expected %s, found %s", list_names(names, n, list, sizeof list),
        word ? quote(word, quoted) : "another type");
    return -1;
}
