/* tensor/files/json_text.c - JSON files that people write, and where in them something stands.
 *
 * jansson gives the line of text that it cannot parse, but not that of a parsed value. A place is found by walking the
 * text again, value by value; jansson itself skips each value and returns the number of bytes it took. */
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

static size_t skip_space(const mo_json_text *t, size_t at) {
    while (at < t->bytes.n && strchr(" \t\r\n", t->bytes.data[at]) && t->bytes.data[at])
        at++;
    return at;
}

/* The position after the value at `at`; *value, unless NULL, receives the value. */
static size_t skip_value(const mo_json_text *t, size_t at, json_t **value) {
    json_error_t error;
    json_t *v = mo_json_decode(
        (const char *)t->bytes.data + at, t->bytes.n - at, JSON_DECODE_ANY | JSON_DISABLE_EOF_CHECK, &error);
    size_t stop = v ? at + (size_t)error.position : t->bytes.n;
    if (value)
        *value = v;
    else
        json_decref(v);
    return stop;
}

/* The position after the comma that follows a value. */
static size_t skip_comma(const mo_json_text *t, size_t at) {
    at = skip_space(t, at);
    return skip_space(t, at < t->bytes.n ? at + 1 : at);
}

/* The position of a key from the start of its object; *value: the position of its value. */
static size_t find_key(const mo_json_text *t, size_t at, const char *key, size_t *value) {
    at = skip_space(t, at + 1);
    while (at < t->bytes.n && t->bytes.data[at] == '"') {
        json_t *name;
        size_t colon = skip_space(t, skip_value(t, at, &name));
        bool found = name && strcmp(json_string_value(name), key) == 0;
        json_decref(name);
        *value = skip_space(t, colon < t->bytes.n ? colon + 1 : colon);
        if (found)
            return at;
        at = skip_comma(t, skip_value(t, *value, NULL));
    }
    return at;
}

static size_t find_index(const mo_json_text *t, size_t at, size_t index) {
    at = skip_space(t, at + 1);
    for (; index > 0; index--)
        at = skip_comma(t, skip_value(t, at, NULL));
    return at;
}

/* The byte at which the place starts: the key of a member, the first byte of an array's item. */
static size_t locate(const mo_json_text *t, mo_json_place place) {
    size_t value = skip_space(t, 0), start = value;
    for (int i = 0; i < place.depth; i++)
        if (place.step[i].key)
            start = find_key(t, value, place.step[i].key, &value);
        else
            start = value = find_index(t, value, place.step[i].index);
    return start;
}

void mo_json_fail(const mo_json_text *t, mo_json_place place, const char *format, ...) {
    char said[512], path[256];
    size_t at = locate(t, place);
    int line = 1, column = 1;
    for (size_t i = 0; i < at && i < t->bytes.n; i++, column++)
        if (t->bytes.data[i] == '\n') {
            line++;
            column = 0;
        }
    va_list list;
    va_start(list, format);
    mo_format_list(said, sizeof said, format, list);
    va_end(list);
    mo_fail(
        t->ctx, MO_FORMAT, "%s:%d:%d: %s", mo_quote(t->path, strlen(t->path), path, sizeof path), line, column, said);
}

/* ---- reading ---- */

bool mo_json_read(mo_context *ctx, const char *kind, const char *path, mo_json_text *text) {
    char label[MO_LABEL], quoted[256];
    json_error_t error;
    *text = (mo_json_text){.ctx = ctx, .path = path};
    mo_file_label(kind, path, label);
    if (!mo_ok(ctx) || !mo_file_read(ctx, label, path, &text->bytes))
        return false;
    text->root = mo_json_decode((const char *)text->bytes.data, text->bytes.n, JSON_REJECT_DUPLICATES, &error);
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
    if (text->bytes.data)
        mo_file_bytes_free(text->ctx, &text->bytes);
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
