/* tests/fuzz/fuzz_plugin.c - reads any values as the tables of a head and of an encoder that a shared object exports.
 *
 * The first byte chooses the table. Then come its fields in order, a signed byte each: numbers near the right ones, and
 * names of one letter; 0 is NULL. */
#include "fuzz.h"

#include "models/head.h"
#include "models/inside.h"

typedef struct cursor {
    const uint8_t *data;
    size_t left;
} cursor;

static int next(cursor *c) {
    if (!c->left)
        return 0;
    c->left--;
    return (int8_t)*c->data++;
}

static const char *next_name(cursor *c) {
    static char names[256][2];
    int letter = next(c) & 255;
    names[letter][0] = (char)letter;
    return letter ? names[letter] : NULL;
}

static mo_tensor *no_logits(mo_tape *t, mo_tensor *Zs, mo_tensor *Ys, mo_tensor *Zq, mo_tensor *const *parameters) {
    (void)Zs, (void)Ys, (void)Zq, (void)parameters;
    return mo_null_tensor(mo_tape_context(t));
}

static mo_tensor *no_rows(mo_tape *t, const mo_encoding *x) {
    (void)x;
    return mo_null_tensor(mo_tape_context(t));
}

enum { MOST = 64 };

static bool check_head(mo_context *ctx, cursor *c) {
    static mo_head_parameter parameters[MOST];
    static const mo_head_sample sample = {4, 2, 3, 2, 0};
    mo_head head = {.abi = MO_HEAD_ABI + next(c), .size = sizeof head + (size_t)next(c), .name = next_name(c)};
    head.n_parameters = next(c);
    head.parameters = next(c) ? parameters : NULL;
    head.logits = next(c) ? no_logits : NULL;
    head.order = next(c);
    head.n_samples = next(c);
    head.samples = next(c) ? &sample : NULL;
    for (int i = 0; i < MOST; i++)
        parameters[i] = (mo_head_parameter){.name = next_name(c), .ndim = next(c), .shape = {next(c), next(c)}};
    return mo_head_validate(ctx, &head);
}

static bool check_encoder(mo_context *ctx, cursor *c) {
    static mo_encoder_parameter parameters[MOST];
    mo_encoder encoder = {.abi = MO_ENCODER_ABI + next(c), .size = sizeof encoder + (size_t)next(c)};
    encoder.name = next_name(c);
    encoder.of_examples = next(c) & 1;
    encoder.n_parameters = next(c);
    encoder.parameters = next(c) ? parameters : NULL;
    encoder.encode = next(c) ? no_rows : NULL;
    for (int i = 0; i < MOST; i++)
        parameters[i] =
            (mo_encoder_parameter){.name = next_name(c), .ndim = next(c), .shape = {next(c), next(c), next(c)}};
    return mo_encoder_validate(ctx, &encoder);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    int64_t live;
    cursor c = {data, size};
    mo_context *ctx = fuzz_start(&live);
    fuzz_finish(ctx, live, next(&c) & 1 ? check_encoder(ctx, &c) : check_head(ctx, &c));
    return 0;
}
