/* autograd/picture_file.c - .tape files: safetensors whose metadata hold a graph.
 *
 * metadata: "format" "mochi-tape", "version" "1", and "graph", JSON text: {"values": [{"dtype", "shape", name, label,
 * leaf, released, kept, reached}, ..], "nodes": [{"op", "in", "out", section, vjp_of, view}, ..], "loss": value}.
 * Members without quotes may be absent. Tensors "v3" and "g3" are the elements of value 3 and of its gradient. Nothing
 * in a file is trusted: printing looks at nothing that is not checked here. */
#include "autograd/picture.h"

#include "tensor/files/file.h"
#include "tensor/files/number_text.h"
#include "tensor/files/safetensors.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_VALUES = 1 << 22 };

mo_code mo_picture_write(const mo_picture *p, const char *path) {
    json_t *graph = json_pack("{s:O, s:O, s:I}", "values", p->values, "nodes", p->nodes, "loss", (json_int_t)p->loss);
    char *text = graph ? mo_json_encode(graph, MO_JSON_FLAGS) : NULL;
    json_t *metadata =
        text ? json_pack("{s:s, s:s, s:s}", "format", "mochi-tape", "version", "1", "graph", text) : NULL;
    char *written = metadata ? mo_json_encode(metadata, MO_JSON_FLAGS) : NULL;
    if (written)
        mo_safetensors_write(p->arrays, written, path);
    else
        mo_fail(p->ctx, MO_MEMORY, "tape: %s: out of memory for its graph", path);
    free(written);
    free(text);
    json_decref(metadata);
    json_decref(graph);
    return p->ctx->status.code;
}

/* ---- reading ---- */

typedef struct check {
    mo_picture *p;
    const char *path;
} check;

static bool refuse(const check *c, const char *format, ...) __attribute__((format(printf, 2, 3)));

static bool refuse(const check *c, const char *format, ...) {
    char reason[300], label[MO_LABEL];
    va_list args;
    va_start(args, format);
    vsnprintf(reason, sizeof reason, format, args);
    va_end(args);
    mo_fail(c->p->ctx, MO_FORMAT, "%s: %s", mo_file_label("tape", c->path, label), reason);
    return false;
}

static int dtype_named(const char *name) {
    int i = 0;
    while (i < MO_DTYPES && (!name || strcmp(mo_dtype_name((mo_dtype)i), name)))
        i++;
    return i;
}

/* Text of one line, of at most 200 bytes, or absent. */
static bool is_text(json_t *object, const char *key, bool required) {
    json_t *member = json_object_get(object, key);
    const char *text = json_string_value(member);
    bool fine = member ? text && strlen(text) == json_string_length(member) && strlen(text) <= 200 : !required;
    for (; fine && text && *text; text++)
        fine = (unsigned char)*text >= ' ';
    return fine;
}

static bool check_value(const check *c, int64_t i) {
    json_t *value = mo_value_of(c->p, i), *shape = json_object_get(value, "shape");
    if (!json_is_object(value) || !is_text(value, "name", false) || !is_text(value, "label", false))
        return refuse(c, "value %" PRId64 ": expected an object whose name and label are lines of text", i);
    if (dtype_named(mo_member(value, "dtype")) == MO_DTYPES)
        return refuse(c, "value %" PRId64 " has no known dtype", i);
    int64_t numel = 1;
    bool fine = json_is_array(shape) && json_array_size(shape) <= MO_MAX_AXES;
    for (size_t a = 0; fine && a < json_array_size(shape); a++) {
        int64_t size = json_is_integer(json_array_get(shape, a)) ? mo_listed(value, "shape", a) : -1;
        fine = size >= 0 && !__builtin_mul_overflow(numel, size ? size : 1, &numel) && numel < INT64_MAX / 16;
    }
    return fine || refuse(c, "value %" PRId64 ": expected a shape of at most %d sizes", i, MO_MAX_AXES);
}

static bool is_list_of_indices(json_t *object, const char *key, size_t least, size_t most) {
    json_t *list = json_object_get(object, key);
    bool fine = json_is_array(list) && json_array_size(list) >= least && json_array_size(list) <= most;
    for (size_t i = 0; fine && i < json_array_size(list); i++)
        fine = json_is_integer(json_array_get(list, i));
    return fine;
}

/* Sets of its outputs the node and the place there; next: the first value that no node before has written. */
static bool check_node(const check *c, int64_t i, int64_t *next) {
    json_t *node = mo_node_of(c->p, i), *rule = json_object_get(node, "vjp_of");
    int64_t n = (int64_t)json_array_size(c->p->values);
    if (!json_is_object(node) || !is_text(node, "op", true) || !is_text(node, "section", false))
        return refuse(c, "node %" PRId64 ": expected an object with an op", i);
    if (!is_list_of_indices(node, "in", 0, MO_MAX_INPUTS) || !is_list_of_indices(node, "out", 1, MO_MAX_OUTPUTS))
        return refuse(
            c, "node %" PRId64 ": expected at most %d inputs and 1 to %d outputs", i, MO_MAX_INPUTS, MO_MAX_OUTPUTS);
    if (rule && (!json_is_integer(rule) || json_integer_value(rule) < 0 || json_integer_value(rule) >= i))
        return refuse(c, "node %" PRId64 ": vjp_of is no node before it", i);
    int64_t first = mo_listed(node, "out", 0), n_out = (int64_t)mo_n_listed(node, "out");
    bool fine = first >= *next && first <= n - n_out;
    for (int64_t k = 0; fine && k < n_out; k++)
        fine = mo_listed(node, "out", (size_t)k) == first + k;
    for (size_t k = 0; fine && k < mo_n_listed(node, "in"); k++)
        fine = mo_listed(node, "in", k) >= 0 && mo_listed(node, "in", k) < first;
    if (!fine)
        return refuse(c, "node %" PRId64 ": its inputs are not older than its outputs, or these are another's", i);
    *next = first + n_out;
    return true;
}

static bool check_array(const check *c, const mo_array *array) {
    char *end = NULL;
    int64_t i =
        array->name[0] && array->name[1] >= '0' && array->name[1] <= '9' ? strtoll(array->name + 1, &end, 10) : -1;
    bool fine = (array->name[0] == 'v' || array->name[0] == 'g') && i >= 0 && end && !*end &&
                i < (int64_t)json_array_size(c->p->values);
    json_t *value = fine ? mo_value_of(c->p, i) : NULL;
    const mo_tensor *T = array->tensor;
    fine = fine && dtype_named(mo_member(value, "dtype")) == (int)T->dtype &&
           mo_n_listed(value, "shape") == (size_t)T->ndim;
    for (int a = 0; fine && a < T->ndim; a++)
        fine = mo_listed(value, "shape", (size_t)a) == T->shape[a];
    char shown[80];
    return fine || refuse(c, "tensor '%s' is no value of the graph, or of another shape or dtype",
                       mo_quote(array->name, strlen(array->name), shown, sizeof shown));
}

static bool check_picture(const check *c, json_t *loss) {
    mo_picture *p = c->p;
    int64_t n = (int64_t)json_array_size(p->values), next = 0;
    if (!json_is_array(p->values) || !json_is_array(p->nodes) || n > MOST_VALUES)
        return refuse(c, "expected a graph of values and nodes");
    bool fine = true;
    for (int64_t i = 0; fine && i < n; i++)
        fine = check_value(c, i);
    for (int64_t i = 0; fine && i < (int64_t)json_array_size(p->nodes); i++)
        fine = check_node(c, i, &next);
    for (int64_t i = 0; fine && i < p->arrays->count; i++)
        fine = check_array(c, &p->arrays->items[i]);
    if (fine && next != n)
        return refuse(c, "no node reads value %" PRId64, next);
    if (fine && (!json_is_integer(loss) || json_integer_value(loss) < -1 || json_integer_value(loss) >= n))
        return refuse(c, "the loss is no value of the graph");
    p->loss = json_integer_value(loss);
    return fine;
}

/* The graph that the metadata hold as text; NULL after an error. */
static json_t *decode_graph(const check *c, json_t *metadata) {
    const char *format = mo_member(metadata, "format"), *version = mo_member(metadata, "version"),
               *text = mo_member(metadata, "graph");
    if (!format || strcmp(format, "mochi-tape")) {
        refuse(c, "it holds no recorded graph");
        return NULL;
    }
    if (!version || strcmp(version, "1")) {
        refuse(c, "expected version 1 of the format");
        return NULL;
    }
    json_error_t error = {.text = ""};
    json_t *graph = text ? mo_json_decode(text, strlen(text), JSON_REJECT_DUPLICATES, &error) : NULL;
    if (graph)
        return graph;
    if (text && mo_json_code(&error) == MO_MEMORY)
        mo_fail(c->p->ctx, MO_MEMORY, "tape: %s: out of memory for its graph", c->path);
    else
        refuse(c, "expected a graph as JSON text");
    return NULL;
}

bool mo_picture_read(mo_context *ctx, mo_picture *p, const char *path) {
    *p = (mo_picture){.ctx = ctx, .loss = -1};
    check c = {p, path};
    p->arrays = mo_safetensors_read(ctx, path);
    if (!p->arrays)
        return false;
    char label[MO_LABEL];
    json_t *metadata = mo_json_metadata(ctx, mo_file_label("tape", path, label), p->arrays->metadata);
    json_t *graph = mo_ok(ctx) ? decode_graph(&c, metadata) : NULL;
    bool fine = graph && mo_require_digests(ctx, path, p->arrays->metadata);
    if (fine) {
        p->values = json_incref(json_object_get(graph, "values"));
        p->nodes = json_incref(json_object_get(graph, "nodes"));
        fine = check_picture(&c, json_object_get(graph, "loss"));
    }
    json_decref(graph);
    json_decref(metadata);
    return fine;
}
