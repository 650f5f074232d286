/* train/graphs/draw.c - seeded choices without repetition. */
#include "train/graphs/draw.h"
#include "tensor/library.h"

#include <stdlib.h>

void mo_draw_front(mo_random *r, int64_t *items, int64_t n, int64_t m) {
    for (int64_t i = 0; i < m; i++) {
        int64_t j = i + mo_random_below(r, n - i), swap = items[i];
        items[i] = items[j];
        items[j] = swap;
    }
}

/* m distinct numbers below n, ascending, m at most n / 2. Draws as many numbers as are missing and drops repetitions,
 * until none is missing: the result is the first m distinct numbers of an endless sequence, so every set is equally
 * likely. */
static void draw_sparse(mo_random *r, int64_t n, int64_t m, int64_t *drawn) {
    for (int64_t have = 0; have < m;) {
        for (int64_t i = have; i < m; i++)
            drawn[i] = mo_random_below(r, n);
        have = mo_sort_distinct(drawn, m);
    }
}

int64_t *mo_draw_distinct(mo_context *ctx, mo_random *r, int64_t n, int64_t m) {
    int64_t excluded = n - m;
    int64_t *drawn = mo_host_array(ctx, m, sizeof *drawn);
    int64_t *others = m > excluded ? mo_host_array(ctx, excluded, sizeof *others) : NULL;
    if (!drawn || (m > excluded && !others)) {
        free(drawn);
        free(others);
        return NULL;
    }
    if (!others) {
        draw_sparse(r, n, m, drawn);
    } else {
        draw_sparse(r, n, excluded, others);
        for (int64_t value = 0, next = 0, count = 0; value < n; value++) {
            if (next < excluded && others[next] == value)
                next++;
            else
                drawn[count++] = value;
        }
        free(others);
    }
    mo_random_shuffle(r, drawn, m);
    return drawn;
}
