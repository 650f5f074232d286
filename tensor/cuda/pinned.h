/* tensor/cuda/pinned.h - queued copies out of the caller's page-locked memory. */
#ifndef MO_CUDA_PINNED_H
#define MO_CUDA_PINNED_H

#include "tensor/cuda/device.h"

bool pin_cuda(mo_context *ctx, size_t bytes, mo_pinned *p);
void unpin_cuda(mo_context *ctx, mo_pinned *p);
void send_cuda(mo_context *ctx, void *device, const mo_pinned *p, size_t offset, size_t bytes);
void sent_cuda(mo_context *ctx, const mo_pinned *p);

#endif
