/* train/run/compare_ranks.c - whether the processes of a command run the same program on the same inputs. */
#include "tensor/files/number_text.h"
#include "tensor/storage.h"
#include "train/ranks/ranks.h"
#include "train/run/trainer.h"

#include <stdlib.h>
#include <string.h>

/* The object with what else must be the same on every rank. NULL on failure. */
static char *describe_rank(mo_context *ctx, const mo_ranks *ranks, const char *mine) {
    json_error_t error;
    json_t *all = mine ? mo_json_decode(mine, strlen(mine), 0, &error) : NULL;
    bool whole = json_is_object(all) && !json_object_set_new(all, "version", json_string(MO_VERSION)) &&
                 !json_object_set_new(all, "program", json_string(ranks->program ? ranks->program : "")) &&
                 !json_object_set_new(all, "blas_core", json_string(mo_blas_core())) &&
                 !json_object_set_new(all, "deterministic", json_boolean(ranks->deterministic));
    char *text = whole ? mo_json_encode(all, JSON_COMPACT | JSON_REAL_PRECISION(17)) : NULL;
    json_decref(all);
    if (!text)
        mo_fail(ctx, MO_MEMORY, "out of memory for what the processes compare");
    return text;
}

static void compare_texts(mo_context *ctx, const char *command, const char *first, size_t n, const char *mine) {
    json_error_t error;
    json_t *of_first = mo_json_decode(first, n, 0, &error), *now = mo_json_decode(mine, strlen(mine), 0, &error);
    if (of_first && now)
        mo_compare_with_first(ctx, command, of_first, now);
    else
        mo_fail(ctx, MO_MEMORY, "%s: out of memory for what the processes compare", command);
    json_decref(of_first);
    json_decref(now);
}

bool mo_ranks_compare(mo_context *ctx, const mo_ranks *ranks, const char *command, const char *mine) {
    if (!ctx || !ranks || ranks->size < 2)
        return ctx && mo_ok(ctx);
    if (!mo_ranks_agree(ctx, ranks, true))
        return false;
    char *text = describe_rank(ctx, ranks, mine);
    uint64_t n = text ? strlen(text) : 0;
    mo_ranks_broadcast(ranks, &n, sizeof n);
    char *first = mo_ok(ctx) ? mo_host_alloc(ctx, n + 1) : NULL;
    bool same = mo_ranks_agree(ctx, ranks, true);
    if (same) {
        if (!ranks->rank)
            memcpy(first, text, n);
        mo_ranks_broadcast(ranks, first, n);
        compare_texts(ctx, command, first, n, text);
        same = mo_ranks_agree(ctx, ranks, true);
    }
    mo_host_free(ctx, first, n + 1);
    free(text);
    return same;
}
