/* tensor/cpu/random.c - random numbers by position: element i is the number at position r + i. */
#include "tensor/cpu/kernels.h"
#include "tensor/philox.h"

void REAL(dropout_mask_cpu)(mo_context *ctx, double rate, const mo_random *r, const mo_view *mask) {
    int64_t n = leading(mask, mask->ndim);
    real *y = mask->data, kept = (real)(1 / (1 - rate));
    int threads = threads_for(ctx, 4 * n);
#pragma omp parallel num_threads(threads) if (threads > 1)
    {
        const unsigned mode __attribute__((cleanup(restore_mode))) = usual_mode();
#pragma omp for schedule(static, MO_TASK) nowait
        for (int64_t i = 0; i < n; i++) {
            uint32_t word[4];
            mo_philox(r, (uint64_t)i, word);
            y[i] = mo_philox_uniform(word) < rate ? 0 : kept;
        }
    }
}

void REAL(random_cpu)(mo_context *ctx, bool normal, double a, double b, const mo_random *r, const mo_view *y) {
    int64_t n = leading(y, y->ndim);
    real *out = y->data;
    int threads = threads_for(ctx, 4 * n);
#pragma omp parallel num_threads(threads) if (threads > 1)
    {
        const unsigned mode __attribute__((cleanup(restore_mode))) = usual_mode();
#pragma omp for schedule(static, MO_TASK) nowait
        for (int64_t i = 0; i < n; i++) {
            uint32_t word[4];
            mo_philox(r, (uint64_t)i, word);
            out[i] = (real)(normal ? a + b * mo_philox_normal(word) : a + (b - a) * mo_philox_uniform(word));
        }
    }
}
