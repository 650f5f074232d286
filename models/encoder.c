/* models/encoder.c - encoders: checks of an encoder's table, loading from a shared object, and running an encoder on an
 * episode's rows, at once or in blocks of rows: memory holds one block and the results, however large the episode. */
#include "models/model.h"
#include "tensor/files/file.h"
#include "tensor/library.h"

#include <dlfcn.h>
#include <inttypes.h>
#include <string.h>

/* ---- encoding in blocks of rows ---- */

bool mo_needs_blocks(mo_context *ctx, int64_t n, int64_t max_rows) {
    if (mo_ok(ctx) && max_rows < 0)
        mo_fail(ctx, MO_INVALID, "encode: max_rows is %" PRId64 ", expected 0 (all) or more", max_rows);
    return mo_ok(ctx) && max_rows > 0 && n > max_rows;
}

/* One call of an encoder on a block: its state beside the tensors. */
typedef struct one_block {
    mo_encode_block encode;
    mo_block block;
    mo_random r;
    bool has[MO_MAX_SLICED], indexed[MO_MAX_SLICED];
} one_block;

/* in: each tensor of rows that there is, followed by its index if it has one, then the parameters. */
static mo_tensor *encode_one(mo_tape *t, mo_tensor *const *in, int n, void *state) {
    one_block *one = state;
    mo_tensor *rows[MO_MAX_SLICED] = {0};
    int at = 0;
    (void)n;
    for (int i = 0; i < MO_MAX_SLICED; i++)
        if (one->has[i]) {
            mo_tensor *X = in[at++];
            rows[i] = one->indexed[i] ? mo_gather_indexed(t, X, in[at++]) : X;
        }
    if (one->block.r)
        one->block.r = &one->r;
    one->block.rows = rows;
    one->block.parameters = in + at;
    return one->encode(t, &one->block);
}

static mo_tensor *encode_rows(mo_tape *t, const mo_blocks *b, int64_t first, int64_t last) {
    mo_tensor *in[2 * MO_MAX_SLICED + 2 * MO_MAX_ENCODER_PARAMETERS];
    one_block one = {.encode = b->encode, .block = b->all};
    bool part = last - first < b->all.all;
    int n = 0;
    for (int i = 0; i < MO_MAX_SLICED; i++) {
        const mo_sliced *rows = &b->rows[i];
        one.has[i] = rows->tensor;
        one.indexed[i] = rows->index;
        if (!rows->tensor)
            continue;
        bool whole = !part || rows->index || rows->axis < 0;
        in[n++] = whole ? rows->tensor : mo_slice(t, rows->tensor, MO_AXIS(rows->axis), first, last);
        if (rows->index)
            in[n++] = part ? mo_slice(t, rows->index, MO_AXIS(1), first, last) : rows->index;
    }
    memcpy(in + n, b->parameters, (size_t)b->n_parameters * sizeof *in);
    n += b->n_parameters;
    one.block.first = first;
    one.block.last = last;
    if (b->all.r)
        one.r = *b->all.r;
    return part ? mo_recompute(t, encode_one, in, n, &one, sizeof one) : encode_one(t, in, n, &one);
}

static mo_tensor *join(mo_tape *t, const mo_blocks *b, mo_tensor *const *part, int n) {
    if (b->join != MO_ADD_BLOCKS)
        return mo_concat(t, part, n, MO_AXIS(b->join));
    mo_tensor *sum = part[0];
    for (int i = 1; i < n; i++)
        sum = mo_add(t, sum, part[i]);
    return sum;
}

/* Encodes rows first .. last-1 as a tree whose leaves are blocks, since one op joins at most MO_MAX_INPUTS tensors. */
static mo_tensor *encode_tree(mo_tape *t, const mo_blocks *b, int64_t first, int64_t last) {
    mo_tensor *part[MO_MAX_INPUTS];
    int64_t rows = b->max_rows;
    int n = 0;
    if (last - first <= rows)
        return encode_rows(t, b, first, last);
    while ((last - first - 1) / rows >= MO_MAX_INPUTS)
        rows *= MO_MAX_INPUTS;
    for (int64_t at = first; at < last && mo_ok(mo_tape_context(t)); at += rows)
        part[n++] = encode_tree(t, b, at, last - at < rows ? last : at + rows);
    return n ? join(t, b, part, n) : mo_null_tensor(mo_tape_context(t));
}

mo_tensor *mo_encode_blocks(mo_tape *t, const mo_blocks *b) {
    mo_context *ctx = mo_tape_context(t);
    if (mo_needs_blocks(ctx, b->all.all, b->max_rows))
        return encode_tree(t, b, 0, b->all.all);
    return mo_ok(ctx) ? encode_rows(t, b, 0, b->all.all) : mo_null_tensor(ctx);
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

/* The tensors of rows that an encoder reads, and the axes of their rows (mo_sliced): of nodes "hops", of examples the
 * others. */
static const struct {
    const char *name;
    int axis;
} rows_read[] = {{"hops", 1}, {"blocks", 2}, {"extras", 0}, {"spectrum", -1}};
enum { OF_NODES = 1, READ = sizeof rows_read / sizeof *rows_read };

static bool check_rows(const mo_model *m, const mo_tensor *first, const char *name) {
    bool of_examples = m->encoder.of_examples;
    int axes = of_examples ? 4 : 3;
    char got[160];
    if (mo_ok(m->ctx) && (mo_is_null(first) || mo_ndim(first) != axes || mo_dim(first, axes - 3) != m->rows.hops + 1 ||
                             (!of_examples && mo_dim(first, -1) != m->rows.dim)))
        mo_fail(m->ctx, MO_INVALID, "encoder %s: %s is %s, expected [%s%d, n, %d]", m->encoder.name, name,
            mo_is_null(first) ? "null" : mo_shape_string(first, got, sizeof got), of_examples ? "2, " : "",
            m->rows.hops + 1, of_examples ? (int)mo_dim(first, -1) : m->rows.dim);
    return mo_ok(m->ctx);
}

/* Calls the encoder on an episode that holds the block's rows alone. */
static mo_tensor *encode_block(mo_tape *t, const mo_block *b) {
    mo_context *ctx = mo_tape_context(t);
    mo_episode own = {.task = b->task};
    char got[160];
    if (!mo_ok(ctx))
        return mo_null_tensor(ctx);
    for (int i = 0; i < READ; i++)
        if (b->rows[i])
            own.rows[own.n_rows++] = (mo_named){rows_read[i].name, b->rows[i], NULL};
    mo_tensor *Z = b->encoder->encode(t, b->parameters, &own);
    mo_dtype real = mo_tensor_dtype(own.rows[0].tensor);
    if (mo_ok(ctx) &&
        (mo_is_null(Z) || mo_ndim(Z) != 2 || mo_dim(Z, 0) != b->last - b->first || mo_tensor_dtype(Z) != real))
        mo_fail(ctx, MO_INVALID, "encoder %s: it returned %s %s, expected [%" PRId64 ", k] %s", b->encoder->name,
            mo_is_null(Z) ? "no tensor" : mo_shape_string(Z, got, sizeof got),
            mo_is_null(Z) ? "" : mo_dtype_name(mo_tensor_dtype(Z)), b->last - b->first, mo_dtype_name(real));
    return mo_ok(ctx) ? Z : mo_null_tensor(ctx);
}

mo_tensor *mo_encode_rows(mo_tape *t, const mo_model *m, const mo_episode *e) {
    bool of_examples = m->encoder.of_examples;
    mo_blocks b = {.all = {.encoder = &m->encoder, .task = e->task},
        .n_parameters = m->encoder.n_parameters,
        .parameters = m->parameter,
        .max_rows = e->max_rows,
        .encode = encode_block};
    for (int i = of_examples ? OF_NODES : 0; i < (of_examples ? READ : OF_NODES); i++) {
        mo_named rows = mo_episode_named(t, e, rows_read[i].name);
        b.rows[i] = (mo_sliced){rows.tensor, rows.index, rows_read[i].axis};
    }
    const mo_sliced *first = &b.rows[of_examples ? OF_NODES : 0];
    if (!check_rows(m, first->tensor, rows_read[of_examples ? OF_NODES : 0].name))
        return mo_null_tensor(m->ctx);
    b.all.last = b.all.all = mo_dim(first->index ? first->index : first->tensor, first->index ? 1 : -2);
    mo_tensor *Z = mo_encode_blocks(t, &b);
    return e->segment && mo_ok(m->ctx) ? mo_segment_mean(t, Z, e->segment) : Z;
}
