/* autograd/print.c - a recorded graph as text, for graphviz, or as a .tape file for other programs.
 *
 * Values are numbered: leaves before the first node that reads them, the outputs of a node side by side. A node is
 * named by its position on the tape, %4 (its outputs %4.0, %4.1 if it has several); a leaf by its name or, if it has
 * none, as data0, data1, .. in order of use. A value that was computed without being recorded is a leaf too.
 *
 * A .tape file is a safetensors file. Its metadata are "format" "mochi-tape", "version" "1", and "graph", JSON text:
 * {"values": [{"dtype", "shape", name, label, leaf, released, kept, reached}, ..], "nodes": [{"op", "in", "out",
 * section, vjp_of, view}, ..], "loss": value}; members without quotes may be absent. Tensors "v3" and "g3" are the
 * elements of value 3 and of its gradient. */
#include "autograd/tape.h"
#include "tensor/files/arrays.h"
#include "tensor/files/file.h"
#include "tensor/files/foreign_text.h"
#include "tensor/files/number_text.h"
#include "tensor/files/safetensors.h"
#include "tensor/library.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FEW = 64 }; /* mo_tape_dot shows the elements of values up to this size */

typedef struct value {
    const mo_tensor *tensor, *gradient; /* gradient NULL: not known */
    int64_t leaf;                       /* number among the leaves; -1: a node made the value */
    bool reached;                       /* the loss depends on the value, and the value needs a gradient */
} value;

typedef struct printer {
    mo_context *ctx;
    const mo_tape *t;
    const mo_print_options *options;
    value *values;
    int64_t n, n_leaves, loss; /* loss: the value whose gradients are shown; -1: none */
    int64_t *first;            /* first[i]: the number of the first output of node i */
    int64_t *places, capacity; /* hash table from a leaf's address to the number of its value + 1; 0: empty */
    mo_write write;
    void *state;
} printer;

/* ---- numbering ---- */

/* Returns the entry of a leaf in the hash table, or the empty entry where it belongs. */
static int64_t *place_of(const printer *p, const mo_tensor *T) {
    uint64_t hash = (uint64_t)(uintptr_t)T * 0x9e3779b97f4a7c15u;
    int64_t i = (int64_t)(hash >> 32) & (p->capacity - 1);
    while (p->places[i] && p->values[p->places[i] - 1].tensor != T)
        i = (i + 1) & (p->capacity - 1);
    return &p->places[i];
}

static int64_t index_of(const printer *p, const mo_tensor *T) {
    if (!T->node)
        return *place_of(p, T) - 1;
    int64_t first = p->first[T->node->index];
    for (int i = 0; i < T->node->n_out; i++)
        if (T->node->out[i] == T)
            return first + i;
    return first;
}

/* Numbers the values in the order of the file comment. The caller frees them with free_values, on failure too. */
static bool number_values(printer *p) {
    const mo_tape *t = p->t;
    int64_t uses = 0, outputs = 0;
    for (int64_t i = 0; i < t->n_nodes; i++) {
        outputs += t->nodes[i]->n_out;
        uses += t->nodes[i]->n_in;
    }
    for (p->capacity = 16; p->capacity < 2 * uses;)
        p->capacity *= 2;
    p->values = calloc((size_t)(uses + outputs + 1), sizeof *p->values);
    p->first = calloc((size_t)t->n_nodes + 1, sizeof *p->first);
    p->places = calloc((size_t)p->capacity, sizeof *p->places);
    if (!p->values || !p->first || !p->places) {
        mo_fail(p->ctx, MO_MEMORY, "print: out of memory for a graph of %" PRId64 " nodes", t->n_nodes);
        return false;
    }
    for (int64_t i = 0; i < t->n_nodes; i++) {
        for (int j = 0; j < t->nodes[i]->n_in; j++) {
            const mo_tensor *X = t->nodes[i]->in[j];
            int64_t *place = X->node ? NULL : place_of(p, X);
            if (place && !*place) {
                p->values[p->n] = (value){.tensor = X, .leaf = p->n_leaves++};
                *place = ++p->n;
            }
        }
        p->first[i] = p->n;
        for (int j = 0; j < t->nodes[i]->n_out; j++)
            p->values[p->n++] = (value){.tensor = t->nodes[i]->out[j], .leaf = -1};
    }
    return true;
}

static void free_values(printer *p) {
    free(p->values);
    free(p->first);
    free(p->places);
}

/* ---- gradients ---- */

/* Marks the loss, which is the newest scalar of forward that needs a gradient, and the values that need a gradient and
 * on which the loss depends. Returns whether backward has consumed a node on the way. */
static bool mark_reached(printer *p) {
    bool consumed = false;
    for (p->loss = p->n - 1; p->loss >= 0; p->loss--) {
        const mo_tensor *T = p->values[p->loss].tensor;
        if (T->node && !T->node->vjp_of && T->requires_grad && mo_numel(T) == 1)
            break;
    }
    if (p->loss >= 0)
        p->values[p->loss].reached = true;
    for (int64_t i = p->t->n_nodes - 1; i >= 0; i--) {
        const mo_node *node = p->t->nodes[i];
        bool any = false;
        for (int k = 0; k < node->n_out; k++)
            any |= p->values[p->first[i] + k].reached;
        for (int k = 0; any && k < node->n_in; k++)
            p->values[index_of(p, node->in[k])].reached |= node->in[k]->requires_grad;
        consumed |= any && node->released;
    }
    return consumed;
}

/* While the graph still holds its values, a sweep that retains them gives the gradient of the loss with respect to
 * every value that it meets; after mo_backward, only leaves have gradients. If the sweep fails (a value was changed in
 * place), no gradients are shown. The gradients live until the caller closes its scope. */
static void find_gradients(printer *p, mo_tape *t) {
    bool consumed = mark_reached(p);
    mo_tensor **xs = calloc((size_t)p->n + 1, sizeof *xs), **grads = calloc((size_t)p->n + 1, sizeof *grads);
    int n = 0;
    for (int64_t i = 0; i < p->n; i++) {
        value *v = &p->values[i];
        if (v->reached && consumed && v->leaf >= 0 && !v->tensor->freed)
            v->gradient = mo_grad_of(v->tensor);
        if (v->reached && !consumed && xs && grads)
            xs[n++] = (mo_tensor *)v->tensor;
    }
    mo_tensor *loss = n ? (mo_tensor *)p->values[p->loss].tensor : NULL;
    bool kept = n && loss->kept;
    if (n && mo_grad(t, &loss, NULL, 1, xs, grads, n, MO_RETAIN) != MO_OK)
        mo_clear_error(p->ctx);
    else
        for (int64_t i = p->n - 1; n && i >= 0; i--)
            if (p->values[i].reached)
                p->values[i].gradient = grads[--n];
    if (loss)
        loss->kept = kept;
    free(xs);
    free(grads);
}

/* ---- pieces of text ---- */

static void put(printer *p, const char *pattern, ...) __attribute__((format(printf, 2, 3)));

/* Writes at most 511 bytes of text; cuts off the rest. */
static void put(printer *p, const char *pattern, ...) {
    char text[512];
    va_list args;
    va_start(args, pattern);
    mo_format_list(text, sizeof text, pattern, args);
    va_end(args);
    p->write(text, p->state);
}

static bool is_small(const printer *p, const mo_tensor *T) {
    return mo_numel(T) > 0 && mo_numel(T) <= p->options->values;
}

static const char *label_of(const printer *p, const mo_tensor *T) {
    for (int i = 0; i < p->options->n_labels; i++)
        if (p->options->labels[i].tensor == T)
            return p->options->labels[i].text;
    return NULL;
}

static void put_elements(printer *p, const mo_tensor *T) {
    size_t bytes = (size_t)mo_numel(T) * 32;
    char *text = mo_host_alloc(p->ctx, bytes);
    if (text)
        p->write(mo_tensor_text(T, text, bytes), p->state);
    mo_host_free(p->ctx, text, bytes);
}

/* Prints the elements of a small value after `before`, and the elements of its gradient after `before_gradient`. */
static void put_values(printer *p, const value *v, const char *before, const char *before_gradient) {
    if (!is_small(p, v->tensor))
        return;
    put(p, "%s%s", before, v->tensor->storage ? "" : "released");
    if (v->tensor->storage)
        put_elements(p, v->tensor);
    if (v->gradient && v->gradient->storage) {
        put(p, "%s", before_gradient);
        put_elements(p, v->gradient);
    }
}

static void put_type(printer *p, const mo_tensor *T) {
    char shape[160];
    put(p, "%s %s", mo_dtype_name(T->dtype), mo_shape_string(T, shape, sizeof shape));
}

static void put_name(printer *p, const mo_tensor *T) {
    const value *v = &p->values[index_of(p, T)];
    if (!T->node && T->name)
        put(p, "%s", T->name);
    else if (!T->node)
        put(p, "data%" PRId64, v->leaf);
    else if (T->node->n_out > 1)
        put(p, "%%%" PRId64 ".%" PRId64, T->node->index, index_of(p, T) - p->first[T->node->index]);
    else
        put(p, "%%%" PRId64, T->node->index);
}

/* ---- text ---- */

static void put_result(printer *p, const mo_tensor *T) {
    const char *label = label_of(p, T);
    put_name(p, T);
    put(p, " ");
    put_type(p, T);
    if (label)
        put(p, " (%s)", label);
}

static void text_leaf(printer *p, const value *v) {
    put_result(p, v->tensor);
    put(p, "%s", v->tensor->name ? ": parameter" : v->tensor->requires_grad ? ": leaf" : "");
    put_values(p, v, " = ", ", gradient ");
    put(p, "\n");
}

static void text_node(printer *p, const mo_node *node) {
    for (int i = 0; i < node->n_out; i++) {
        put(p, "%s", i ? ", " : "");
        put_result(p, node->out[i]);
    }
    put(p, " = %s(", node->op->name);
    for (int i = 0; i < node->n_in; i++) {
        put(p, "%s", i ? ", " : "");
        put_name(p, node->in[i]);
    }
    put(p, ")%s", node->op->is_view ? ", a view" : "");
    if (node->vjp_of)
        put(p, ", in the vjp of %%%" PRId64 " %s", node->vjp_of->index, node->vjp_of->op->name);
    for (int i = 0; i < node->n_out; i++)
        put_values(p, &p->values[p->first[node->index] + i], " = ", ", gradient ");
    put(p, "\n");
}

/* ---- graphviz ---- */

static void put_quoted(printer *p, const char *text) {
    for (; *text; text++)
        put(p, "%s%c", *text == '"' || *text == '\\' ? "\\" : "", *text);
}

static void dot_lines(printer *p, const value *v) {
    const char *label = label_of(p, v->tensor);
    put(p, "\\n");
    put_type(p, v->tensor);
    if (label) {
        put(p, "\\n");
        put_quoted(p, label);
    }
    put_values(p, v, "\\n", "\\ngradient ");
}

static void dot_leaf(printer *p, const value *v) {
    put(p, "  l%" PRId64 " [shape=ellipse, fillcolor=%s, label=\"", v->leaf,
        v->tensor->requires_grad ? "lightblue" : "whitesmoke");
    if (v->tensor->name)
        put_quoted(p, v->tensor->name);
    else
        put_name(p, v->tensor);
    dot_lines(p, v);
    put(p, "\"];\n");
}

/* Nodes that backward recorded have another colour than nodes of forward. */
static void dot_node(printer *p, const mo_node *node) {
    put(p, "  n%" PRId64 " [fillcolor=%s, label=\"%%%" PRId64 " ", node->index, node->vjp_of ? "mistyrose" : "white",
        node->index);
    put_quoted(p, node->op->name);
    if (node->vjp_of)
        put(p, "\\nvjp of %%%" PRId64, node->vjp_of->index);
    for (int i = 0; i < node->n_out; i++)
        dot_lines(p, &p->values[p->first[node->index] + i]);
    put(p, "\"];\n");
    for (int i = 0; i < node->n_in; i++) {
        const mo_node *maker = node->in[i]->node;
        int64_t in = index_of(p, node->in[i]);
        put(p, "  %c%" PRId64 " -> n%" PRId64, maker ? 'n' : 'l', maker ? maker->index : p->values[in].leaf,
            node->index);
        if (maker && maker->n_out > 1)
            put(p, " [label=\"%" PRId64 "\"]", in - p->first[maker->index]);
        put(p, ";\n");
    }
}

/* A section (mo_tape_section) is a cluster, written at its first node. */
static void dot_sections(printer *p) {
    const mo_tape *t = p->t;
    int n = 0;
    for (int64_t i = 0; i < t->n_nodes; i++) {
        const char *section = t->nodes[i]->section;
        bool seen = !section;
        for (int64_t k = 0; k < i && !seen; k++)
            seen = t->nodes[k]->section && !strcmp(t->nodes[k]->section, section);
        if (seen)
            continue;
        put(p, "  subgraph \"cluster_%d\" {\n    label=\"", ++n);
        put_quoted(p, section);
        put(p, "\";\n   ");
        for (int64_t k = i; k < t->n_nodes; k++)
            if (t->nodes[k]->section && !strcmp(t->nodes[k]->section, section))
                put(p, " n%" PRId64 ";", k);
        put(p, "\n  }\n");
    }
}

/* ---- .tape files ---- */

/* Returns NULL when jansson is out of memory, as do the next two functions; the caller raises the error. */
static json_t *json_list(const int64_t *x, int n) {
    json_t *list = json_array();
    for (int i = 0; i < n && list; i++)
        if (json_array_append_new(list, json_integer(x[i])) != 0) {
            json_decref(list);
            list = NULL;
        }
    return list;
}

static json_t *json_value(const printer *p, const value *v) {
    const mo_tensor *T = v->tensor;
    const char *text[] = {label_of(p, T), T->node ? NULL : T->name};
    char quoted[2][160];
    for (int i = 0; i < 2; i++)
        text[i] = text[i] ? mo_quote(text[i], strlen(text[i]), quoted[i], sizeof quoted[i]) : NULL;
    json_t *shape = json_list(T->shape, T->ndim);
    bool leaf = !T->node && T->requires_grad;
    return json_pack("{s:s, s:o, s:s*, s:s*, s:o*, s:o*, s:o*, s:o*}", "dtype", mo_dtype_name(T->dtype), "shape", shape,
        "label", text[0], "name", text[1], "leaf", leaf ? json_true() : NULL, "released",
        T->storage ? NULL : json_true(), "kept", T->kept ? json_true() : NULL, "reached",
        v->reached ? json_true() : NULL);
}

static json_t *json_node(const printer *p, const mo_node *node) {
    int64_t indices[2][MO_MAX_INPUTS + MO_MAX_OUTPUTS];
    for (int i = 0; i < node->n_in; i++)
        indices[0][i] = index_of(p, node->in[i]);
    for (int i = 0; i < node->n_out; i++)
        indices[1][i] = p->first[node->index] + i;
    json_t *in = json_list(indices[0], node->n_in), *out = json_list(indices[1], node->n_out);
    return json_pack("{s:s, s:o, s:o, s:s*, s:o*, s:o*}", "op", node->op->name, "in", in, "out", out, "section",
        node->section, "vjp_of", node->vjp_of ? json_integer(node->vjp_of->index) : NULL, "view",
        node->op->is_view ? json_true() : NULL);
}

static void keep_elements(printer *p, mo_arrays *arrays, char kind, int64_t index, const mo_tensor *T) {
    if (!T || !T->storage || !is_small(p, T) || !mo_ok(p->ctx))
        return;
    char name[32];
    snprintf(name, sizeof name, "%c%" PRId64, kind, index);
    mo_arrays_append(arrays, name, mo_tensor_clone(p->ctx, T)); /* the name is unique by construction */
}

/* Returns the graph as JSON text, owned; NULL without memory. */
static char *graph_text(const printer *p) {
    json_t *values = json_array(), *nodes = json_array();
    bool ok = true;
    for (int64_t i = 0; i < p->n && ok; i++)
        ok = json_array_append_new(values, json_value(p, &p->values[i])) == 0;
    for (int64_t i = 0; i < p->t->n_nodes && ok; i++)
        ok = json_array_append_new(nodes, json_node(p, p->t->nodes[i])) == 0;
    json_t *graph = json_pack("{s:o, s:o, s:I}", "values", values, "nodes", nodes, "loss", (json_int_t)p->loss);
    char *text = ok && graph ? mo_json_encode(graph, MO_JSON_FLAGS) : NULL;
    json_decref(graph);
    return text;
}

static void write_tape_file(printer *p, const char *path) {
    mo_arrays *arrays = mo_arrays_create(p->ctx);
    for (int64_t i = 0; i < p->n && arrays; i++) {
        keep_elements(p, arrays, 'v', i, p->values[i].tensor);
        keep_elements(p, arrays, 'g', i, p->values[i].gradient);
    }
    char *text = arrays ? graph_text(p) : NULL;
    json_t *metadata =
        text ? json_pack("{s:s, s:s, s:s}", "format", "mochi-tape", "version", "1", "graph", text) : NULL;
    char *written = metadata ? mo_json_encode(metadata, MO_JSON_FLAGS) : NULL;
    if (written && mo_ok(p->ctx))
        mo_safetensors_write(arrays, written, path);
    else
        mo_fail(p->ctx, MO_MEMORY, "tape: %s: out of memory for its graph", path);
    free(written);
    free(text);
    json_decref(metadata);
    mo_arrays_release(arrays);
}

/* ---- the calls ---- */

static void print_json_graph(printer *p) {
    char *text = graph_text(p);
    if (!text)
        mo_fail(p->ctx, MO_MEMORY, "tape: out of memory for its graph");
    else
        p->write(text, p->state);
    if (text)
        p->write("\n", p->state);
    free(text);
}

static void print_graph(printer *p) {
    if (p->options->format == MO_PRINT_JSON) {
        print_json_graph(p);
        return;
    }
    bool dot = p->options->format == MO_PRINT_DOT;
    int64_t next = 0;
    if (dot)
        put(p, "digraph tape {\n  node [shape=box, style=filled, fontsize=10];\n");
    for (int64_t i = 0; i < p->t->n_nodes && mo_ok(p->ctx); i++) {
        for (; next < p->first[i]; next++)
            (dot ? dot_leaf : text_leaf)(p, &p->values[next]);
        next += p->t->nodes[i]->n_out;
        (dot ? dot_node : text_node)(p, p->t->nodes[i]);
    }
    if (dot) {
        dot_sections(p);
        put(p, "}\n");
    }
}

static void append_text(const char *text, void *writer) {
    mo_file_append(writer, text, strlen(text));
}

static const mo_print_options plain = {.format = MO_PRINT_TEXT};

/* Puts the error `before` back, which was set aside so that a graph can be printed after an error. Returns the status
 * of the printing. */
static mo_code with_error_back(mo_context *ctx, const mo_status *before) {
    mo_code code = ctx->status.code;
    if (before->code != MO_OK) {
        ctx->status = *before;
        ctx->handler_called = true;
    }
    mo_release_errors(ctx);
    return code;
}

mo_code mo_tape_print(const mo_tape *t, const mo_print_options *options, mo_write write, void *state) {
    mo_context *ctx = mo_tape_context(t);
    if (!t || !write) {
        mo_fail(ctx, MO_INVALID, "tape_print: no %s to write with", t ? "function" : "tape");
        return mo_code_of(ctx);
    }
    if (!mo_tape_lives(t, "tape_print"))
        return mo_code_of(ctx);
    mo_status before = ctx->status;
    mo_hold_errors(ctx);
    mo_clear_error(ctx);
    printer p = {.ctx = ctx, .t = t, .options = options ? options : &plain, .loss = -1, .write = write, .state = state};
    if (number_values(&p))
        print_graph(&p);
    free_values(&p);
    return with_error_back(ctx, &before);
}

static void write_file(printer *p, const char *path) {
    if (p->options->format == MO_PRINT_TAPE) {
        write_tape_file(p, path);
        return;
    }
    mo_file_writer *writer = mo_file_start(p->ctx, path);
    if (writer) {
        p->write = append_text;
        p->state = writer;
        print_graph(p);
        mo_file_finish(writer);
    }
}

mo_code mo_tape_write(mo_tape *t, const mo_print_options *options, const char *path) {
    mo_context *ctx = mo_tape_context(t);
    if (!mo_tape_lives(t, "tape_write") || !mo_given(ctx, "tape_write", "the path", path))
        return mo_code_of(ctx);
    mo_status before = ctx->status;
    mo_hold_errors(ctx);
    mo_clear_error(ctx);
    printer p = {.ctx = ctx, .t = t, .options = options ? options : &plain, .loss = -1};
    if (number_values(&p)) {
        mo_scope scope = mo_scope_open(t);
        if (!p.options->no_gradients)
            find_gradients(&p, t);
        write_file(&p, path);
        mo_scope_close(t, &scope, NULL, 0);
    }
    free_values(&p);
    return with_error_back(ctx, &before);
}

mo_code mo_tape_dot(mo_tape *t, const char *path) {
    return mo_tape_write(t, &(mo_print_options){.format = MO_PRINT_DOT, .values = FEW}, path);
}
