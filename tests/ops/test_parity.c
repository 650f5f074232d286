/* tests/ops/test_parity.c - CPU and CUDA agree: every registered op, its gradient and the gradient of that, in both
 * float types. The samples are run as they are and with one size replaced by 0, 1, 31, 32, 33, 1023 and 1025; the last
 * two also on inputs that begin at the second element of their memory, so that no kernel can load 16 bytes at a time.
 * Random values are the same bits on both.
 *
 * Bounds relative to the largest value of the array (at least 1): `wide` in float64, as sums have other orders and
 * solvers stop at other iterates; `units` machine epsilons in float32. If float32 differs by more, both are compared
 * with the CPU in float64: a badly conditioned problem can move both, and CUDA may be `worse` times as far off as the
 * CPU. Skipped if there is no CUDA device. */
#include "tests/op_variants.h"

enum { FORWARD = 0, ORDERS = 3 };
#ifdef __SANITIZE_ADDRESS__ /* several times slower: only some sizes next to a warp and a block */
enum { SIZES = 4 };
static const int64_t sizes[SIZES] = {0, 1, 33, 1025};
#else
enum { SIZES = 7 };
static const int64_t sizes[SIZES] = {0, 1, 31, 32, 33, 1023, 1025};
#endif
static const double worse = 64;
/* By order. A logistic fit ends below a gradient norm of 1e-8, which 1025 columns turn into 3.6e-8 in second
 * derivatives. */
static const double wide[ORDERS] = {1e-8, 1e-8, 1e-7};
/* By order. An H100's LU gives second derivatives of log_abs_det of [33, 33] that are 555 off. */
static const double units[ORDERS] = {512, 512, 1024};

/* The number of ops that cannot have some of these sizes: attributes fix them (broadcast_to, spmm, implicit_solve),
 * they are matrices, the size is not an input's (the mean over no row, and its adjoint), or the op has no empty problem
 * (logistic regression, the SVM, and their folds). */
enum { FIXED_SIZES = 10 };

/* The arrays of one run: outputs, gradients, gradients of gradients; n is -1 if there is no array. */
typedef struct arrays {
    op_value of[ORDERS][MO_MAX_INPUTS];
    bool refused; /* the op refused the combination of sizes */
    mo_code code;
    char message[1024];
} arrays;

typedef struct parity {
    mo_tape *cpu, *cuda;
    int compared, refused, unsupported;
    int ops_unsupported, covered[SIZES]; /* ops */
    double worst[2];                     /* largest difference in epsilons, by float type */
} parity;

/* Returns standard normal cotangents in the shape of T; NULL for integers. */
static mo_tensor *cotangent(mo_context *ctx, const mo_tensor *T, mo_random *r) {
    mo_sample_input like = {.draw = MO_DRAW_CONSTANT, .ndim = T->ndim};
    memcpy(like.shape, T->shape, sizeof like.shape);
    return mo_dtype_is_real(T->dtype) ? mo_sample_tensor(ctx, &like, T->dtype, r) : NULL;
}

/* Takes the gradients of ys in the nx tensors xs, weighted by random cotangents, which gs receives. */
static void differentiate(
    mo_tape *t, mo_tensor **ys, mo_tensor **gs, int ny, mo_tensor **xs, mo_tensor **grads, int nx) {
    mo_random r = mo_random_at(18, MO_PURPOSE_CHECK, 0);
    for (int i = 0; i < ny; i++)
        gs[i] = cotangent(mo_tape_context(t), ys[i], &r);
    mo_grad(t, ys, gs, ny, xs, grads, nx, MO_CREATE_GRAPH | MO_ALLOW_UNUSED);
}

static void keep(arrays *a, int order, mo_tensor *const *T, int n) {
    for (int i = 0; i < n; i++)
        a->of[order][i] = op_value_of(T[i]);
}

/* Returns X as a view that begins at the second element of its memory. */
static mo_tensor *shifted(mo_tape *t, mo_tensor *X) {
    int64_t n = mo_numel(X), one = 1;
    mo_tensor *both[] = {mo_full(t, mo_tensor_dtype(X), 1, &one, 0), mo_reshape(t, X, 1, &n)};
    return mo_reshape(t, mo_slice(t, mo_concat(t, both, 2, MO_AXIS(0)), MO_AXIS(0), 1, n + 1), X->ndim, X->shape);
}

static arrays run(mo_tape *t, const variant *v, mo_dtype real, bool off) {
    arrays a;
    mo_context *ctx = mo_tape_context(t);
    memset(&a, 0, sizeof a);
    for (int order = 0; order < ORDERS; order++)
        for (int i = 0; i < MO_MAX_INPUTS; i++)
            a.of[order][i].n = NONE;
    op_case c = op_case_open(ctx, v->op, &v->sample, real);
    mo_tensor *in[MO_MAX_INPUTS], *out[MO_MAX_OUTPUTS], *xs[MO_MAX_INPUTS], *first[MO_MAX_INPUTS],
        *second[MO_MAX_INPUTS];
    mo_tensor *gs[2 * MO_MAX_INPUTS] = {0};
    int nx = 0;
    for (int i = 0; v->op->vjp && i < v->sample.n_in; i++)
        if (mo_needs_grad(c.in[i]))
            xs[nx++] = c.in[i];
    for (int i = 0; i < v->sample.n_in; i++)
        in[i] = off && mo_dtype_is_real(c.in[i]->dtype) ? shifted(t, c.in[i]) : c.in[i];
    if (mo_ok(ctx))
        mo_apply_all(t, v->op, in, v->sample.n_in, op_case_attributes(&c), out);
    if (mo_context_wait(ctx) == MO_OK) { /* a device reports some errors only at a wait */
        keep(&a, FORWARD, out, mo_op_outputs(v->op));
        if (nx) {
            differentiate(t, out, gs, mo_op_outputs(v->op), xs, first, nx);
            if (mo_context_wait(ctx) == MO_OK) {
                keep(&a, 1, first, nx);
                differentiate(t, first, gs + MO_MAX_INPUTS, nx, xs, second, nx);
            }
            if (mo_context_wait(ctx) == MO_OK)
                keep(&a, 2, second, nx);
        }
    }
    a.refused = !mo_ok(ctx);
    a.code = mo_context_status(ctx)->code;
    snprintf(a.message, sizeof a.message, "%s", mo_context_status(ctx)->message);
    mo_clear_error(ctx);
    mo_tape_reset(t);
    for (int i = 0; i < 2 * MO_MAX_INPUTS; i++)
        mo_tensor_release(gs[i]);
    op_case_close(&c);
    return a;
}

static double largest_of(const op_value *v) {
    double largest = 1;
    for (int64_t k = 0; k < v->n; k++)
        if (isfinite(v->x[k]))
            largest = fmax(largest, fabs(v->x[k]));
    return largest;
}

/* Returns |a - b|; 0 if both are NaN or the same infinity. */
static double distance(double a, double b) {
    return (isnan(a) && isnan(b)) || a == b ? 0 : isfinite(a) && isfinite(b) ? fabs(a - b) : INFINITY;
}

static double greatest_distance(const op_value *a, const op_value *b) {
    double d = 0;
    for (int64_t k = 0; k < a->n; k++)
        d = fmax(d, distance(a->x[k], b->x[k]));
    return d;
}

/* Whether CUDA is about as near to float64 as the CPU. Counts the CPU's largest error in all arrays of the order, as
 * one array can be right by chance. */
static bool as_good_as_cpu(const arrays *cpu, const arrays *cuda, const arrays *exact, int order, int i) {
    double allowed = units[order] * FLT_EPSILON * largest_of(&exact->of[order][i]);
    for (int k = 0; k < MO_MAX_INPUTS; k++)
        allowed = fmax(allowed, worse * greatest_distance(&cpu->of[order][k], &exact->of[order][k]));
    return greatest_distance(&cuda->of[order][i], &exact->of[order][i]) <= allowed;
}

static void compare(parity *p, const variant *v, mo_dtype real, const arrays *cpu, const arrays *cuda) {
    static const char *const names[ORDERS] = {"output", "gradient", "gradient of the gradient"};
    if (cuda->refused != cpu->refused)
        fail_msg("%s: CPU \"%s\", CUDA \"%s\"", variant_name(v, real), cpu->message, cuda->message);
    if (cpu->refused) /* CUDA can have results, since it reports the error later */
        return;
    double epsilon = real == MO_F64 ? DBL_EPSILON : FLT_EPSILON;
    for (int order = 0; order < ORDERS; order++)
        for (int i = 0; i < MO_MAX_INPUTS; i++) {
            const op_value *a = &cpu->of[order][i], *b = &cuda->of[order][i];
            if (a->n != b->n)
                fail_msg("%s: %s %d has %lld elements on CUDA, %lld on the CPU", variant_name(v, real), names[order], i,
                    (long long)b->n, (long long)a->n);
            double difference = a->n > 0 ? greatest_distance(a, b) / (epsilon * largest_of(a)) : 0;
            if (difference <= (real == MO_F64 ? wide[order] / epsilon : units[order])) {
                p->worst[real] = fmax(p->worst[real], difference);
                continue;
            }
            arrays exact = run(p->cpu, v, MO_F64, false);
            if (real == MO_F64 || !as_good_as_cpu(cpu, cuda, &exact, order, i))
                fail_msg("%s: %s %d differs by %.3g epsilons", variant_name(v, real), names[order], i, difference);
        }
}

/* Whether CPU and CUDA agree on a variant; false if the op refuses its sizes. */
static bool agree(parity *p, const variant *v, bool off) {
    bool fine = true;
    for (int real = MO_F64; real >= MO_F32; real--) {
        arrays cpu = run(p->cpu, v, (mo_dtype)real, off), cuda = run(p->cuda, v, (mo_dtype)real, off);
        bool unsupported = cuda.code == MO_UNSUPPORTED && !cpu.refused; /* CUDA must say so, not copy to the host
                                                                         * silently */
        p->unsupported += unsupported;
        if (!unsupported)
            compare(p, v, (mo_dtype)real, &cpu, &cuda);
        fine = fine && !cpu.refused && !unsupported;
        free_test_memory();
    }
    p->compared += fine;
    p->refused += !fine;
    return fine;
}

TEST_OF(every_op_agrees, parity *p) {
    mo_context *ctx = mo_tape_context(p->cpu);
    for (int o = 0; o < mo_n_ops(ctx); o++) {
        const mo_op *op = mo_op_at(ctx, o);
        bool covered[SIZES] = {0};
        for (int k = 0; k < mo_n_samples(op); k++) {
            op_sample s = op_sample_of(ctx, op, k);
            variant plain = {.op = op, .sample = s, .from = NONE};
            int unsupported = p->unsupported;
            if (!agree(p, &plain, false) && p->unsupported == unsupported)
                fail_msg("%s: refused", variant_name(&plain, MO_F64));
            if (p->unsupported > unsupported) {
                print_message("%s is not supported on CUDA\n", op->name);
                p->ops_unsupported++;
                break;
            }
            int64_t found[MO_MAX_INPUTS * MO_MAX_AXES];
            int n = s.prepare ? 0 : sizes_of(&s, found);
            for (int i = 0; i < n * SIZES; i++) {
                variant v = {.op = op, .sample = s, .from = found[i / SIZES], .to = sizes[i % SIZES]};
                if (covered[i % SIZES] && test_is_brief())
                    continue; /* one sample per size is enough */
                if (v.from != v.to && resize(&v) && agree(p, &v, false))
                    covered[i % SIZES] = v.to < 1023 || agree(p, &v, true);
            }
        }
        for (int i = 0; i < SIZES; i++)
            p->covered[i] += covered[i];
    }
    print_message("%d samples agree, %d refused; worst %.3g epsilons in float32, %.3g in float64\n", p->compared,
        p->refused, p->worst[MO_F32], p->worst[MO_F64]);
    assert_int_equal(p->ops_unsupported, 0);
    for (int i = 0; i < SIZES; i++)
        if (p->covered[i] + p->ops_unsupported + FIXED_SIZES < mo_n_ops(ctx))
            fail_msg("size %lld: only %d of %d ops", (long long)sizes[i], p->covered[i], mo_n_ops(ctx));
}

static mo_tape *open_device(mo_device device) {
    mo_context *ctx = device_context(device);
    assert_int_equal(mo_register_ops(ctx), MO_OK);
    return mo_tape_create(ctx, MO_RECORD);
}

static int open_devices(void **state) {
    static parity p;
    p = (parity){.cpu = open_device(MO_CPU), .cuda = open_device(MO_CUDA)};
    *state = &p;
    return 0;
}

static int close_devices(void **state) {
    parity *p = *state;
    held_lone_tape(&p->cpu);
    held_lone_tape(&p->cuda);
    return 0;
}

static const fixtures around_each = {open_devices, close_devices};
