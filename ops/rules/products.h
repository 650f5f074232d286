/* ops/rules/products.h - several products at once (library internal). */
#ifndef MO_PRODUCTS_H
#define MO_PRODUCTS_H

#include "tensor/backend.h"

/* Computes the products g[0] .. g[n - 1], n > 0, of one dtype: queued together if the device has gemms
 * (tensor/backend.h), else one after the other. */
void mo_multiply(mo_context *ctx, const mo_gemm *g, int n);

#endif
