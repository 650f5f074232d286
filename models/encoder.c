/* models/encoder.c - encoders: rows encoded in blocks, so that memory holds one block and the results, however large
 * the episode; checks of an encoder's table; loading from a shared object; and running an encoder on an episode's rows.
 */
#include "models/model.h"
#include "tensor/files/file.h"
#include "tensor/library.h"

#include <dlfcn.h>
#include <inttypes.h>
#include <string.h>

#define ROWS_OF_ALL                                                                                                    \
    "spectrum" /* the tensor that belongs to all rows; of any other, rows lie along the last axis but one */

/* ---- encoding in blocks of rows ---- */

/* The state of one call on a block, beside its tensors. */
typedef struct one_block {
    mo_encoding x;
    mo_random r;
    mo_task task;
    int n_rows;
    const char *name[MO_MAX_ROWS];
    bool indexed[MO_MAX_ROWS];
} one_block;

/* in: each tensor of rows, followed by its index if it has one, then the parameters. */
static mo_tensor *encode_block(mo_tape *t, mo_tensor *const *in, int n, void *state) {
    one_block *b = state;
    mo_episode rows = {.task = b->task, .n_rows = b->n_rows};
    int at = 0;
    (void)n;
    for (int i = 0; i < b->n_rows; i++) {
        mo_tensor *X = in[at++], *index = b->indexed[i] ? in[at++] : NULL;
        rows.rows[i] = (mo_named){b->name[i], X, index};
    }
    b->x.parameters = in + at;
    b->x.episode = &rows;
    b->x.r = b->x.r ? &b->r : NULL;
    return b->x.encoder->encode(t, &b->x);
}

static mo_tensor *encode_rows(mo_tape *t, const mo_encoding *x, int64_t first, int64_t last) {
    mo_tensor *in[2 * MO_MAX_ROWS + 2 * MO_MAX_ENCODER_PARAMETERS];
    const mo_episode *e = x->episode;
    one_block b = {.x = *x, .task = e->task, .n_rows = e->n_rows};
    int n = 0, parameters = x->encoder->n_parameters * (x->encoder->reads_first ? 2 : 1);
    for (int i = 0; i < e->n_rows; i++) {
        mo_tensor *X = e->rows[i].tensor, *index = e->rows[i].index;
        bool of_all = index || !strcmp(e->rows[i].name, ROWS_OF_ALL);
        b.name[i] = e->rows[i].name;
        b.indexed[i] = index;
        in[n++] = of_all ? X : mo_slice(t, X, MO_AXIS(mo_ndim(X) - 2), first, last);
        if (index)
            in[n++] = mo_slice(t, index, MO_AXIS(1), first, last);
    }
    memcpy(in + n, x->parameters, (size_t)parameters * sizeof *in);
    b.x.first = x->first + first;
    b.x.n = b.x.max_rows = last - first;
    if (x->r)
        b.r = *x->r;
    return mo_recompute(t, encode_block, in, n + parameters, &b, sizeof b);
}

/* Encodes rows first .. last-1 as a tree whose leaves are blocks, since one op joins at most MO_MAX_INPUTS tensors. */
static mo_tensor *encode_tree(mo_tape *t, const mo_encoding *x, int64_t first, int64_t last) {
    mo_tensor *part[MO_MAX_INPUTS];
    int64_t rows = x->max_rows;
    int n = 0;
    if (last - first <= rows)
        return encode_rows(t, x, first, last);
    while ((last - first - 1) / rows >= MO_MAX_INPUTS)
        rows *= MO_MAX_INPUTS;
    for (int64_t at = first; at < last && mo_ok(mo_tape_context(t)); at += rows)
        part[n++] = encode_tree(t, x, at, last - at < rows ? last : at + rows);
    return n ? mo_concat(t, part, n, MO_AXIS(0)) : mo_null_tensor(mo_tape_context(t));
}

mo_tensor *mo_in_blocks(mo_tape *t, const mo_encoding *x) {
    mo_context *ctx = mo_tape_context(t);
    if (!mo_given(ctx, "encode", "the rows", x) || !mo_given(ctx, "encode", "the encoder", x->encoder) ||
        !mo_given(ctx, "encode", "the episode", x->episode))
        return mo_null_tensor(ctx);
    return encode_tree(t, x, 0, x->n);
}

/* ---- the checks of an encoder ---- */

static void validate_parameter(mo_context *ctx, const mo_encoder *encoder, int i) {
    const mo_encoder_parameter *p = &encoder->parameters[i];
    if (!p->name || !*p->name || p->ndim < 0 || p->ndim > 3) {
        mo_fail(ctx, MO_INVALID, "encoder %s: parameter %d, %s, has %d axes, expected a name and 0 to 3 axes",
            encoder->name, i, p->name && *p->name ? p->name : "without a name", p->ndim);
        return;
    }
    for (int k = 0; k < p->ndim; k++)
        if (p->shape[k] < 1 && p->shape[k] != MO_ENCODER_DIM && p->shape[k] != MO_ENCODER_BLOCKS)
            mo_fail(ctx, MO_INVALID, "encoder %s: axis %d of parameter %s is %" PRId64 ", expected 1 or more",
                encoder->name, k, p->name, p->shape[k]);
    for (int k = 0; k < p->ndim; k++)
        if (encoder->of_examples && p->shape[k] == MO_ENCODER_DIM)
            mo_fail(ctx, MO_INVALID,
                "encoder %s: parameter %s is as wide as rows of examples, whose width differs between tasks",
                encoder->name, p->name);
    for (int k = 0; k < i; k++)
        if (!strcmp(p->name, encoder->parameters[k].name))
            mo_fail(
                ctx, MO_INVALID, "encoder %s: parameters %d and %d are both named %s", encoder->name, k, i, p->name);
}

bool mo_encoder_validate(mo_context *ctx, const mo_encoder *encoder) {
    if (!mo_given(ctx, "encoder", "the encoder", encoder))
        return false;
    if (encoder->abi != MO_ENCODER_ABI || encoder->size != sizeof(mo_encoder))
        mo_fail(ctx, MO_INVALID, "encoder: abi %d and size %zu, expected %d and %zu: rebuild it against this library",
            encoder->abi, encoder->size, MO_ENCODER_ABI, sizeof(mo_encoder));
    else if (!encoder->name || !*encoder->name)
        mo_fail(ctx, MO_INVALID, "encoder: it has no name");
    else if (strlen(encoder->name) > 60 || !strcmp(encoder->name, "mochi") || !strcmp(encoder->name, "invariant"))
        mo_fail(ctx, MO_INVALID, "encoder %.60s: expected another name, of at most 60 bytes and not of the library",
            encoder->name);
    else if (encoder->n_parameters < 0 || encoder->n_parameters > MO_MAX_ENCODER_PARAMETERS ||
             (encoder->n_parameters && !encoder->parameters))
        mo_fail(ctx, MO_INVALID, "encoder %s: %d parameters, expected a table of 0 to %d", encoder->name,
            encoder->n_parameters, MO_MAX_ENCODER_PARAMETERS);
    else if (!encoder->encode)
        mo_fail(ctx, MO_INVALID, "encoder %s: it has no encode", encoder->name);
    for (int i = 0; mo_ok(ctx) && i < encoder->n_parameters; i++)
        validate_parameter(ctx, encoder, i);
    return mo_ok(ctx);
}

const mo_encoder *mo_load_encoder(mo_context *ctx, const char *path) {
    void *object;
    const mo_plugin expected = {MO_ENCODER_ABI, sizeof(mo_encoder)};
    const mo_encoder *encoder = mo_plugin_open(ctx, "load encoder", "mo_encoder_plugin", expected, path, &object);
    if (!encoder || mo_encoder_validate(ctx, encoder))
        return encoder;
    dlclose(object);
    return NULL;
}

/* ---- the embeddings of an episode ---- */

/* The tensor that gives the number of rows: "hops" of nodes, "blocks" of examples or, of nodes, their sums. */
static mo_named main_rows(const mo_episode *e) {
    static const char *const name[] = {"hops", "blocks", "mixed"};
    for (int i = 0; i < e->n_rows; i++)
        for (int k = 0; k < 3; k++)
            if (!strcmp(e->rows[i].name, name[k]))
                return e->rows[i];
    return (mo_named){0};
}

/* Checks the rows, whose shape follows from the model, if the episode has them; an encoder's own mo_episode_rows raises
 * if not. */
static bool check_rows(const mo_model *m, const mo_named *rows) {
    bool of_examples = m->encoder.of_examples;
    int axes = of_examples ? 4 : 3;
    const mo_tensor *X = rows->tensor;
    char got[160];
    if (mo_ok(m->ctx) && rows->name && !strcmp(rows->name, of_examples ? "blocks" : "hops") &&
        (mo_is_null(X) || mo_ndim(X) != axes || mo_dim(X, axes - 3) != m->rows.hops + 1 ||
            (!of_examples && mo_dim(X, -1) != m->rows.dim)))
        mo_fail(m->ctx, MO_INVALID, "encoder %s: %s is %s, expected [%s%d, n, %d]", m->encoder.name, rows->name,
            mo_is_null(X) ? "null" : mo_shape_string(X, got, sizeof got), of_examples ? "2, " : "", m->rows.hops + 1,
            of_examples ? (int)mo_dim(X, -1) : m->rows.dim);
    return mo_ok(m->ctx);
}

static bool check_embeddings(const mo_model *m, const mo_tensor *Z, int64_t n) {
    char got[160];
    if (mo_ok(m->ctx) && (mo_is_null(Z) || mo_ndim(Z) != 2 || mo_dim(Z, 0) != n || mo_tensor_dtype(Z) != m->real))
        mo_fail(m->ctx, MO_INVALID, "encoder %s: it returned %s %s, expected [%" PRId64 ", k] %s", m->encoder.name,
            mo_is_null(Z) ? "no tensor" : mo_shape_string(Z, got, sizeof got),
            mo_is_null(Z) ? "" : mo_dtype_name(mo_tensor_dtype(Z)), n, mo_dtype_name(m->real));
    return mo_ok(m->ctx);
}

mo_tensor *mo_model_encode(mo_tape *t, const mo_model *m, const mo_episode *e, mo_random *r) {
    if (!mo_model_given(t, m, e))
        return mo_null_tensor(mo_tape_context(t));
    mo_episode rows = {.task = e->task};
    for (int i = 0; i < e->n_rows; i++)
        if (strcmp(e->rows[i].name, "kernels") != 0 && strcmp(e->rows[i].name, "query kernels") != 0)
            rows.rows[rows.n_rows++] = e->rows[i];
    mo_named first = main_rows(&rows);
    if (mo_ok(m->ctx) && e->max_rows < 0)
        mo_fail(m->ctx, MO_INVALID, "encode: max_rows is %" PRId64 ", expected 0 (all) or more", e->max_rows);
    if (!check_rows(m, &first))
        return mo_null_tensor(m->ctx);
    int64_t n = first.index ? mo_dim(first.index, 1) : first.tensor ? mo_dim(first.tensor, -2) : 0;
    const mo_encoding x = {.encoder = &m->encoder,
        .parameters = m->first,
        .episode = &rows,
        .n = n,
        .max_rows = e->max_rows > 0 && e->max_rows < n ? e->max_rows : n,
        .all = n,
        .r = r};
    const char *section = mo_tape_section(t, "encoder");
    mo_tensor *Z = m->encoder.encode(t, &x);
    Z = !check_embeddings(m, Z, n) ? mo_null_tensor(m->ctx) : e->segment ? mo_segment_mean(t, Z, e->segment) : Z;
    mo_tape_section(t, section);
    return Z;
}
