/* tests/python/op_samples.c - computes every sample of every op in C and writes its inputs, adjoints, results and
 * gradients to an .npz; test_ops.py compares Python's with them bit by bit. Usage: op_samples OUT.npz */
#include "tests/op_runs.h"

static mo_arrays *samples;

static void take(const op_case *c, const char *part, int i, const mo_tensor *like, const void *raw) {
    char name[200];
    snprintf(name, sizeof name, "%s|%d|%s|%s%d", c->op->name, c->sample.k, mo_dtype_name(c->real), part, i);
    mo_tensor *T = mo_tensor_create(samples->ctx, like->dtype, like->ndim, like->shape);
    mo_tensor_write(T, raw, (size_t)mo_numel(T) * mo_dtype_size(T->dtype));
    assert_int_equal(mo_arrays_take(samples, name, T), MO_OK);
}

static void take_tensor(const op_case *c, const char *part, int i, const mo_tensor *T) {
    take(c, part, i, T, op_value_of(T).raw);
}

static void write_sample(op_case *c) {
    mo_tape *t = mo_tape_create(c->ctx, MO_RECORD);
    mo_tensor *out[MO_MAX_OUTPUTS], *gs[MO_MAX_OUTPUTS] = {0};
    op_result r = op_case_plain(c);
    assert_int_equal(mo_apply_all(t, c->op, c->in, c->sample.n_in, op_case_attributes(c), out), MO_OK);
    op_cotangents(c, out, gs);
    for (int i = 0; i < mo_op_outputs(c->op); i++) {
        take(c, "out", i, out[i], r.out[i].raw);
        if (gs[i])
            take_tensor(c, "bar", i, gs[i]);
        mo_tensor_release(gs[i]);
    }
    for (int i = 0; i < c->sample.n_in; i++) {
        take_tensor(c, "in", i, c->in[i]);
        if (r.grad[i].n >= 0)
            take(c, "grad", i, c->in[i], r.grad[i].raw);
    }
    mo_tape_release(t);
}

int main(int argc, char **argv) {
    if (argc != 2)
        return 2;
    mo_context *ctx = mo_context_create(&(mo_context_options){.threads = 1});
    samples = mo_arrays_create(ctx);
    int n = for_each_case(MO_F64, write_sample) + for_each_case(MO_F32, write_sample);
    mo_code code = mo_npz_write(samples, argv[1]);
    printf("%d samples\n", n);
    mo_arrays_release(samples);
    mo_context_release(ctx);
    return code;
}
