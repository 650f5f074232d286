/* autograd/picture.c - takes a picture of a tape: its nodes, the values between them, and the elements of small ones.
 */
#include "autograd/picture.h"

#include "tensor/files/arrays.h"
#include "tensor/files/foreign_text.h"
#include "tensor/files/number_text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A leaf and its number among the values, in a hash table by address. */
typedef struct place {
    const mo_tensor *tensor; /* NULL: an empty entry */
    int64_t value;
} place;

typedef struct taking {
    mo_picture *p;
    const mo_tape *t;
    const mo_print_options *options;
    place *leaves;
    int64_t capacity, capacity_tensors;
    bool ok;
} taking;

static place *find_place(const taking *k, const mo_tensor *T) {
    uint64_t hash = (uint64_t)(uintptr_t)T * 0x9e3779b97f4a7c15u;
    int64_t i = (int64_t)(hash >> 32) & (k->capacity - 1);
    while (k->leaves[i].tensor && k->leaves[i].tensor != T)
        i = (i + 1) & (k->capacity - 1);
    return &k->leaves[i];
}

/* Room for every leaf and every value. */
static bool make_room(taking *k) {
    int64_t uses = 0, outputs = 0;
    for (int64_t i = 0; i < k->t->n_nodes; i++) {
        outputs += k->t->nodes[i]->n_out;
        for (int j = 0; j < k->t->nodes[i]->n_in; j++)
            uses += !k->t->nodes[i]->in[j]->node;
    }
    for (k->capacity = 16; k->capacity < 2 * uses;)
        k->capacity *= 2;
    k->leaves = calloc((size_t)k->capacity, sizeof *k->leaves);
    k->p->tensors = calloc((size_t)(uses + outputs + 1), sizeof *k->p->tensors);
    return k->leaves && k->p->tensors;
}

static bool set_text(json_t *object, const char *key, const char *text) {
    char shown[160];
    return !text ||
           json_object_set_new(object, key, json_string(mo_quote(text, strlen(text), shown, sizeof shown))) == 0;
}

static bool set_flag(json_t *object, const char *key, bool on) {
    return !on || json_object_set_new(object, key, json_true()) == 0;
}

static const char *label_of(const mo_print_options *o, const mo_tensor *T) {
    for (int i = 0; i < o->n_labels; i++)
        if (o->labels[i].tensor == T)
            return o->labels[i].text;
    return NULL;
}

bool mo_picture_keep(mo_picture *p, char kind, int64_t index, const mo_tensor *T) {
    char name[32];
    snprintf(name, sizeof name, "%c%" PRId64, kind, index);
    mo_tensor *copy = mo_tensor_create(p->ctx, T->dtype, T->ndim, T->shape);
    if (mo_tensor_copy(copy, T) == MO_OK)
        return mo_arrays_append(p->arrays, name, copy); /* no other has this name */
    mo_tensor_release(copy);
    return false;
}

static int64_t add_value(taking *k, const mo_tensor *T) {
    mo_picture *p = k->p;
    int64_t index = p->n_tensors++;
    json_t *value = json_object(), *shape = json_array();
    for (int a = 0; a < T->ndim; a++)
        k->ok &= json_array_append_new(shape, json_integer(T->shape[a])) == 0;
    k->ok &= json_object_set_new(value, "shape", shape) == 0;
    k->ok &= set_text(value, "dtype", mo_dtype_name(T->dtype)) && set_text(value, "label", label_of(k->options, T));
    k->ok &= T->node || (set_text(value, "name", T->name) && set_flag(value, "leaf", T->requires_grad));
    k->ok &= set_flag(value, "released", !T->storage) && set_flag(value, "kept", T->kept);
    k->ok &= json_array_append_new(p->values, value) == 0;
    p->tensors[index] = T;
    if (T->storage && mo_numel(T) <= k->options->values && mo_numel(T) > 0)
        mo_picture_keep(p, 'v', index, T);
    return index;
}

static int64_t index_of_output(const taking *k, const mo_tensor *T) {
    json_t *node = mo_node_of(k->p, T->node->index);
    for (int i = 0; i < T->node->n_out; i++)
        if (T->node->out[i] == T)
            return mo_listed(node, "out", (size_t)i);
    return 0;
}

static void add_node(taking *k, const mo_node *node) {
    json_t *object = json_object(), *in = json_array(), *out = json_array();
    for (int i = 0; i < node->n_in; i++) {
        const mo_tensor *X = node->in[i];
        place *l = X->node ? NULL : find_place(k, X);
        if (l && !l->tensor)
            *l = (place){X, add_value(k, X)};
        k->ok &= json_array_append_new(in, json_integer(l ? l->value : index_of_output(k, X))) == 0;
    }
    for (int i = 0; i < node->n_out; i++)
        k->ok &= json_array_append_new(out, json_integer(add_value(k, node->out[i]))) == 0;
    k->ok &= json_object_set_new(object, "in", in) == 0;
    k->ok &= json_object_set_new(object, "out", out) == 0;
    k->ok &= set_text(object, "op", node->op->name) && set_text(object, "section", node->section);
    k->ok &= set_flag(object, "view", node->op->is_view);
    if (node->vjp_of)
        k->ok &= json_object_set_new(object, "vjp_of", json_integer(node->vjp_of->index)) == 0;
    k->ok &= json_array_append_new(k->p->nodes, object) == 0;
}

bool mo_picture_take(mo_picture *p, const mo_tape *t, const mo_print_options *options) {
    taking k = {.p = p, .t = t, .options = options, .ok = true};
    *p = (mo_picture){.ctx = t->ctx, .values = json_array(), .nodes = json_array(), .loss = -1};
    p->arrays = mo_arrays_create(t->ctx);
    k.ok = p->values && p->nodes && p->arrays && make_room(&k);
    for (int64_t i = 0; i < t->n_nodes && k.ok && mo_ok(t->ctx); i++)
        add_node(&k, t->nodes[i]);
    free(k.leaves);
    if (!k.ok)
        mo_fail(t->ctx, MO_MEMORY, "print: out of memory for a graph of %" PRId64 " nodes", t->n_nodes);
    return mo_ok(t->ctx);
}

void mo_picture_release(mo_picture *p) {
    json_decref(p->values);
    json_decref(p->nodes);
    mo_arrays_release(p->arrays);
    free(p->tensors);
    *p = (mo_picture){.loss = -1};
}
