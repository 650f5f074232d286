/* autograd/print.c - the recorded graph as text, or for graphviz.
 *
 * A node is named by its position on the tape, %4 (its outputs %4.0, %4.1 if it has several); a leaf by its name, or
 * data0, data1, .. in order of use: parameters without a name, and values that were computed without being recorded. */
#include "autograd/tape.h"
#include "tensor/files/number_text.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct leaf {
    const mo_tensor *tensor; /* NULL: an empty entry */
    int64_t number;
} leaf;

typedef struct printer printer;

/* The functions of an output format. A leaf is written before the first node that reads it. */
typedef struct format {
    const char *begin, *end;
    void (*leaf)(printer *p, const leaf *l);
    void (*node)(printer *p, const mo_node *node);
} format;

struct printer {
    mo_context *ctx;
    const mo_print_options *options;
    const format *format;
    mo_write write;
    void *state;
    leaf *leaves; /* a hash table by address */
    int64_t capacity, n_leaves;
};

static void put(printer *p, const char *pattern, ...) __attribute__((format(printf, 2, 3)));

static void put(printer *p, const char *pattern, ...) {
    char text[512];
    va_list args;
    va_start(args, pattern);
    mo_format_list(text, sizeof text, pattern, args);
    va_end(args);
    p->write(text, p->state);
}

/* ---- leaves ---- */

static leaf *find_leaf(const printer *p, const mo_tensor *T) {
    uint64_t hash = (uint64_t)(uintptr_t)T * 0x9e3779b97f4a7c15u;
    int64_t i = (int64_t)(hash >> 32) & (p->capacity - 1);
    while (p->leaves[i].tensor && p->leaves[i].tensor != T)
        i = (i + 1) & (p->capacity - 1);
    return &p->leaves[i];
}

static bool make_room_for_leaves(printer *p, const mo_tape *t) {
    int64_t uses = 0;
    for (int64_t i = 0; i < t->n_nodes; i++)
        for (int j = 0; j < t->nodes[i]->n_in; j++)
            uses += !t->nodes[i]->in[j]->node;
    for (p->capacity = 16; p->capacity < 2 * uses;)
        p->capacity *= 2;
    p->leaves = calloc((size_t)p->capacity, sizeof *p->leaves);
    if (!p->leaves)
        mo_fail(p->ctx, MO_MEMORY, "print: out of memory for %" PRId64 " leaves", p->capacity);
    return p->leaves != NULL;
}

static void declare_leaves(printer *p, const mo_node *node) {
    for (int i = 0; i < node->n_in; i++) {
        leaf *l = node->in[i]->node ? NULL : find_leaf(p, node->in[i]);
        if (l && !l->tensor) {
            *l = (leaf){node->in[i], p->n_leaves++};
            p->format->leaf(p, l);
        }
    }
}

/* ---- values and labels ---- */

/* The elements in nested brackets: each axis that begins or ends at an element opens or closes one. */
static void put_elements(printer *p, const mo_tensor *T, const double *x) {
    for (int64_t i = 0; i < mo_numel(T); i++) {
        int open = 0, close = 0;
        int64_t span = 1;
        for (int a = T->ndim - 1; a >= 0; a--) {
            span *= T->shape[a];
            open += i % span == 0;
            close += (i + 1) % span == 0;
        }
        put(p, "%s%.*s%.5g%.*s", i ? ", " : "", open, "[[[[[[", x[i], close, "]]]]]]");
    }
}

static bool shows_values(const printer *p, const mo_tensor *T) {
    return p->options->values > 0 && mo_numel(T) > 0 && mo_numel(T) <= p->options->values;
}

static void put_values(printer *p, const mo_tensor *T, const char *before) {
    if (!shows_values(p, T))
        return;
    put(p, "%s", before);
    if (!T->storage) {
        put(p, "released");
        return;
    }
    mo_tensor *wide = mo_tensor_create(p->ctx, MO_F64, T->ndim, T->shape);
    size_t bytes = (size_t)mo_numel(T) * sizeof(double);
    double *x = malloc(bytes);
    if (!x)
        mo_fail(p->ctx, MO_MEMORY, "print: out of memory for %zu bytes", bytes);
    else if (mo_tensor_copy(wide, T) == MO_OK && mo_tensor_read(wide, x, bytes) == MO_OK)
        put_elements(p, T, x);
    free(x);
    mo_tensor_release(wide);
}

/* The caller's label of T, or NULL. */
static const char *find_label(const printer *p, const mo_tensor *T) {
    for (int i = 0; i < p->options->n_labels; i++)
        if (p->options->labels[i].tensor == T)
            return p->options->labels[i].text;
    return NULL;
}

static void put_type(printer *p, const mo_tensor *T) {
    char shape[160];
    put(p, "%s %s", mo_dtype_name(T->dtype), mo_shape_string(T, shape, sizeof shape));
}

static int output_number(const mo_tensor *T) {
    int i = 0;
    while (T->node->out[i] != T)
        i++;
    return i;
}

/* ---- text ---- */

static void put_name(printer *p, const mo_tensor *T) {
    if (!T->node && T->name)
        put(p, "%s", T->name);
    else if (!T->node)
        put(p, "data%" PRId64, find_leaf(p, T)->number);
    else if (T->node->n_out > 1)
        put(p, "%%%" PRId64 ".%d", T->node->index, output_number(T));
    else
        put(p, "%%%" PRId64, T->node->index);
}

static void put_result(printer *p, const mo_tensor *T) {
    put_name(p, T);
    put(p, " ");
    put_type(p, T);
    if (find_label(p, T))
        put(p, " (%s)", find_label(p, T));
}

static void text_leaf(printer *p, const leaf *l) {
    put_result(p, l->tensor);
    put(p, "%s", l->tensor->name ? ": parameter" : l->tensor->requires_grad ? ": leaf" : "");
    put_values(p, l->tensor, " = ");
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
        put_values(p, node->out[i], " = ");
    put(p, "\n");
}

static const format text_format = {.begin = "", .end = "", .leaf = text_leaf, .node = text_node};

/* ---- graphviz ---- */

static void put_quoted(printer *p, const char *text) {
    for (; *text; text++)
        put(p, "%s%c", *text == '"' || *text == '\\' ? "\\" : "", *text);
}

static void put_lines(printer *p, const mo_tensor *T) {
    put(p, "\\n");
    put_type(p, T);
    if (find_label(p, T)) {
        put(p, "\\n");
        put_quoted(p, find_label(p, T));
    }
    put_values(p, T, "\\n");
}

static void dot_leaf(printer *p, const leaf *l) {
    put(p, "  l%" PRId64 " [shape=ellipse, fillcolor=%s, label=\"", l->number,
        l->tensor->requires_grad ? "lightblue" : "whitesmoke");
    if (l->tensor->name)
        put_quoted(p, l->tensor->name);
    else
        put_name(p, l->tensor);
    put_lines(p, l->tensor);
    put(p, "\"];\n");
}

/* Nodes that backward recorded have another colour than those of forward. */
static void dot_node(printer *p, const mo_node *node) {
    put(p, "  n%" PRId64 " [fillcolor=%s, label=\"%%%" PRId64 " ", node->index, node->vjp_of ? "mistyrose" : "white",
        node->index);
    put_quoted(p, node->op->name);
    if (node->vjp_of)
        put(p, "\\nvjp of %%%" PRId64, node->vjp_of->index);
    for (int i = 0; i < node->n_out; i++)
        put_lines(p, node->out[i]);
    put(p, "\"];\n");
    for (int i = 0; i < node->n_in; i++) {
        const mo_tensor *X = node->in[i];
        if (!X->node)
            put(p, "  l%" PRId64 " -> n%" PRId64 ";\n", find_leaf(p, X)->number, node->index);
        else if (X->node->n_out == 1)
            put(p, "  n%" PRId64 " -> n%" PRId64 ";\n", X->node->index, node->index);
        else
            put(p, "  n%" PRId64 " -> n%" PRId64 " [label=\"%d\"];\n", X->node->index, node->index, output_number(X));
    }
}

static const format dot_format = {.begin = "digraph tape {\n  node [shape=box, style=filled, fontsize=10];\n",
    .end = "}\n",
    .leaf = dot_leaf,
    .node = dot_node};

mo_code mo_tape_print(const mo_tape *t, const mo_print_options *options, mo_write write, void *state) {
    mo_context *ctx = mo_context_of_tape(t);
    static const mo_print_options text = {.format = MO_PRINT_TEXT};
    if (!t || !write) {
        mo_fail(ctx, MO_INVALID, "tape_print: no %s to write with", t ? "function" : "tape");
        return mo_code_of(ctx);
    }
    mo_status before = ctx->status; /* a graph is most useful after an error, so the error is set aside meanwhile */
    mo_clear_error(ctx);
    printer p = {.ctx = ctx, .options = options ? options : &text, .write = write, .state = state};
    p.format = p.options->format == MO_PRINT_DOT ? &dot_format : &text_format;
    if (make_room_for_leaves(&p, t)) {
        write(p.format->begin, state);
        for (int64_t i = 0; i < t->n_nodes && mo_ok(ctx); i++) {
            declare_leaves(&p, t->nodes[i]);
            p.format->node(&p, t->nodes[i]);
        }
        write(p.format->end, state);
    }
    free(p.leaves);
    mo_code code = ctx->status.code;
    if (before.code != MO_OK)
        ctx->status = before;
    return code;
}
