/* autograd/picture.h - a recorded graph apart from its tape: what is printed, written to .tape files and read from them
 * (library internal).
 *
 * values, nodes: JSON arrays, members as in the file (picture_file.c). Leaves stand before the first node that reads
 * them, the outputs of a node side by side, so that a value is older than the nodes that read it. */
#ifndef MO_PICTURE_H
#define MO_PICTURE_H

#include "autograd/tape.h"

#include <jansson.h>

typedef struct mo_picture {
    mo_context *ctx;
    json_t *values, *nodes;
    mo_arrays *arrays;         /* "v3": the elements of value 3; "g3": those of its gradient */
    const mo_tensor **tensors; /* of every value; NULL in a picture that was read */
    int64_t n_tensors, loss;   /* the value whose gradients are shown; -1: none */
} mo_picture;

/* Fills a zeroed picture; elements where a tensor has at most options->values. False on failure. */
bool mo_picture_take(mo_picture *p, const mo_tape *t, const mo_print_options *options);
/* Finds the loss, the newest scalar that forward recorded, and adds gradients: those of the loss if the graph still
 * holds what they need, else what backward has left at the leaves. */
bool mo_picture_add_gradients(mo_picture *p, mo_tape *t, const mo_print_options *options);
/* Keeps the elements of T as array "v3" or "g3". False on failure. */
bool mo_picture_keep(mo_picture *p, char kind, int64_t index, const mo_tensor *T);
void mo_picture_release(mo_picture *p);

/* A .tape file. False, or the status, on failure. */
mo_code mo_picture_write(const mo_picture *p, const char *path);
bool mo_picture_read(mo_context *ctx, mo_picture *p, const char *path);

/* Where text goes, and of what. */
typedef struct mo_printer {
    const mo_picture *picture;
    const mo_print_options *options;
    mo_write write;
    void *state;
    const char *between_rows; /* of the elements of a matrix */
} mo_printer;

void mo_print_text(mo_printer *p);
void mo_print_dot(mo_printer *p);
void mo_print_page(mo_printer *p);
/* What the formats share: formatted text of at most 511 bytes; "%4.1", "W", "data3"; "float32 [2, 3]"; "[1, 2.5]". */
void mo_put(mo_printer *p, const char *pattern, ...) __attribute__((format(printf, 2, 3)));
void mo_put_name(mo_printer *p, int64_t value);
void mo_put_type(mo_printer *p, int64_t value);
void mo_put_elements(mo_printer *p, const mo_tensor *T);
/* The array of a value, if it has at most options->values elements; else NULL. */
const mo_tensor *mo_elements_of(const mo_printer *p, char kind, int64_t value);
/* Whether a value is one to show, and backward has released it. */
bool mo_shows_released(const mo_printer *p, int64_t value);

static inline json_t *mo_value_of(const mo_picture *p, int64_t i) {
    return json_array_get(p->values, (size_t)i);
}

static inline json_t *mo_node_of(const mo_picture *p, int64_t i) {
    return json_array_get(p->nodes, (size_t)i);
}

/* Element k of the list in an object; its length. */
static inline int64_t mo_listed(json_t *object, const char *list, size_t k) {
    return json_integer_value(json_array_get(json_object_get(object, list), k));
}

static inline size_t mo_n_listed(json_t *object, const char *list) {
    return json_array_size(json_object_get(object, list));
}

/* NULL if the member is absent. */
static inline const char *mo_member(json_t *object, const char *key) {
    return json_string_value(json_object_get(object, key));
}

static inline bool mo_is_set(json_t *object, const char *key) {
    return json_is_true(json_object_get(object, key));
}

#endif
