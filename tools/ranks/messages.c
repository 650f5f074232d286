/* tools/ranks/messages.c - messages between the processes of one run. They travel along a binomial tree: in round i,
 * each rank whose lowest set bit is i sends to the rank without that bit. The order of the messages is fixed; no result
 * depends on time. */
#include "tools/ranks/ranks.h"

#include <stdio.h>
#include <string.h>

int ranks_first(int E, int size, int rank) {
    return (int)((int64_t)E * rank / size);
}

void ranks_broadcast(const ranks_group *ranks, void *data, size_t bytes) {
    int lowest = ranks->rank & -ranks->rank;
    if (ranks->rank)
        ranks->receive(ranks->state, ranks->rank - lowest, data, bytes);
    else
        for (lowest = 1; lowest < ranks->size; lowest *= 2)
            ;
    for (int bit = lowest / 2; bit; bit /= 2)
        if (ranks->rank + bit < ranks->size)
            ranks->send(ranks->state, ranks->rank + bit, data, bytes);
}

typedef struct verdict {
    int32_t code, rank; /* the error and the number of the lowest rank that failed */
    int32_t stop;       /* whether a rank wants to stop */
} verdict;

/* The failure of one rank becomes the failure of every rank. */
static void share_failure(mo_context *ctx, const ranks_group *ranks, const verdict *v) {
    char message[sizeof mo_context_status(NULL)->message] = "";
    bool mine = ranks->rank == v->rank;
    if (mine)
        snprintf(message, sizeof message, "%s", mo_context_status(ctx)->message);
    if (mine && v->rank)
        ranks->send(ranks->state, 0, message, sizeof message);
    if (!ranks->rank && v->rank)
        ranks->receive(ranks->state, v->rank, message, sizeof message);
    ranks_broadcast(ranks, message, sizeof message);
    if (mine)
        return;
    mo_clear_error(ctx);
    mo_fail(ctx, (mo_code)v->code, "rank %d of %d: %.900s", v->rank, ranks->size, message);
}

bool ranks_agree(mo_context *ctx, const ranks_group *ranks, bool go_on) {
    if (!ctx || !ranks)
        return ctx && mo_ok(ctx) && go_on;
    if (ranks->parted && *ranks->parted)
        return false;
    verdict v = {.code = mo_context_status(ctx)->code, .rank = ranks->rank, .stop = !go_on}, other;
    for (int bit = 1; bit < ranks->size; bit *= 2) {
        if (ranks->rank & bit) {
            ranks->send(ranks->state, ranks->rank - bit, &v, sizeof v);
            break;
        }
        if (ranks->rank + bit >= ranks->size)
            continue;
        ranks->receive(ranks->state, ranks->rank + bit, &other, sizeof other);
        other.stop |= v.stop;
        if (v.code)
            v.stop = other.stop;
        else
            v = other;
    }
    ranks_broadcast(ranks, &v, sizeof v);
    if (v.code)
        share_failure(ctx, ranks, &v);
    if (v.code && ranks->parted)
        *ranks->parted = true;
    return !v.code && !v.stop;
}
