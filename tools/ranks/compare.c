/* tools/ranks/compare.c - whether the processes of a run have the same program and settings. */
#include "tensor/cpu/fast/onednn.h"
#include "tensor/files/number_text.h"
#include "tools/ranks/ranks.h"
#include "train/run/trainer.h"

#include <stdlib.h>
#include <string.h>

/* The settings and everything else that must be equal on every rank. NULL on failure. */
static char *describe_rank(mo_context *ctx, const ranks_group *ranks, const char *mine) {
    json_error_t error;
    mo_description d = mo_description_of(mine ? mo_json_decode(mine, strlen(mine), 0, &error) : NULL);
    mo_describe(&d, "version", json_string(MO_VERSION));
    mo_describe(&d, "program", json_string(ranks->program ? ranks->program : ""));
    mo_describe(&d, "blas_core", json_string(mo_blas_core()));
    mo_describe(&d, "onednn", json_string(onednn_kernels()));
    json_t *all = mo_description_end(&d);
    char *text = all ? mo_json_encode(all, JSON_COMPACT | JSON_REAL_PRECISION(17)) : NULL;
    json_decref(all);
    if (!text)
        mo_fail(ctx, MO_MEMORY, "out of memory for what the processes compare");
    return text;
}

static void compare_texts(mo_context *ctx, const char *first, size_t n, const char *mine) {
    json_error_t error;
    json_t *of_first = mo_json_decode(first, n, 0, &error), *now = mo_json_decode(mine, strlen(mine), 0, &error);
    mo_difference d = {0};
    if (!of_first || !now)
        mo_fail(ctx, MO_MEMORY, "train: out of memory for what the processes compare");
    else if (mo_settings_differ(&d, of_first, now)) {
        char *expected = mo_setting_text(d.kept), *found = mo_setting_text(d.now);
        mo_fail(ctx, MO_INVALID, "train: expected %s = %.200s, as rank 0 has it, found %.200s", d.path,
            expected ? expected : "nothing", found ? found : "nothing");
        free(expected);
        free(found);
    }
    json_decref(of_first);
    json_decref(now);
}

bool ranks_compare(mo_context *ctx, const ranks_group *ranks, const char *mine) {
    if (!ranks_agree(ctx, ranks, true))
        return false;
    char *text = describe_rank(ctx, ranks, mine);
    uint64_t n = text ? strlen(text) : 0;
    ranks_broadcast(ranks, &n, sizeof n);
    char *first = mo_ok(ctx) ? mo_host_alloc(ctx, n + 1) : NULL;
    bool same = ranks_agree(ctx, ranks, true);
    if (same) {
        if (!ranks->rank)
            memcpy(first, text, n);
        ranks_broadcast(ranks, first, n);
        compare_texts(ctx, first, n, text);
        same = ranks_agree(ctx, ranks, true);
    }
    mo_host_free(ctx, first, n + 1);
    free(text);
    return same;
}
