/* tools/predict/kept.c - the file of a saved readout: safetensors with its state, and its settings as text metadata. */
#include "tools/cli/memory.h"
#include "tools/predict/predict.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char format[] = "mochi readout 3";
static const char *const kinds[] = {"rows", "examples", "links", "targets"};
static const char *const commands[] = {"mochi fit --save", "mochi predict --save",
    "mochi predict --save` of `--task lp", "mochi predict --save` of `--targets"};

bool is_kept_as(mo_context *ctx, const char *path, kept_kind kind) {
    mo_arrays *arrays = mo_safetensors_read(ctx, path);
    json_t *metadata = arrays && arrays->metadata ? json_loads(arrays->metadata, 0, NULL) : NULL;
    const char *of = json_string_value(json_object_get(metadata, "of"));
    bool is = of && !strcmp(of, kinds[kind]);
    json_decref(metadata);
    mo_arrays_release(arrays);
    return is;
}

kept_fit open_kept(mo_context *ctx, const char *path, kept_kind kind) {
    kept_fit f = {.ctx = ctx, .path = path, .arrays = mo_safetensors_read(ctx, path)};
    const char *metadata = f.arrays ? f.arrays->metadata : NULL, *what = commands[kind];
    f.metadata = metadata ? json_loads(metadata, 0, NULL) : NULL;
    const char *found = json_string_value(json_object_get(f.metadata, "format"));
    const char *of = json_string_value(json_object_get(f.metadata, "of"));
    if (mo_ok(ctx) && !found)
        mo_fail(ctx, MO_FORMAT, "%s: expected a file of `%s`, found no format in its metadata", path, what);
    else if (mo_ok(ctx) && !strcmp(found, format) && (!of || strcmp(of, kinds[kind]) != 0))
        mo_fail(ctx, MO_FORMAT, "%s: expected a file of `%s`, found a readout of %.40s", path, what, of ? of : "none");
    else if (mo_ok(ctx) && strcmp(found, format) != 0)
        mo_fail(ctx, MO_FORMAT, "%s: expected a file of `%s`, found %.40s", path, what, found);
    if (mo_ok(ctx)) { /* a saved fit must have digests: mo_safetensors_read verifies only those that a file has */
        kept_text(&f, "xxh3_header");
        kept_text(&f, "xxh3_tensors");
    }
    return f;
}

void release_kept(kept_fit *f) {
    json_decref(f->metadata);
    mo_arrays_release(f->arrays);
}

const char *kept_text(const kept_fit *f, const char *key) {
    const char *text = json_string_value(json_object_get(f->metadata, key));
    if (!text && mo_ok(f->ctx))
        mo_fail(f->ctx, MO_FORMAT, "%s: expected a saved fit, found no %s in its metadata", f->path, key);
    return text;
}

double kept_real(const kept_fit *f, const char *key, bool none) {
    const char *text = kept_text(f, key);
    char *end = NULL;
    double value = text ? strtod(text, &end) : NAN;
    if (text && none && !strcmp(text, "none"))
        return NAN;
    if (text && (!*text || *end || !isfinite(value) || value < 0))
        mo_fail(f->ctx, MO_FORMAT, "%s: expected a number of 0 or more as its %s, found '%.40s'", f->path, key, text);
    return value;
}

int kept_word(const kept_fit *f, const char *key, const char *const *words, int n) {
    const char *text = kept_text(f, key);
    char list[200] = "";
    for (int i = 0; text && i < n; i++) {
        size_t used = strlen(list);
        snprintf(list + used, sizeof list - used, "%s%s", !i ? "" : i == n - 1 ? " or " : ", ", words[i]);
        if (!strcmp(text, words[i]))
            return i;
    }
    if (text)
        mo_fail(f->ctx, MO_FORMAT, "%s: expected %s as its %s, found '%.40s'", f->path, list, key, text);
    return 0;
}

const mo_head *kept_head(const kept_fit *f, const mo_head *own) {
    const char *name = kept_text(f, "head");
    const mo_head *head = name ? mo_find_head(name) : NULL;
    if (name && !head && own && !strcmp(own->name, name))
        return own;
    if (name && own)
        mo_fail(f->ctx, MO_INVALID, "%s: its readout is %.40s, found %s (--head)", f->path, name, own->name);
    else if (name && *name && !head)
        mo_fail(f->ctx, MO_UNSUPPORTED,
            "%s: its readout is %.40s, which is not one of the library's; expected --head FILE.so beside it", f->path,
            name);
    return head;
}

static int by_text(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Raises if two of n names are equal. */
static void require_different(const kept_fit *f, char *const *name, size_t n) {
    char **sorted = needed(malloc(n * sizeof *sorted + 1));
    memcpy(sorted, name, n * sizeof *sorted);
    qsort(sorted, n, sizeof *sorted, by_text);
    for (size_t i = 1; i < n && mo_ok(f->ctx); i++)
        if (!strcmp(sorted[i - 1], sorted[i]))
            mo_fail(
                f->ctx, MO_FORMAT, "%s: expected classes of different names, found '%.40s' twice", f->path, sorted[i]);
    free(sorted);
}

char **kept_names(const kept_fit *f, int64_t *classes) {
    const char *text = kept_text(f, "classes");
    json_t *names = text ? json_loads(text, 0, NULL) : NULL;
    size_t n = json_array_size(names);
    char **name = mo_ok(f->ctx) ? needed(calloc(n + 1, sizeof *name)) : NULL;
    *classes = 0;
    for (size_t c = 0; name && c < n; c++) {
        const char *given = json_string_value(json_array_get(names, c));
        name[(*classes)++] = given ? needed(strdup(given)) : NULL;
        if (!given && mo_ok(f->ctx))
            mo_fail(f->ctx, MO_FORMAT, "%s: class %zu has no name", f->path, c);
    }
    if (mo_ok(f->ctx))
        require_different(f, name, n);
    if (mo_ok(f->ctx) && n < 2)
        mo_fail(f->ctx, MO_FORMAT, "%s: expected the names of 2 or more classes, found %zu", f->path, n);
    json_decref(names);
    return name;
}

int64_t *kept_numbers(const kept_fit *f, const char *name, int64_t *n) {
    mo_tensor *T = mo_arrays_find(f->arrays, name);
    if (mo_ok(f->ctx) && (!T || mo_tensor_dtype(T) != MO_I64 || mo_ndim(T) != 1 || mo_numel(T) < 1 ||
                             (*n != ANY_LENGTH && mo_numel(T) != *n)))
        mo_fail(f->ctx, MO_FORMAT, "%s: expected the array %s, int64 [n], n 1 or more and as of its other arrays",
            f->path, name);
    if (!mo_ok(f->ctx))
        return NULL;
    *n = mo_numel(T);
    int64_t *host = needed(calloc((size_t)*n + 1, sizeof *host));
    mo_tensor_read(T, host, (size_t)*n * sizeof *host);
    return host;
}

bool write_kept(mo_context *ctx, const char *path, kept_kind kind, mo_arrays *arrays, json_t *metadata,
    char *const *name, int64_t n) {
    json_t *names = json_array();
    for (int64_t c = 0; c < n; c++)
        json_array_append_new(names, json_string(name[c]));
    char *classes = needed(json_dumps(names, JSON_COMPACT));
    json_object_set_new(metadata, "format", json_string(format));
    json_object_set_new(metadata, "of", json_string(kinds[kind]));
    json_object_set_new(metadata, "classes", json_string(classes));
    char *text = needed(json_dumps(metadata, JSON_COMPACT));
    if (mo_ok(ctx))
        mo_safetensors_write(arrays, text, path);
    free(text);
    free(classes);
    json_decref(names);
    json_decref(metadata);
    mo_arrays_release(arrays);
    return mo_ok(ctx);
}
