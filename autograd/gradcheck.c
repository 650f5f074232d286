/* autograd/gradcheck.c - checking a vjp: central differences along random directions, in float64. Order zero compares
 * it with its jvp instead.
 *
 * For y = f(x) and a random cotangent G let s(x) = <G, f(x)>. The vjp claims grad s; along a direction v
 *     <grad s, v>  must equal  (s(x + e v) - s(x - e v)) / 2e  up to O(e^2) + O(u / e),
 * with e = 1e-5 about 1e-10. Each output of f is checked by itself, so that a large output does not hide an error in a
 * small one. Order two is the same check on the function (x, G) -> grad s, recorded with MO_CREATE_GRAPH: vjps are made
 * of ops, so no other machinery is needed. Order two only asks whether the gradient is differentiated correctly, and a
 * wrong gradient can pass; so order one comes first.
 *
 * Differences along all inputs at one point miss rules that are wrong elsewhere. So the gradient is taken again in
 * these ways, and must stay the same or be right there too:
 *   - with fewer inputs that need a gradient: every subset of up to four; of more, each alone and all but each;
 *   - with a cotangent for one output alone;
 *   - of an op, after overwriting all values that its vjp does not declare to read: users may overwrite them unnoticed;
 *   - after a second call of f on other inputs, which confuses a rule that keeps values outside of its call;
 *   - near the given point, because that can be special, such as a matrix of ones;
 *   - of two points in a batch, if f accepts a batch, and of a square matrix without its last column;
 *   - of an op, in float32. */
#include "autograd/sample.h"
#include "autograd/tape.h"
#include "tensor/files/number_text.h"
#include "tensor/library.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MAX_TENSORS = MO_MAX_INPUTS + MO_MAX_OUTPUTS,
    DIRECTIONS = 2,
    CERTIFICATES = 3,
    MOST_SUBSETS = 4 /* up to this number of inputs, every subset is tried */
};
static const double step = 1e-5, nearby = 1e-3 /* relative */;
static const uint64_t all = UINT64_MAX;

/* The result so far. ratio: the largest of error / tolerance. */
typedef struct verdict {
    mo_check_result result;
    double ratio;
    int64_t compared;
} verdict;

/* An op with its options, which op_function runs as a mo_function. */
typedef struct op_call {
    const mo_op *op;
    const void *attributes;
    uint64_t poison; /* overwrite these values after the call if the op does not declare to read them; bit i: input i;
                      * bit MO_MAX_INPUTS + i: output i */
} op_call;

/* A function and the leaves at which it is checked; `inputs` says how each leaf may be perturbed. */
typedef struct problem {
    mo_context *ctx;
    mo_function f;
    void *state;
    op_call *call;          /* the op that f runs; NULL: f is other graph code */
    int n_in, n_out, order; /* order 2: f is itself a gradient */
    mo_tensor *in[MAX_TENSORS];
    mo_tensor *other[MAX_TENSORS]; /* a second point; an input without a second value repeats the tensor of `in` */
    mo_sample_input inputs[MAX_TENSORS];
    mo_tensor *cotangent[MAX_TENSORS]; /* NULL for an output of integers */
    uint64_t needs;                    /* bit i: input i needs a gradient */
    int64_t at[MAX_TENSORS + 1];       /* offset of the gradient of input i in the array of all gradients */
    double size[MAX_TENSORS];          /* per output k: root of the sum of the squared terms of s */
    double all_sizes;
    double tolerance;
    mo_random r;
    const char *sample;
    bool tried; /* f may refuse these inputs, which the checker made up: an error is then no failure */
    verdict *v;
} problem;

/* How a gradient is taken. */
typedef struct way {
    uint64_t needs, outputs; /* bit i: input i needs a gradient, output i has a cotangent */
    uint64_t poison;         /* the value of call->poison */
    unsigned flags;          /* the flags for mo_grad */
    bool again;              /* between forward and backward, f is called once more, at the other point */
} way;

/* Makes n zeros, which the caller frees with free(). Returns NULL after raising. */
static double *zeros(mo_context *ctx, int64_t n) {
    return mo_host_array(ctx, n, sizeof(double));
}

/* The numbers of a tensor of reals, which the caller frees with free(). Returns NULL after raising. */
static double *numbers_of(const mo_tensor *T) {
    return mo_host_values(T, MO_F64);
}

/* Counts an error, relative to its tolerance, in the verdict; NaN counts as largest. */
static void judge(problem *p, double error, double tolerance, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

static void judge(problem *p, double error, double tolerance, const char *format, ...) {
    verdict *v = p->v;
    double ratio = error / tolerance;
    if (ratio <= v->ratio)
        return;
    char text[sizeof v->result.worst];
    va_list args;
    va_start(args, format);
    mo_format_list(text, sizeof text, format, args);
    va_end(args);
    v->ratio = isnan(ratio) ? INFINITY : ratio;
    v->result.error = isnan(error) ? INFINITY : error;
    mo_format(v->result.worst, sizeof v->result.worst, "sample \"%s\"%s%.200s", p->sample,
        p->order == 2 ? ", order 2, " : ", ", text);
}

/* Turns an error of the context into a failure of the check. Returns whether there was no error. what: the situation in
 * which it occurred, or "". tried: f may refuse its inputs, so only a lack of memory is a failure. */
static bool settle(problem *p, const char *what, bool tried) {
    if (mo_context_wait(p->ctx) == MO_OK) /* waits, because a device can raise errors after the call has returned */
        return true;
    verdict *v = p->v;
    const mo_status *s = mo_context_status(p->ctx);
    if (v->ratio < INFINITY && (!tried || s->code == MO_MEMORY)) {
        snprintf(v->result.worst, sizeof v->result.worst, "sample \"%s\"%s%s: %.180s", p->sample, *what ? ", " : "",
            what, s->message);
        v->ratio = v->result.error = INFINITY;
    }
    mo_clear_error(p->ctx);
    return false;
}

static bool fine_so_far(problem *p, const char *what) {
    return settle(p, what, p->tried);
}

static bool succeeds(problem *p) {
    return settle(p, "", true);
}

/* Returns a leaf of the given shape with the first values of A. In memory the rest of A and then B follow, so that an
 * op that reads beyond the leaf still reads memory of the leaf's storage. */
static mo_tensor *leaf_with_room(const mo_tensor *A, const mo_tensor *B, int ndim, const int64_t *shape) {
    mo_context *ctx = mo_tensor_context(A);
    int64_t n = 2 * mo_numel(A);
    size_t bytes = (size_t)mo_numel(A) * mo_dtype_size(mo_tensor_dtype(A));
    char *both = malloc(2 * bytes + 1);
    mo_tensor *whole = mo_null_tensor(ctx), *T = whole;
    if (!both)
        mo_fail(ctx, MO_MEMORY, "check: out of memory for %zu bytes", 2 * bytes);
    else if (mo_tensor_read(A, both, bytes) == MO_OK && mo_tensor_read(B, both + bytes, bytes) == MO_OK)
        whole = mo_tensor_create_from(ctx, mo_tensor_dtype(A), 1, &n, both);
    if (!mo_is_null(whole)) {
        mo_storage_retain(whole->storage);
        T = mo_tensor_onto(ctx, whole->storage, whole->dtype, ndim, shape);
    }
    mo_tensor_release(whole);
    free(both);
    return mo_needs_grad(A) ? mo_require_grad(T) : T;
}

static mo_tensor *twin(const mo_tensor *X) {
    return leaf_with_room(X, X, X->ndim, X->shape);
}

/* ---- s(x) and its gradient ---- */

/* sum[k] is s of output k alone, size[k] the root of the sum of its squared terms. */
static void weighted_sums(problem *p, double *sum, double *size) {
    mo_tensor *out[MAX_TENSORS];
    mo_tape *t = mo_tape_create(p->ctx, MO_RECORD);
    if (t)
        p->f(t, p->in, p->n_in, out, p->n_out, p->state);
    for (int i = 0; t && i < p->n_out && mo_ok(p->ctx); i++) {
        int64_t n = p->cotangent[i] ? mo_numel(p->cotangent[i]) : 0;
        long double total = 0, squares = 0; /* long double: the sum of many terms must be as accurate as the terms */
        if (p->cotangent[i] && (mo_numel(out[i]) != n || mo_tensor_dtype(out[i]) != mo_tensor_dtype(p->cotangent[i])))
            mo_fail(p->ctx, MO_INVALID, "check: output %d has another size or dtype than before", i);
        double *y = n && mo_ok(p->ctx) ? numbers_of(out[i]) : NULL, *g = y ? numbers_of(p->cotangent[i]) : NULL;
        for (int64_t j = 0; j < n && mo_ok(p->ctx); j++) {
            long double term = (long double)y[j] * g[j];
            total += term;
            squares += term * term;
        }
        sum[i] = (double)total;
        size[i] = sqrt((double)squares);
        free(y);
        free(g);
    }
    mo_tape_release(t);
}

/* Runs f on `in` and, if w->again is set, also at the other point, where an error is ignored. */
static void run_function(problem *p, const way *w, mo_tape *t, mo_tensor *const *in, mo_tensor **out) {
    mo_tensor *unused[MAX_TENSORS];
    if (p->call)
        p->call->poison = w->poison;
    p->f(t, in, p->n_in, out, p->n_out, p->state);
    if (p->call)
        p->call->poison = 0;
    if (!w->again || !mo_ok(p->ctx))
        return;
    p->f(t, p->other, p->n_in, unused, p->n_out, p->state);
    succeeds(p);
}

/* Writes the gradients of all inputs in w->needs into g, at their offsets p->at; leaves the rest of g as it is. Returns
 * whether it succeeded. */
static bool take_gradient(problem *p, const way *w, double *g) {
    mo_tensor *in[MAX_TENSORS], *out[MAX_TENSORS], *ys[MAX_TENSORS], *gs[MAX_TENSORS], *xs[MAX_TENSORS];
    mo_tensor *grads[MAX_TENSORS];
    int which[MAX_TENSORS], nx = 0, ny = 0;
    mo_tape *t = mo_tape_create(p->ctx, MO_RECORD);
    for (int i = 0; i < p->n_in; i++) {
        in[i] = w->poison ? twin(p->in[i]) : p->in[i];
        if (!(p->needs >> i & 1) || mo_is_null(in[i]))
            continue;
        if (w->needs >> i & 1) {
            which[nx] = i;
            xs[nx++] = in[i];
        }
        in[i]->requires_grad =
            !p->call || w->needs >> i & 1; /* f that is not an op may itself differentiate by any input */
    }
    if (t && mo_ok(p->ctx))
        run_function(p, w, t, in, out);
    for (int i = 0; i < p->n_out && mo_ok(p->ctx); i++)
        if (p->cotangent[i] && w->outputs >> i & 1) {
            ys[ny] = out[i];
            gs[ny++] = p->cotangent[i];
        }
    if (t && nx && ny && mo_ok(p->ctx))
        mo_grad(t, ys, gs, ny, xs, grads, nx, w->flags | MO_ALLOW_UNUSED);
    for (int k = 0; k < nx && ny && mo_ok(p->ctx); k++)
        mo_read_as(grads[k], MO_F64, g + p->at[which[k]]);
    mo_tape_release(t);
    for (int i = 0; i < p->n_in; i++) {
        if (p->needs >> i & 1)
            p->in[i]->requires_grad = true;
        if (in[i] != p->in[i])
            mo_tensor_release(in[i]);
    }
    return mo_ok(p->ctx);
}

/* ---- against differences ---- */

/* Writes s of each output at x + e v to sum, where v perturbs input i; restores x. Returns whether f could be
 * evaluated. */
static bool perturbed(problem *p, int i, const double *x, const double *v, double e, double *sum) {
    int64_t n = mo_numel(p->in[i]);
    double *moved = zeros(p->ctx, n), size[MAX_TENSORS];
    for (int64_t j = 0; moved && j < n; j++)
        moved[j] = x[j] + e * v[j];
    if (moved && mo_tensor_write(p->in[i], moved, (size_t)n * sizeof *moved) == MO_OK)
        weighted_sums(p, sum, size);
    bool fine = fine_so_far(p, "");
    mo_tensor_write(p->in[i], x, (size_t)n * sizeof *x);
    free(moved);
    return fine;
}

/* Returns the least number by which an error is divided. Rounding changes the terms of s, values inside f and the other
 * outputs by 1e-16 of their size, which a difference quotient makes 1e-11. */
static double least_scale(const problem *p, double size) {
    return fmax(fmax(1e-4, 1e-2 * size), 1e-5 * p->all_sizes);
}

/* Judges the error relative to the derivative, or to its typical size along one of n directions if that is larger. */
static void compare(problem *p, int i, int output, double analytic, double numeric, double norm, int64_t n) {
    p->v->compared++;
    double scale =
        fmax(fmax(fabs(analytic), fabs(numeric)), fmax(norm / sqrt((double)n), least_scale(p, p->size[output])));
    judge(p, fabs(analytic - numeric) / scale, p->tolerance, "input %d: vjp %.12g, difference quotient %.12g", i,
        analytic, numeric);
}

/* Checks the derivative with respect to input i by differences; single[k] is the gradient of output k alone. */
static void check_input(problem *p, int i, double *const *single) {
    int64_t n = mo_numel(p->in[i]);
    double *x = numbers_of(p->in[i]), *v = zeros(p->ctx, n);
    for (int d = 0; x && v && n && d < DIRECTIONS && p->v->ratio < INFINITY; d++) {
        double up[MAX_TENSORS], down[MAX_TENSORS];
        mo_sample_direction(&p->inputs[i], &p->r, v, n);
        if (!perturbed(p, i, x, v, step, up) || !perturbed(p, i, x, v, -step, down))
            break;
        for (int k = 0; k < p->n_out; k++) {
            double analytic = 0, norm = 0;
            for (int64_t j = 0; p->cotangent[k] && j < n; j++) {
                double g = single[k][p->at[i] + j];
                analytic += g * v[j];
                norm += g * g;
            }
            if (p->cotangent[k])
                compare(p, i, k, analytic, (up[k] - down[k]) / (2 * step), sqrt(norm), n);
        }
    }
    free(x);
    free(v);
}

/* ---- against each other ---- */

/* Returns the largest difference of the gradients a and b with respect to the inputs in `set` (a bit per input),
 * divided by the largest entry of b for the same input or by least_scale, whichever is larger; *input is that input. */
static double apart(const problem *p, const double *a, const double *b, uint64_t set, int *input) {
    double most = 0;
    for (int i = 0; i < p->n_in; i++) {
        double gap = 0, scale = least_scale(p, p->all_sizes);
        for (int64_t j = p->at[i]; set >> i & 1 && j < p->at[i + 1]; j++) {
            double d = fabs(a[j] - b[j]);
            gap = d <= gap ? gap : isnan(d) ? INFINITY : d;
            scale = fmax(scale, fabs(b[j]));
        }
        if (!(gap / scale <= most)) {
            most = isnan(gap / scale) ? INFINITY : gap / scale;
            *input = i;
        }
    }
    return most;
}

/* Takes the gradient in the way w and compares it with `whole`, the gradient of all outputs with respect to all inputs.
 * Returns NAN, and leaves the error, if the gradient cannot be taken. */
static double way_apart(problem *p, const double *whole, const way *w, int *input) {
    double *g = zeros(p->ctx, p->at[p->n_in]), error = NAN;
    if (g && take_gradient(p, w, g))
        error = apart(p, g, whole, p->needs & w->needs, input);
    free(g);
    return error;
}

static void compare_way(problem *p, const double *whole, way w, const char *what) {
    int input = 0;
    double error = way_apart(p, whole, &w, &input);
    if (fine_so_far(p, what))
        judge(p, error, p->tolerance, "%s: the gradient of input %d is off by %.3g of its largest entry", what, input,
            error);
}

/* Takes gradients with respect to every subset of the inputs. If there are more than MOST_SUBSETS inputs, tries only
 * each input alone, and all inputs but one. graph: MO_CREATE_GRAPH, to try each subset with and without this flag,
 * because rules can depend on it; or 0. */
static void check_subsets(problem *p, const double *whole, unsigned graph) {
    int which[MAX_TENSORS], n = 0;
    for (int i = 0; i < p->n_in; i++)
        if (p->needs >> i & 1)
            which[n++] = i;
    int64_t subsets = n <= MOST_SUBSETS ? ((int64_t)1 << n) - 1 : 2 * n;
    for (int64_t s = 1; s <= subsets; s++) {
        uint64_t set = n <= MOST_SUBSETS ? 0 : (uint64_t)1 << which[(s - 1) % n];
        for (int k = 0; n <= MOST_SUBSETS && k < n; k++)
            set |= (uint64_t)(s >> k & 1) << which[k];
        if (n > MOST_SUBSETS && s > n)
            set = p->needs & ~set;
        char what[100] = "where no other input needs a gradient than";
        size_t used = strlen(what);
        for (int k = 0; k < n && used < sizeof what - 4; k++)
            if (set >> which[k] & 1)
                used += (size_t)snprintf(what + used, sizeof what - used, " %d", which[k]);
        for (unsigned flags = 0; flags <= graph; flags += MO_CREATE_GRAPH)
            if (set != p->needs || flags)
                compare_way(p, whole, (way){.needs = set, .outputs = all, .flags = flags}, what);
    }
}

/* Returns whether the gradient changes or an error is raised if the undeclared inputs and outputs among `poison` are
 * overwritten. */
static bool shows_poison(problem *p, const double *whole, uint64_t poison) {
    int input = 0;
    double error = way_apart(p, whole, &(way){.needs = all, .outputs = all, .poison = poison}, &input);
    bool lacks_memory = mo_code_of(p->ctx) == MO_MEMORY;
    return !(succeeds(p) && error <= p->tolerance) && !lacks_memory;
}

/* Names the first input or output that the rule reads and does not declare. */
static void check_declarations(problem *p, const double *whole) {
    if (!shows_poison(p, whole, all))
        return;
    int k = 0;
    while (k < MAX_TENSORS && !shows_poison(p, whole, (uint64_t)1 << k))
        k++;
    if (k < MO_MAX_INPUTS)
        judge(p, INFINITY, p->tolerance, "the vjp reads input %d, which reads_in does not declare", k);
    else if (k < MAX_TENSORS)
        judge(
            p, INFINITY, p->tolerance, "the vjp reads output %d, which reads_out does not declare", k - MO_MAX_INPUTS);
    else
        judge(p, INFINITY, p->tolerance, "the vjp reads inputs or outputs that reads_in and reads_out do not declare");
}

/* Writes the gradient of each output k alone to single[k]. Checks that these gradients add up to `whole`. Returns
 * whether all gradients could be taken. */
static bool check_outputs(problem *p, const double *whole, double *const *single) {
    int64_t n = p->at[p->n_in];
    double *sum = zeros(p->ctx, n);
    for (int k = 0; sum && k < p->n_out && mo_ok(p->ctx); k++) {
        take_gradient(p, &(way){.needs = all, .outputs = (uint64_t)1 << k}, single[k]);
        for (int64_t j = 0; j < n; j++)
            sum[j] += single[k][j];
    }
    bool fine = fine_so_far(p, "with a cotangent of one output alone");
    if (sum && fine) {
        int input = 0;
        double error = apart(p, sum, whole, p->needs, &input);
        judge(p, error, p->tolerance,
            "input %d: the gradients of the single outputs do not add up to the gradient of all", input);
    }
    free(sum);
    return fine;
}

/* ---- one point ---- */

/* Draws random cotangents with the shapes and dtypes of the outputs. */
static void draw_cotangents(problem *p) {
    mo_tape *t = mo_tape_create(p->ctx, MO_RECORD);
    mo_tensor *out[MAX_TENSORS];
    if (!t)
        return;
    p->f(t, p->in, p->n_in, out, p->n_out, p->state);
    for (int i = 0; i < p->n_out && mo_ok(p->ctx); i++) {
        mo_sample_input like = {.draw = MO_DRAW_CONSTANT, .ndim = mo_ndim(out[i])};
        for (int a = 0; a < like.ndim; a++)
            like.shape[a] = mo_dim(out[i], a);
        if (mo_tensor_dtype(out[i]) == MO_F64)
            p->cotangent[i] = mo_sample_tensor(p->ctx, &like, MO_F64, &p->r);
        else if (mo_dtype_is_real(mo_tensor_dtype(out[i])))
            mo_fail(p->ctx, MO_MISMATCH, "check: output %d is float32; differences need float64", i);
    }
    mo_tape_release(t);
}

static void release_all(mo_tensor **T, int n) {
    for (int i = 0; i < n; i++) {
        mo_tensor_release(T[i]);
        T[i] = NULL;
    }
}

static void lay_out(problem *p) {
    p->needs = 0;
    for (int i = 0; i < p->n_in; i++) {
        bool needed = mo_needs_grad(p->in[i]);
        p->needs |= (uint64_t)needed << i;
        p->at[i + 1] = p->at[i] + (needed ? mo_numel(p->in[i]) : 0);
    }
}

/* Checks the gradient by differences. thorough: also compares the ways of taking the gradient with each other. order:
 * the highest order of the whole check. */
static void check_problem(problem *p, bool thorough, int order) {
    double *whole, *single[MAX_TENSORS] = {0}, sums[MAX_TENSORS];
    lay_out(p);
    weighted_sums(p, sums, p->size);
    p->all_sizes = 0;
    for (int k = 0; k < p->n_out && mo_ok(p->ctx); k++)
        p->all_sizes += p->size[k];
    whole = zeros(p->ctx, p->at[p->n_in]);
    bool fine = whole && take_gradient(p, &(way){.needs = all, .outputs = all}, whole);
    for (int k = 0; fine && k < p->n_out; k++)
        fine = (single[k] = p->n_out > 1 ? zeros(p->ctx, p->at[p->n_in]) : whole) != NULL;
    if (fine_so_far(p, "") && fine && p->needs && (p->n_out == 1 || check_outputs(p, whole, single))) {
        for (int i = 0; i < p->n_in; i++)
            if (p->needs >> i & 1)
                check_input(p, i, single);
        if (thorough && p->call)
            check_declarations(p, whole);
        if (thorough && p->order == 1) {
            check_subsets(p, whole, order == 2 ? MO_CREATE_GRAPH : 0);
            compare_way(p, whole, (way){.needs = all, .outputs = all, .again = true}, "after another call");
        }
    }
    fine_so_far(p, "");
    for (int k = 0; k < p->n_out && p->n_out > 1; k++)
        free(single[k]);
    free(whole);
}

/* ---- order two: the gradient as a function of the inputs and the cotangents ---- */

typedef struct gradient_of {
    mo_function f;
    void *state;
    int n_in, n_out;
    const int *output; /* [n_cotangents]: numbers of the outputs that have a cotangent */
    int n_cotangents;
} gradient_of;

static void gradient_function(mo_tape *t, mo_tensor *const *in, int n_in, mo_tensor **out, int n_out, void *state) {
    const gradient_of *g = state;
    mo_tensor *y[MAX_TENSORS], *ys[MAX_TENSORS], *xs[MAX_TENSORS];
    int nx = 0;
    for (int i = 0; i < g->n_in; i++)
        if (mo_needs_grad(in[i]))
            xs[nx++] = in[i];
    g->f(t, in, g->n_in, y, g->n_out, g->state);
    for (int i = 0; i < g->n_cotangents; i++)
        ys[i] = y[g->output[i]];
    for (int i = 0; i < n_out; i++)
        out[i] = mo_null_tensor(mo_tape_context(t));
    (void)n_in;
    mo_grad(t, ys, in + g->n_in, g->n_cotangents, xs, out, nx, MO_CREATE_GRAPH | MO_ALLOW_UNUSED);
}

static void check_second(problem *p, bool thorough, double tolerance) {
    int output[MAX_TENSORS];
    gradient_of g = {.f = p->f, .state = p->state, .n_in = p->n_in, .n_out = p->n_out, .output = output};
    problem q = {.ctx = p->ctx, .f = gradient_function, .state = &g, .order = 2, .tolerance = tolerance, .r = p->r};
    q.call = p->call;
    q.sample = p->sample;
    q.tried = p->tried;
    q.v = p->v;
    memcpy(q.in, p->in, sizeof q.in);
    memcpy(q.inputs, p->inputs, sizeof q.inputs);
    q.n_in = p->n_in;
    for (int i = 0; i < p->n_in; i++)
        q.n_out += mo_needs_grad(p->in[i]);
    for (int i = 0; i < p->n_out; i++) {
        if (!p->cotangent[i])
            continue;
        mo_sample_input like = {.draw = MO_DRAW_NORMAL, .ndim = mo_ndim(p->cotangent[i])};
        for (int a = 0; a < like.ndim; a++)
            like.shape[a] = mo_dim(p->cotangent[i], a);
        output[g.n_cotangents++] = i;
        q.inputs[q.n_in] = like;
        q.in[q.n_in++] = mo_require_grad(p->cotangent[i]);
    }
    draw_cotangents(&q);
    if (fine_so_far(&q, "order 2"))
        check_problem(&q, thorough, 2);
    release_all(q.cotangent, q.n_out);
}

/* ---- order zero: <J v, w> = <v, J^T w> ---- */

/* Adds the n products x_j y_j to *sum, and their absolute values to *size, the scale of the rounding error. */
static void add_products(const double *x, const double *y, int64_t n, double *sum, double *size) {
    for (int64_t j = 0; j < n; j++) {
        *sum += x[j] * y[j];
        *size += fabs(x[j] * y[j]);
    }
}

/* Returns <J v, w> for directions v of the leaves x and the cotangents w; adds to *size. */
static double forward_side(problem *p, mo_tensor **x, mo_tensor **v, int nx, double *size) {
    mo_tensor *out[MAX_TENSORS], *y[MAX_TENSORS], *w[MAX_TENSORS], *tangent[MAX_TENSORS];
    int ny = 0;
    double side = 0;
    mo_tape *t = mo_tape_create(p->ctx, MO_RECORD);
    if (t)
        p->f(t, p->in, p->n_in, out, p->n_out, p->state);
    for (int i = 0; i < p->n_out && mo_ok(p->ctx); i++)
        if (p->cotangent[i] && mo_needs_grad(out[i])) {
            y[ny] = out[i];
            w[ny++] = p->cotangent[i];
        }
    if (ny && mo_ok(p->ctx))
        mo_jvp(t, y, ny, x, v, nx, tangent, MO_ALLOW_UNUSED);
    for (int i = 0; i < ny && mo_ok(p->ctx); i++) {
        int64_t n = mo_numel(w[i]);
        double *a = numbers_of(tangent[i]), *b = numbers_of(w[i]);
        if (a && b)
            add_products(a, b, n, &side, size);
        free(a);
        free(b);
    }
    mo_tape_release(t);
    return side;
}

/* Compares the sides along a random direction v, from g = J^T w. v: room for as many numbers as g has. */
static void compare_sides(problem *p, const double *g, double *v) {
    mo_tensor *x[MAX_TENSORS], *V[MAX_TENSORS];
    double size = 0, back = 0;
    int nx = 0;
    for (int i = 0; i < p->n_in; i++) {
        const mo_tensor *X = p->in[i];
        if (!(p->needs >> i & 1))
            continue;
        mo_sample_direction(&p->inputs[i], &p->r, v + p->at[i], mo_numel(X));
        x[nx] = p->in[i];
        V[nx++] = mo_tensor_create_from(p->ctx, MO_F64, X->ndim, X->shape, v + p->at[i]);
    }
    double there = forward_side(p, x, V, nx, &size);
    add_products(g, v, p->at[p->n_in], &back, &size);
    if (mo_ok(p->ctx))
        judge(p, fabs(there - back) / fmax(1, size), p->tolerance, "<J v, w> %.12g, <v, J^T w> %.12g", there, back);
    release_all(V, nx);
}

/* The sides are equal up to rounding, so that the comparison needs no step size. It fails for a vjp that is not linear
 * in its cotangent, and for one that loses the path from the cotangent to its result (a value computed outside the
 * tape, a gradient stopped): such a vjp is right at order one, and every derivative of it is wrong. It cannot detect a
 * vjp of the wrong Jacobian, because the jvp (jvp.c) is then wrong in the same way; that is for the differences. */
static void check_certificate(problem *p) {
    lay_out(p);
    double *g = zeros(p->ctx, p->at[p->n_in]), *v = zeros(p->ctx, p->at[p->n_in]);
    if (g && v && take_gradient(p, &(way){.needs = all, .outputs = all}, g))
        for (int k = 0; k < CERTIFICATES && mo_ok(p->ctx); k++)
            compare_sides(p, g, v);
    p->v->compared++;
    free(g);
    free(v);
}

/* Draws cotangents. With order 0, checks the certificate. With order 1 or 2, checks order one; with order 2, then
 * checks order two if order one passed. */
static void check_point(problem *p, bool thorough, int order, double tolerance) {
    p->order = 1;
    p->tolerance = order == 2 ? 0.1 * tolerance : tolerance;
    draw_cotangents(p);
    if (fine_so_far(p, "")) {
        if (order == 0)
            check_certificate(p);
        else
            check_problem(p, thorough, order);
        if (order == 2 && p->v->ratio <= 1)
            check_second(p, thorough, tolerance);
    }
    fine_so_far(p, "");
    release_all(p->cotangent, p->n_out);
}

/* ---- other shapes ---- */

/* Returns whether Y is A and B stacked along a new first axis, up to rounding. */
static bool is_stack(mo_context *ctx, const mo_tensor *Y, const mo_tensor *A, const mo_tensor *B) {
    int64_t n = mo_numel(A);
    bool same = mo_ndim(Y) == mo_ndim(A) + 1 && mo_dim(Y, 0) == 2 && mo_tensor_dtype(Y) == mo_tensor_dtype(A);
    for (int a = 0; same && a < mo_ndim(A); a++)
        same = mo_dim(Y, a + 1) == mo_dim(A, a);
    if (!same || !mo_dtype_is_real(mo_tensor_dtype(Y)))
        return same;
    double *y = numbers_of(Y), *x = zeros(ctx, 2 * n), most = 0;
    same = x && y && mo_read_as(A, MO_F64, x) && mo_read_as(B, MO_F64, x + n);
    for (int64_t j = 0; same && j < 2 * n; j++)
        most = fmax(most, fabs(x[j]));
    for (int64_t j = 0; same && j < 2 * n; j++)
        same = fabs(y[j] - x[j]) <= 1e-10 * most;
    free(x);
    free(y);
    return same;
}

/* Returns whether f of the batch b gives the stacked results of f at the two points of p. Input `shared` has one value
 * for both points (-1: no input has). */
static bool is_batch(problem *p, const problem *b, int shared) {
    mo_tensor *Y[MAX_TENSORS], *A[MAX_TENSORS], *B[MAX_TENSORS], *second[MAX_TENSORS];
    mo_tape *t = mo_tape_create(p->ctx, MO_RECORD);
    memcpy(second, p->other, sizeof second);
    if (shared >= 0)
        second[shared] = p->in[shared];
    if (t)
        p->f(t, b->in, p->n_in, Y, p->n_out, p->state);
    if (mo_ok(p->ctx))
        p->f(t, p->in, p->n_in, A, p->n_out, p->state);
    if (mo_ok(p->ctx))
        p->f(t, second, p->n_in, B, p->n_out, p->state);
    bool fits = t && mo_ok(p->ctx);
    for (int i = 0; i < p->n_out && fits; i++)
        fits = is_stack(p->ctx, Y[i], A[i], B[i]);
    mo_tape_release(t);
    return succeeds(p) && fits;
}

static void check_batch(problem *p, int shared, int order, double tolerance) {
    problem b = *p;
    memset(b.cotangent, 0, sizeof b.cotangent);
    for (int i = 0; i < p->n_in; i++) {
        int64_t shape[MO_MAX_AXES] = {2};
        memcpy(shape + 1, p->in[i]->shape, (MO_MAX_AXES - 1) * sizeof *shape);
        int lead = i != shared;
        b.in[i] = leaf_with_room(p->in[i], p->other[i], p->in[i]->ndim + lead, shape + !lead);
        b.inputs[i].ndim += lead;
        if (lead)
            memcpy(b.inputs[i].shape, shape, sizeof shape);
    }
    char name[100];
    snprintf(name, sizeof name, "%.60s, two in a batch", p->sample);
    b.sample = name;
    b.tried = true;
    if (mo_ok(p->ctx) && is_batch(p, &b, shared))
        check_point(&b, false, order, tolerance);
    succeeds(p);
    release_all(b.in, b.n_in);
}

/* Checks f on a square matrix, its only input, without the last column: this exposes a rule that takes rows for
 * columns. */
static void check_oblong(problem *p, int order, double tolerance) {
    int n = p->n_in == 1 ? mo_ndim(p->in[0]) : 0;
    bool square = n > 1 && mo_dim(p->in[0], -1) == mo_dim(p->in[0], -2) && mo_dim(p->in[0], -1) > 1;
    if (!square || mo_tensor_dtype(p->in[0]) != MO_F64 || p->inputs[0].draw > MO_DRAW_DISTINCT)
        return;
    problem b = *p;
    char name[100];
    snprintf(name, sizeof name, "%.60s, without the last column", p->sample);
    b.inputs[0].shape[n - 1]--;
    b.sample = name;
    b.tried = true;
    b.in[0] = leaf_with_room(p->in[0], p->in[0], n, b.inputs[0].shape);
    if (mo_ok(p->ctx))
        check_point(&b, false, order, tolerance);
    succeeds(p);
    mo_tensor_release(b.in[0]);
}

/* Checks f on a matrix that is not square, then with a leading axis on all inputs, then with a leading axis on all
 * inputs but one. */
static void check_shapes(problem *p, int order, double tolerance) {
    if (p->v->ratio <= 1)
        check_oblong(p, order, tolerance);
    for (int i = 0; i < p->n_in; i++)
        if (mo_ndim(p->in[i]) == MO_MAX_AXES)
            return;
    for (int shared = -1; shared < p->n_in && p->v->ratio <= 1; shared++)
        if (shared < 0 || p->n_in > 1)
            check_batch(p, shared, order, tolerance);
}

/* ---- one op ---- */

/* Returns whether the vjp of op is declared to read input i, or output i - MO_MAX_INPUTS. */
static bool is_declared(const mo_op *op, int i) {
    return i < MO_MAX_INPUTS ? op->reads_in >> i & 1 : op->reads_out >> (i - MO_MAX_INPUTS) & 1;
}

/* Overwrites the values that the vjp is not declared to read, except memory shared with values that it is declared to
 * read. Integers become 0: if they are indices, a rule that does not check them again stays within bounds. */
static void poison_undeclared(const op_call *call, mo_tensor *const *in, int n_in, mo_tensor *const *out) {
    mo_tensor *T[MAX_TENSORS] = {0};
    memcpy(T, in, (size_t)n_in * sizeof *T);
    memcpy(T + MO_MAX_INPUTS, out, (size_t)mo_op_outputs(call->op) * sizeof *T);
    for (int i = 0; i < MAX_TENSORS; i++) {
        bool read = !T[i] || !(call->poison >> i & 1) || is_declared(call->op, i);
        for (int k = 0; !read && k < MAX_TENSORS; k++)
            read = T[k] && T[k]->storage == T[i]->storage && is_declared(call->op, k);
        if (!read)
            mo_tensor_fill(T[i], mo_dtype_is_real(T[i]->dtype) ? NAN : 0);
    }
}

static void op_function(mo_tape *t, mo_tensor *const *in, int n_in, mo_tensor **out, int n_out, void *state) {
    const op_call *call = state;
    (void)n_out;
    if (mo_apply_all(t, call->op, in, n_in, call->attributes, out) == MO_OK && call->poison)
        poison_undeclared(call, in, n_in, out);
}

/* Returns a tensor of float32 with the values of X. */
static mo_tensor *narrowed(const mo_tensor *X) {
    mo_tensor *T = mo_tensor_create(X->ctx, MO_F32, X->ndim, X->shape);
    mo_tensor_copy(T, X);
    return mo_needs_grad(X) ? mo_require_grad(T) : T;
}

static void compare_float32(problem *p, problem *q) {
    double sums[MAX_TENSORS], narrow_sums[MAX_TENSORS];
    int input = 0;
    weighted_sums(p, sums, p->size);
    weighted_sums(q, narrow_sums, q->size);
    bool same = mo_ok(p->ctx);
    q->all_sizes = 0;
    for (int k = 0; same && k < p->n_out; k++) {
        same = fabs(sums[k] - narrow_sums[k]) <= 1e-2 * p->size[k];
        q->all_sizes += p->size[k];
    }
    succeeds(p);
    double *whole = zeros(p->ctx, p->at[p->n_in]);
    if (same && whole && take_gradient(p, &(way){.needs = all, .outputs = all}, whole)) {
        double error = way_apart(q, whole, &(way){.needs = all, .outputs = all}, &input);
        double tolerance = p->ctx->math == MO_MATH_FP32 ? 1e-3 : 5e-2;
        if (fine_so_far(q, "in float32") && !(error <= tolerance)) /* float32 rounds more, hence this tolerance */
            judge(q, error, tolerance, "input %d: in float32 the gradient is off by %.3g of its largest entry", input,
                error);
    }
    fine_so_far(p, "");
    free(whole);
}

/* Compares the gradient in float32 with the gradient in float64, at equal values. An op that raises an error for
 * float32, or computes something else there, is not compared. */
static void check_float32(problem *p, const mo_sample *s) {
    _Alignas(16) char attributes[MO_MAX_ATTRIBUTES];
    op_call narrow_call = *p->call;
    if (s->prepare) {
        s->prepare(p->ctx, MO_F32, attributes);
        narrow_call.attributes = attributes;
    }
    draw_cotangents(p);
    lay_out(p);
    problem q = *p;
    q.state = q.call = &narrow_call;
    q.tried = true;
    for (int i = 0; i < p->n_in; i++)
        if (mo_tensor_dtype(p->in[i]) == MO_F64) {
            mo_tensor *N = narrowed(p->in[i]);
            q.in[i] = twin(N);
            mo_tensor_release(N);
        }
    for (int i = 0; i < p->n_out; i++)
        q.cotangent[i] = p->cotangent[i] ? narrowed(p->cotangent[i]) : NULL;
    compare_float32(p, &q);
    for (int i = 0; i < p->n_in; i++)
        if (q.in[i] != p->in[i])
            mo_tensor_release(q.in[i]);
    release_all(q.cotangent, q.n_out);
    release_all(p->cotangent, p->n_out);
    if (s->finish && s->prepare)
        s->finish(p->ctx, attributes);
}

/* Checks an op on one of its samples. */
static void check_sample(const mo_op *op, const mo_sample *s, int order, double tolerance, problem *p) {
    _Alignas(16) char attributes[MO_MAX_ATTRIBUTES];
    op_call call = {.op = op, .attributes = s->attributes};
    if (s->prepare) {
        s->prepare(p->ctx, MO_F64, attributes);
        call.attributes = attributes;
    }
    p->f = op_function;
    p->state = p->call = &call;
    p->n_out = mo_op_outputs(op);
    p->sample = s->name;
    p->n_in = mo_sample_inputs(p->ctx, op, s, p->inputs);
    for (int i = 0; i < p->n_in; i++)
        p->in[i] = mo_sample_tensor(p->ctx, &p->inputs[i], MO_F64, &p->r);
    for (int i = 0; i < p->n_in; i++)
        p->other[i] = mo_sample_tensor(p->ctx, &p->inputs[i], MO_F64, &p->r);
    check_point(p, true, order, tolerance);
    if (order > 0)
        check_shapes(p, order, tolerance);
    if (order > 0 && p->v->ratio <= 1)
        check_float32(p, s);
    release_all(p->in, p->n_in);
    release_all(p->other, p->n_in);
    if (s->finish)
        s->finish(p->ctx, attributes);
}

/* Returns the result of a check that cannot be made, with the reason in `worst`. */
static mo_check_result refusal(const char *reason) {
    mo_check_result result = {0};
    snprintf(result.worst, sizeof result.worst, "%s", reason);
    return result;
}

static mo_check_result result_of(verdict *v, const char *nothing) {
    if (!v->compared && v->ratio <= 1)
        snprintf(v->result.worst, sizeof v->result.worst, "%s", nothing);
    v->result.pass = v->compared && v->ratio <= 1;
    return v->result;
}

static bool is_order(int order) {
    return order >= 0 && order <= 2;
}

mo_check_result mo_check_op(mo_context *ctx, const mo_op *op, int order, uint64_t seed) {
    if (!mo_ok(ctx) || !op || !op->samples || mo_n_samples(op) < 1 || !is_order(order))
        return refusal(!mo_ok(ctx)       ? "the context is in error"
                       : is_order(order) ? "there is no op, or it has no samples"
                                         : "the order is not 0, 1 or 2");
    if (!op->vjp) {
        mo_check_result result = refusal("no derivative: integer or constant result");
        result.pass = true;
        return result;
    }
    verdict v = {0};
    mo_hold_errors(ctx);
    for (int i = 0; i < mo_n_samples(op); i++) {
        problem p = {.ctx = ctx, .v = &v, .r = mo_random_at(seed, MO_PURPOSE_CHECK, (uint64_t)i)};
        check_sample(op, &op->samples[i], order, order == 0 ? 1e-10 : order == 1 ? 1e-6 : 1e-5, &p);
        v.result.samples++;
    }
    mo_release_errors(ctx);
    return result_of(&v, "nothing was compared: no sample has a real input that is differentiated, and a real output");
}

/* ---- a function at given inputs ---- */

/* Returns a leaf near X: each entry is moved by about `nearby` times its size, an entry of 0 by about `nearby` times
 * the root mean square of X. */
static mo_tensor *moved(problem *p, mo_tensor *X) {
    int64_t n = mo_numel(X);
    double *x = numbers_of(X), usual = 0;
    mo_tensor *M = mo_null_tensor(p->ctx);
    for (int64_t j = 0; x && j < n; j++)
        usual += x[j] * x[j] / (double)n;
    for (int64_t j = 0; x && j < n; j++)
        x[j] += nearby * mo_random_normal(&p->r) * (x[j] != 0 ? fabs(x[j]) : usual > 0 ? sqrt(usual) : 1);
    if (x)
        M = mo_require_grad(mo_tensor_create_from(p->ctx, MO_F64, X->ndim, X->shape, x));
    free(x);
    return M;
}

static void exchange_points(problem *p) {
    for (int i = 0; i < p->n_in; i++) {
        if (p->other[i] == p->in[i])
            continue;
        mo_tensor *kept = mo_tensor_clone(p->ctx, p->in[i]);
        mo_tensor_copy(p->in[i], p->other[i]);
        mo_tensor_copy(p->other[i], kept);
        mo_tensor_release(kept);
    }
}

/* Checks f at the other point, whose values are written into the given leaves, since f may refer to these directly.
 * Skipped if f is not finite there. */
static void check_nearby(problem *p, int order, double tolerance) {
    double sums[MAX_TENSORS];
    exchange_points(p);
    p->sample = "near the given";
    draw_cotangents(p);
    if (mo_ok(p->ctx))
        weighted_sums(p, sums, p->size);
    bool has_value = succeeds(p);
    for (int k = 0; k < p->n_out && has_value; k++)
        has_value = isfinite(p->size[k]);
    release_all(p->cotangent, p->n_out);
    if (has_value)
        check_point(p, false, order, tolerance);
    exchange_points(p);
    p->sample = "given";
}

mo_check_result mo_check_function(mo_context *ctx, mo_function f, void *state, mo_tensor *const *in, int n_in,
    int n_out, int order, double tolerance, uint64_t seed) {
    if (!mo_ok(ctx) || !f || !in || !is_order(order))
        return refusal(!mo_ok(ctx)       ? "the context is in error"
                       : is_order(order) ? "there is no function, or it has no inputs"
                                         : "the order is not 0, 1 or 2");
    verdict v = {0};
    if (n_in > MO_MAX_INPUTS || n_out > MO_MAX_OUTPUTS) {
        snprintf(v.result.worst, sizeof v.result.worst, "%d inputs and %d outputs, expected at most %d and %d", n_in,
            n_out, MO_MAX_INPUTS, MO_MAX_OUTPUTS);
        return v.result;
    }
    problem p = {.ctx = ctx, .f = f, .state = state, .n_in = n_in, .n_out = n_out, .v = &v, .sample = "given"};
    p.r = mo_random_at(seed, MO_PURPOSE_CHECK, 0);
    mo_hold_errors(ctx);
    for (int i = 0; i < n_in; i++) {
        p.in[i] = in[i];
        p.inputs[i] = (mo_sample_input){.draw = MO_DRAW_NORMAL, .ndim = mo_ndim(in[i])};
        for (int a = 0; a < p.inputs[i].ndim; a++)
            p.inputs[i].shape[a] = mo_dim(in[i], a);
        p.other[i] = mo_needs_grad(in[i]) && mo_tensor_dtype(in[i]) == MO_F64 ? moved(&p, in[i]) : in[i];
    }
    check_point(&p, true, order, tolerance);
    if (order > 0 && v.ratio <= 1)
        check_nearby(&p, order, tolerance);
    if (order > 0)
        check_shapes(&p, order, tolerance);
    for (int i = 0; i < n_in; i++)
        if (p.other[i] != in[i])
            mo_tensor_release(p.other[i]);
    v.result.samples = 1;
    mo_release_errors(ctx);
    return result_of(&v, "nothing was compared: no input needs a gradient, or no output is real");
}
