/* ops/rules/products.c - several products at once. */
#include "ops/rules/products.h"
#include "tensor/objects.h"

void mo_multiply(mo_context *ctx, const mo_gemm *g, int n) {
    const mo_kernels *k = mo_kernels_of(ctx, g->C.dtype);
    if (k->gemms)
        k->gemms(ctx, g, n);
    for (int i = 0; i < n && !k->gemms; i++)
        k->gemm(ctx, &g[i]);
}
