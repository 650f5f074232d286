/* tensor/files/expansion.c - how far a compressed file may unfold. */
#include "tensor/files/expansion.h"

#include "tensor/storage.h"

#include <inttypes.h>

#define ALWAYS ((int64_t)64 << 20)
#define MOST ((double)((int64_t)1 << 62))

int64_t mo_expansion_limit(const mo_context *ctx, int64_t file_bytes) {
    double beyond = ctx->max_expand * (double)file_bytes;
    return beyond < MOST ? ALWAYS + (int64_t)beyond : INT64_MAX;
}

void mo_expansion_fail(mo_context *ctx, const char *label, int64_t file_bytes) {
    mo_fail(ctx, MO_FORMAT,
        "%s: expected to unfold to at most %" PRId64 " bytes (64 MiB and %g times the file), found more: a larger "
        "--max-expand (max_expand of the context) lets it",
        label, mo_expansion_limit(ctx, file_bytes), ctx->max_expand);
}
