/* tools/bench/bench_solve.c - `mochi bench solve`: batches of linear systems A X = B in float32, general (LU) and
 * symmetric positive definite (Cholesky), the solution alone and with its adjoint.
 *
 * Operations counted for one system of order n with m columns: LU 2 n^3 / 3 or Cholesky n^3 / 3, and 2 n^2 m for the
 * two triangular solves; the adjoint 2 n^2 m for B_bar = A^-T X_bar and 2 n^2 m for A_bar = -B_bar X^T. */
#include "tools/bench/bench.h"
#include "tools/bench/synthetic.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { LARGEST_BATCH = 1 << 20, LARGEST_ORDER = 1 << 14, LARGEST_STANDARD = 1 << 24 /* elements of A */ };

typedef struct systems {
    mo_tape *t;
    mo_tensor *A, *B, *X_bar;
    bool spd, adjoint;
} systems;

/* "1024x32", "1024x32x15": batch, order and columns (default 1). */
static bool scan_solve_case(const char *name, int64_t size[3]) {
    char *end;
    int n = 0;
    size[2] = 1;
    for (const char *at = name; n < 3; at = end + 1) {
        size[n++] = strtoll(at, &end, 10);
        if (end == at || size[n - 1] < 1 || size[n - 1] > (n == 1 ? LARGEST_BATCH : LARGEST_ORDER))
            return false;
        if (*end != 'x')
            break;
    }
    return *end == '\0' && n >= 2;
}

bool bench_solve_knows(const char *name) {
    int64_t size[3];
    return scan_solve_case(name, size);
}

/* N + s I, or its symmetric part: the eigenvalues of the standard normal N lie within sqrt(n) of 0, those of its
 * symmetric part within sqrt(2 n), so that s = 2 sqrt(n) leaves both regular and the second positive definite; 4 more
 * for the tails of small orders. */
static mo_tensor *make_matrices(mo_context *ctx, int64_t batch, int64_t n, bool spd) {
    mo_tensor *A = synthetic_normal(ctx, 3, (int64_t[]){batch, n, n}, 4);
    size_t bytes = (size_t)mo_numel(A) * sizeof(float);
    float *a = malloc(bytes + 1);
    if (!a)
        mo_fail(ctx, MO_MEMORY, "bench solve: out of memory");
    else if (mo_tensor_read(A, a, bytes) == MO_OK) {
        for (float *m = a; m < a + batch * n * n; m += n * n)
            for (int64_t i = 0; i < n; i++) {
                for (int64_t j = 0; spd && j < i; j++)
                    m[i * n + j] = m[j * n + i] = (m[i * n + j] + m[j * n + i]) / 2;
                m[i * n + i] += 2 * sqrtf((float)n) + 4;
            }
        mo_tensor_write(A, a, bytes);
    }
    free(a);
    return mo_require_grad(A);
}

static void solve_system_once(void *state) {
    systems *s = state;
    mo_tensor *X = s->spd ? mo_solve_spd(s->t, s->A, s->B) : mo_solve(s->t, s->A, s->B), *xs[] = {s->A, s->B},
              *grads[2];
    if (s->adjoint)
        mo_grad(s->t, &X, &s->X_bar, 1, xs, grads, 2, 0);
    mo_tape_reset(s->t);
}

static bool run_variant(mo_context *ctx, const bench_options *o, systems *s, const int64_t size[3], bench_record *r) {
    static const char *const variants[2][2] = {{"solve", "solve+adjoint"}, {"solve_spd", "solve_spd+adjoint"}};
    double n = (double)size[1], column = 2 * n * n * (double)size[2];
    r->variant = variants[s->spd][s->adjoint];
    r->gflop = 1e-9 * (double)size[0] * ((s->spd ? 1 : 2) * n * n * n / 3 + (s->adjoint ? 3 : 1) * column);
    mo_tape_set_mode(s->t, s->adjoint ? MO_RECORD : MO_EVAL);
    return bench_run(ctx, o, solve_system_once, s, r) && bench_print(o, r) &&
           bench_profile(ctx, o, solve_system_once, s, r);
}

static bool run_solve_case(mo_context *ctx, const bench_options *o, const char *name, double rate) {
    int64_t size[3] = {0};
    scan_solve_case(name, size);
    const int64_t *columns = (int64_t[]){size[0], size[1], size[2]};
    bench_record record = {.name = name, .rows = size[0] * size[1], .gemm_rate = rate};
    bool fine = true;
    for (int spd = 0; fine && spd < 2; spd++) {
        systems s = {.t = mo_tape_create(ctx, MO_RECORD), .spd = spd};
        s.A = make_matrices(ctx, size[0], size[1], spd);
        s.B = mo_require_grad(synthetic_normal(ctx, 3, columns, 5));
        s.X_bar = synthetic_normal(ctx, 3, columns, 6);
        fine = s.t && mo_ok(ctx);
        for (int adjoint = 0; fine && adjoint < 2; adjoint++) {
            s.adjoint = adjoint;
            fine = run_variant(ctx, o, &s, size, &record);
        }
        mo_tape_release(s.t);
        mo_tensor_release(s.A);
        mo_tensor_release(s.B);
        mo_tensor_release(s.X_bar);
    }
    return fine;
}

bool bench_solve(mo_context *ctx, const bench_options *o) {
    double rate = bench_gemm_rate(ctx, o);
    bool fine = mo_ok(ctx);
    for (int i = 0; i < o->cases.count && fine; i++)
        fine = run_solve_case(ctx, o, o->cases.items[i], rate);
    for (int64_t n = 4; !o->cases.count && n <= 512; n *= 2)
        for (int64_t batch = 1; batch <= 4096 && fine; batch *= 8)
            if (batch * n * n <= LARGEST_STANDARD) {
                char name[64];
                snprintf(name, sizeof name, "%lldx%lld", (long long)batch, (long long)n);
                fine = run_solve_case(ctx, o, name, rate);
            }
    return mo_ok(ctx);
}
