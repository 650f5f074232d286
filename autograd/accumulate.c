/* autograd/accumulate.c - the only op that autograd/ defines itself: the sum of two contributions to a gradient.
 *
 * Y = A + B of equal shapes. dY = dA + dB, so A_bar = B_bar = Y_bar. */
#include "autograd/slots.h"
#include "autograd/watch.h"

static void accumulate_forward(mo_call *c) {
    mo_view a = mo_tensor_view(c->in[0]), b = mo_tensor_view(c->in[1]), y = mo_tensor_view(c->out[0]);
    const mo_kernels *k = mo_kernels_of(c->ctx, y.dtype);
    if (mo_ok(c->ctx))
        k->map2(c->ctx, MO_MAP_ADD, &a, &b, &y);
}

static void accumulate_vjp(mo_vjp *v) {
    for (int i = 0; i < 2; i++)
        if (v->needs[i])
            v->in_bar[i] = v->out_bar[0];
}

static const mo_sample accumulate_samples[] = {
    {.name = "matrix", .in = "[3, 4] [3, 4]"},
    {.name = "scalar", .in = "[] []"},
    {.name = "shapes", .in = "[3] [4]", .error = "equal shapes"},
};

const mo_op mo_op_accumulate = {
    .name = "accumulate",
    .n_in = 2,
    .forward = accumulate_forward,
    .vjp = accumulate_vjp,
    MO_SAMPLES(accumulate_samples),
};

static mo_tensor *sum_of(mo_tape *t, mo_tensor *A, mo_tensor *B) {
    return mo_apply(t, &mo_op_accumulate, (mo_tensor *[]){A, B}, 2, NULL);
}

void mo_accumulate_in_place(mo_tape *t, mo_tensor *A, const mo_tensor *B) {
    if (t->anomaly) { /* through the op itself, which looks at its result */
        mo_tensor *sum = sum_of(t, A, (mo_tensor *)(uintptr_t)B);
        mo_tensor_copy(A, sum);
        mo_tape_drop(sum);
        return;
    }
    bool profiling = t->ctx->engine->profiling;
    mo_watch_start start = {0};
    if (profiling)
        start = mo_watch_begin(t->ctx);
    mo_view a = mo_tensor_view(A), b = mo_tensor_view(B);
    const mo_kernels *k = mo_kernels_of(t->ctx, a.dtype);
    if (mo_ok(t->ctx))
        k->map2(t->ctx, MO_MAP_ADD, &a, &b, &a);
    if (profiling) {
        mo_call c = {.t = t, .ctx = t->ctx, .op = &mo_op_accumulate, .n_in = 2, .n_out = 1};
        c.in[0] = c.out[0] = A;
        c.in[1] = (mo_tensor *)(uintptr_t)B;
        mo_watch_end(&c, start);
    }
}

void mo_contribute(mo_tape *t, mo_slot *slot, mo_tensor *bar, bool create_graph) {
    if (!slot->grad) {
        slot->grad = bar;
        return;
    }
    if (create_graph) {
        slot->grad = sum_of(t, slot->grad, bar);
        return;
    }
    bool own = slot->grad->storage->references == 1 && mo_is_contiguous(slot->grad) && slot->grad->storage->arena;
    bool spare = bar->storage->references == 1 && mo_is_contiguous(bar) && bar->storage->arena;
    if (own) {
        mo_accumulate_in_place(t, slot->grad, bar);
        mo_tape_drop(bar);
    } else if (spare) {
        mo_accumulate_in_place(t, bar, slot->grad);
        mo_tape_drop(slot->grad);
        slot->grad = bar;
    } else {
        mo_tensor *sum = sum_of(t, slot->grad, bar);
        mo_tape_drop(slot->grad);
        mo_tape_drop(bar);
        slot->grad = sum;
    }
}
