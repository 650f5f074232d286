/* tensor/cuda/checks.h - the checks that a context has noted and not yet read. */
#ifndef MO_CUDA_CHECKS_H
#define MO_CUDA_CHECKS_H

#include "tensor/cuda/device.h"

bool checks_open(mo_context *ctx); /* false: no memory */
void checks_close(mo_context *ctx);
/* Waits until all queued work has run, and raises the first error that a check or the device has found. */
void checks_wait(mo_context *ctx);
void check_cuda(mo_context *ctx, const mo_check *check);

#endif
