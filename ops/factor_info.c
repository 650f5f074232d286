/* ops/factor_info.c - from LAPACK-style info words to errors that name the matrix. */
#include "ops/factor_info.h"

#include <inttypes.h>
#include <stdio.h>

mo_tensor *mo_factor_info(mo_call *c, const mo_tensor *X) {
    mo_tensor *info = mo_call_temporary(c, MO_I32, X->ndim - 2, X->shape);
    if (!mo_is_null(info))
        mo_tensor_fill(info, 0);
    return info;
}

#pragma GCC diagnostic ignored "-Wformat-nonliteral"
static bool fail_matrix(mo_call *c, int64_t i, int64_t batch, int word, const char *defect) {
    char reason[160], which[80] = "the matrix";
    if (word == -1)
        snprintf(reason, sizeof reason, "holds a value that is not finite");
    else if (word == -2)
        snprintf(reason, sizeof reason, "is singular to working precision");
    else
        snprintf(reason, sizeof reason, defect, word);
    if (c->in[0]->ndim > 2)
        snprintf(which, sizeof which, "matrix %" PRId64 " of %" PRId64, i, batch);
    return mo_call_fail(c, MO_NUMERICAL, "%s %s", which, reason);
}

bool mo_check_factor_info(mo_call *c, const mo_tensor *info, const char *defect) {
    int64_t batch = mo_numel(info);
    int32_t words[256];
    mo_view v = mo_tensor_view(info);
    for (int64_t first = 0; first < batch && mo_ok(c->ctx); first += 256) {
        int64_t n = batch - first < 256 ? batch - first : 256;
        c->ctx->backend->download(c->ctx, words, (int32_t *)v.data + first, (size_t)n * sizeof *words);
        for (int64_t i = 0; i < n; i++)
            if (words[i])
                return fail_matrix(c, first + i, batch, words[i], defect);
    }
    return mo_ok(c->ctx);
}
