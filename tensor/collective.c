/* tensor/collective.c - sums over the devices of several processes, one device each. */
#include "tensor/storage.h"

bool mo_can_sum_ranks(const mo_context *ctx) {
    const mo_collective *c = ctx->backend->collective;
    return mo_ok(ctx) && c && !c->missing();
}

void mo_identify_device(mo_context *ctx, unsigned char device[MO_DEVICE_BYTES]) {
    ctx->backend->collective->identify(ctx, device);
}

bool mo_name_group(mo_context *ctx, unsigned char name[MO_GROUP_BYTES]) {
    return mo_ok(ctx) && ctx->backend->collective->name(ctx, name);
}

bool mo_join_group(mo_context *ctx, const unsigned char name[MO_GROUP_BYTES], int rank, int size) {
    return mo_ok(ctx) && ctx->backend->collective->join(ctx, name, rank, size);
}

void mo_leave_group(mo_context *ctx, bool abandon) {
    ctx->backend->collective->leave(ctx, abandon);
}

mo_code mo_sum_ranks(mo_tensor *X) {
    mo_context *ctx = mo_tensor_context(X);
    mo_view x = mo_tensor_view(X);
    if (mo_ok(ctx) && (X->dtype != MO_F32 || !mo_is_contiguous(X)))
        mo_fail(ctx, MO_INVALID, "sum over ranks: expected a contiguous tensor of float32");
    if (!mo_ok(ctx))
        return mo_code_of(ctx);
    X->storage->version++;
    ctx->backend->collective->sum(ctx, &x);
    return mo_code_of(ctx);
}
