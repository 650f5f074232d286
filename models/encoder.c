/* models/encoder.c - encoders: checks of an encoder's table, loading from a shared object, and running an encoder on an
 * episode's rows, at once or in blocks of rows: memory holds one block and the results, however large the episode. */
#include "models/model.h"
#include "tensor/files/file.h"
#include "tensor/hidden.h"

#include <dlfcn.h>
#include <inttypes.h>
#include <string.h>

/* ---- encoding in blocks of rows ---- */

typedef struct blocks {
    int64_t max_rows;
    int join;
    mo_block_of_rows encode;
    const void *state;
} blocks;

bool mo_needs_blocks(mo_context *ctx, int64_t n, int64_t max_rows) {
    if (mo_ok(ctx) && max_rows < 0)
        mo_fail(ctx, MO_INVALID, "encode: max_rows is %" PRId64 ", expected 0 (all) or more", max_rows);
    return mo_ok(ctx) && max_rows > 0 && n > max_rows;
}

static mo_tensor *join(mo_tape *t, const blocks *b, mo_tensor *const *part, int n) {
    if (b->join != MO_ADD_BLOCKS)
        return mo_concat(t, part, n, MO_AXIS(b->join));
    mo_tensor *sum = part[0];
    for (int i = 1; i < n; i++)
        sum = mo_add(t, sum, part[i]);
    return sum;
}

/* Encodes rows first .. last-1 as a tree whose leaves are blocks, since one op joins at most MO_MAX_INPUTS tensors. */
static mo_tensor *row_blocks_encode_rows(mo_tape *t, const blocks *b, int64_t first, int64_t last) {
    mo_tensor *part[MO_MAX_INPUTS];
    int64_t rows = b->max_rows;
    int n = 0;
    if (last - first <= rows)
        return b->encode(t, first, last, b->state);
    while ((last - first - 1) / rows >= MO_MAX_INPUTS)
        rows *= MO_MAX_INPUTS;
    for (int64_t at = first; at < last && mo_ok(mo_tape_context(t)); at += rows)
        part[n++] = row_blocks_encode_rows(t, b, at, last - at < rows ? last : at + rows);
    return n ? join(t, b, part, n) : mo_null_tensor(mo_tape_context(t));
}

mo_tensor *mo_encode_blocks(
    mo_tape *t, int64_t n, int64_t max_rows, int join, mo_block_of_rows encode, const void *state) {
    return row_blocks_encode_rows(t, &(blocks){max_rows, join, encode, state}, 0, n);
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
    else if (!encoder->encode && !encoder->whole)
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

/* ---- rows ---- */

/* The row tensors of one call: {hops} for nodes, {blocks, extras, spectrum} for examples. */
enum { MAX_ROWS_IN = 3 };
typedef struct rows_in {
    mo_task task;
    int n;
    mo_named rows[MAX_ROWS_IN];
    int64_t count; /* rows encoded */
} rows_in;

static bool check_rows(const mo_model *m, const rows_in *in) {
    const mo_tensor *first = in->rows[0].tensor;
    bool of_examples = m->encoder.of_examples;
    int axes = of_examples ? 4 : 3;
    char got[160];
    if (mo_ok(m->ctx) && (mo_is_null(first) || mo_ndim(first) != axes || mo_dim(first, axes - 3) != m->rows.hops + 1 ||
                             (!of_examples && mo_dim(first, -1) != m->rows.dim)))
        mo_fail(m->ctx, MO_INVALID, "encoder %s: %s is %s, expected [%s%d, n, %d]", m->encoder.name, in->rows[0].name,
            mo_is_null(first) ? "null" : mo_shape_string(first, got, sizeof got), of_examples ? "2, " : "",
            m->rows.hops + 1, of_examples ? (int)mo_dim(first, -1) : m->rows.dim);
    return mo_ok(m->ctx);
}

static mo_tensor *apply(mo_tape *t, const mo_model *m, mo_tensor *const *parameters, const rows_in *in) {
    mo_context *ctx = mo_tape_context(t);
    mo_episode own = {.task = in->task, .n_rows = in->n};
    char got[160];
    if (!mo_ok(ctx))
        return mo_null_tensor(ctx);
    memcpy(own.rows, in->rows, (size_t)in->n * sizeof *in->rows);
    mo_tensor *Z = m->encoder.encode(t, parameters, &own);
    if (mo_ok(ctx) && (mo_is_null(Z) || mo_ndim(Z) != 2 || mo_dim(Z, 0) != in->count ||
                          mo_tensor_dtype(Z) != mo_tensor_dtype(in->rows[0].tensor)))
        mo_fail(ctx, MO_INVALID, "encoder %s: it returned %s %s, expected [%" PRId64 ", k] %s", m->encoder.name,
            mo_is_null(Z) ? "no tensor" : mo_shape_string(Z, got, sizeof got),
            mo_is_null(Z) ? "" : mo_dtype_name(mo_tensor_dtype(Z)), in->count,
            mo_dtype_name(mo_tensor_dtype(in->rows[0].tensor)));
    return mo_ok(ctx) ? Z : mo_null_tensor(ctx);
}

typedef struct whole {
    const mo_model *m;
    rows_in in;
} whole;

/* in: each row tensor, followed by its index if it has one, then the parameters. */
static mo_tensor *encode_recomputed(mo_tape *t, mo_tensor *const *in, int n, void *state) {
    whole *w = state;
    int at = 0;
    (void)n;
    for (int i = 0; i < w->in.n; i++) {
        w->in.rows[i].tensor = in[at++];
        if (w->in.rows[i].index)
            w->in.rows[i].index = in[at++];
    }
    return apply(t, w->m, in + at, &w->in);
}

static mo_tensor *encode_block(mo_tape *t, int64_t first, int64_t last, const void *state) {
    whole w = *(const whole *)state;
    mo_tensor *in[2 * MAX_ROWS_IN + MO_MAX_ENCODER_PARAMETERS];
    int n = 0;
    w.in.count = last - first;
    for (int i = 0; i < w.in.n; i++) {
        mo_named *rows = &w.in.rows[i];
        static const int axis_of_examples[] = {2, 0, -1}; /* blocks, extras, spectrum (not sliced) */
        int axis = w.m->encoder.of_examples ? axis_of_examples[i] : 1;
        in[n++] = rows->index || axis < 0 ? rows->tensor : mo_slice(t, rows->tensor, MO_AXIS(axis), first, last);
        if (rows->index)
            in[n++] = mo_slice(t, rows->index, MO_AXIS(1), first, last);
    }
    for (int i = 0; i < w.m->encoder.n_parameters; i++)
        in[n++] = w.m->parameter[i];
    return mo_recompute(t, encode_recomputed, in, n, &w, sizeof w);
}

mo_tensor *mo_encode_rows(mo_tape *t, const mo_model *m, const mo_episode *e) {
    whole w = {m, {.task = e->task, .n = 1}};
    if (m->encoder.of_examples) {
        static const char *const names[] = {"blocks", "extras", "spectrum"};
        w.in.n = MAX_ROWS_IN;
        for (int i = 0; i < MAX_ROWS_IN; i++)
            w.in.rows[i] = (mo_named){names[i], mo_episode_rows(t, e, names[i]), NULL};
    } else {
        w.in.rows[0] = mo_episode_named(t, e, "hops");
    }
    if (!check_rows(m, &w.in))
        return mo_null_tensor(m->ctx);
    const mo_named *first = &w.in.rows[0];
    w.in.count = mo_dim(first->index ? first->index : first->tensor, first->index ? 1 : -2);
    mo_tensor *Z = mo_needs_blocks(m->ctx, w.in.count, e->max_rows)
                       ? mo_encode_blocks(t, w.in.count, e->max_rows, 0, encode_block, &w)
                       : apply(t, m, m->parameter, &w.in);
    return e->segment && mo_ok(m->ctx) ? mo_segment_mean(t, Z, e->segment) : Z;
}
