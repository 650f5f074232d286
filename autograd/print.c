/* autograd/print.c - a recorded graph as text, or for graphviz.
 *
 * A node is named by its position on the tape, %4 (its outputs %4.0, %4.1 if it has several); a leaf by its name, or
 * data0, data1, .. in order of use: parameters without a name, and values that were computed without being recorded. */
#include "autograd/picture.h"
#include "tensor/files/number_text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void mo_put(mo_printer *p, const char *pattern, ...) {
    char text[512];
    va_list args;
    va_start(args, pattern);
    mo_format_list(text, sizeof text, pattern, args);
    va_end(args);
    p->write(text, p->state);
}

/* ---- values ---- */

static int64_t numel_of(json_t *value) {
    int64_t n = 1;
    for (size_t a = 0; a < mo_n_listed(value, "shape"); a++)
        n *= mo_listed(value, "shape", a);
    return n;
}

static bool is_small(const mo_printer *p, int64_t value) {
    int64_t n = numel_of(mo_value_of(p->picture, value));
    return n > 0 && n <= p->options->values;
}

const mo_tensor *mo_elements_of(const mo_printer *p, char kind, int64_t value) {
    json_t *place = json_object_get(mo_value_of(p->picture, value), kind == 'v' ? "elements" : "gradient");
    return place && is_small(p, value) ? p->picture->arrays->items[json_integer_value(place)].tensor : NULL;
}

bool mo_shows_released(const mo_printer *p, int64_t value) {
    return is_small(p, value) && mo_is_set(mo_value_of(p->picture, value), "released");
}

/* In nested brackets: each axis that begins or ends at an element opens or closes one. */
static void put_numbers(mo_printer *p, const mo_tensor *T, const double *x) {
    for (int64_t i = 0; i < mo_numel(T); i++) {
        int open = 0, close = 0;
        int64_t span = 1;
        for (int a = T->ndim - 1; a >= 0; a--) {
            span *= T->shape[a];
            open += i % span == 0;
            close += (i + 1) % span == 0;
        }
        mo_put(p, "%s%.*s%.5g%.*s", !i ? "" : open ? p->between_rows : ", ", open, "[[[[[[", x[i], close, "]]]]]]");
    }
}

void mo_put_elements(mo_printer *p, const mo_tensor *T) {
    mo_context *ctx = p->picture->ctx;
    mo_tensor *wide = mo_tensor_create(ctx, MO_F64, T->ndim, T->shape);
    size_t bytes = (size_t)mo_numel(T) * sizeof(double);
    double *x = malloc(bytes);
    if (!x)
        mo_fail(ctx, MO_MEMORY, "print: out of memory for %zu bytes", bytes);
    else if (mo_tensor_copy(wide, T) == MO_OK && mo_tensor_read(wide, x, bytes) == MO_OK)
        put_numbers(p, T, x);
    free(x);
    mo_tensor_release(wide);
}

static void put_values(mo_printer *p, int64_t value, const char *before, const char *before_gradient) {
    const mo_tensor *T = mo_elements_of(p, 'v', value), *g = mo_elements_of(p, 'g', value);
    if (T || mo_shows_released(p, value))
        mo_put(p, "%s%s", before, T ? "" : "released");
    if (T)
        mo_put_elements(p, T);
    if (g) {
        mo_put(p, "%s", before_gradient);
        mo_put_elements(p, g);
    }
}

/* ---- names ---- */

void mo_put_type(mo_printer *p, int64_t i) {
    json_t *value = mo_value_of(p->picture, i);
    mo_put(p, "%s [", mo_member(value, "dtype"));
    for (size_t a = 0; a < mo_n_listed(value, "shape"); a++)
        mo_put(p, "%s%" PRId64, a ? ", " : "", mo_listed(value, "shape", a));
    mo_put(p, "]");
}

void mo_put_name(mo_printer *p, int64_t i) {
    json_t *value = mo_value_of(p->picture, i);
    if (mo_member(value, "name"))
        mo_put(p, "%s", mo_member(value, "name"));
    else if (!json_object_get(value, "node"))
        mo_put(p, "data%" JSON_INTEGER_FORMAT, json_integer_value(json_object_get(value, "number")));
    else {
        int64_t node = json_integer_value(json_object_get(value, "node"));
        json_t *made_by = mo_node_of(p->picture, node);
        mo_put(p, "%%%" PRId64, node);
        if (mo_n_listed(made_by, "out") > 1)
            mo_put(p, ".%" PRId64, i - mo_listed(made_by, "out", 0));
    }
}

/* ---- text ---- */

static void put_result(mo_printer *p, int64_t i) {
    const char *label = mo_member(mo_value_of(p->picture, i), "label");
    mo_put_name(p, i);
    mo_put(p, " ");
    mo_put_type(p, i);
    if (label)
        mo_put(p, " (%s)", label);
}

static void text_leaf(mo_printer *p, int64_t i) {
    json_t *value = mo_value_of(p->picture, i);
    put_result(p, i);
    mo_put(p, "%s", mo_member(value, "name") ? ": parameter" : mo_is_set(value, "leaf") ? ": leaf" : "");
    put_values(p, i, " = ", ", gradient ");
    mo_put(p, "\n");
}

static void text_node(mo_printer *p, json_t *node) {
    for (size_t i = 0; i < mo_n_listed(node, "out"); i++) {
        mo_put(p, "%s", i ? ", " : "");
        put_result(p, mo_listed(node, "out", i));
    }
    mo_put(p, " = %s(", mo_member(node, "op"));
    for (size_t i = 0; i < mo_n_listed(node, "in"); i++) {
        mo_put(p, "%s", i ? ", " : "");
        mo_put_name(p, mo_listed(node, "in", i));
    }
    mo_put(p, ")%s", mo_is_set(node, "view") ? ", a view" : "");
    json_t *rule = json_object_get(node, "vjp_of");
    if (rule)
        mo_put(p, ", in the vjp of %%%" JSON_INTEGER_FORMAT " %s", json_integer_value(rule),
            mo_member(mo_node_of(p->picture, json_integer_value(rule)), "op"));
    for (size_t i = 0; i < mo_n_listed(node, "out"); i++)
        put_values(p, mo_listed(node, "out", i), " = ", ", gradient ");
    mo_put(p, "\n");
}

void mo_print_text(mo_printer *p) {
    int64_t next = 0;
    for (int64_t i = 0; i < (int64_t)json_array_size(p->picture->nodes) && mo_ok(p->picture->ctx); i++) {
        json_t *node = mo_node_of(p->picture, i);
        for (; next < mo_listed(node, "out", 0); next++)
            text_leaf(p, next);
        next += (int64_t)mo_n_listed(node, "out");
        text_node(p, node);
    }
}
