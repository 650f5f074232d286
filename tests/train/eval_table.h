/* tests/train/eval_table.h - the rows of an evaluation, kept. */
#ifndef EVAL_TABLE_H
#define EVAL_TABLE_H

#include "tests/suite.h"
#include "train/inside.h"

enum { MAX_ROWS = 256 };

typedef struct table {
    int n;
    mo_eval_row row[MAX_ROWS];
} table;

static inline void keep_row(const mo_eval_row *row, void *state) {
    table *t = state;
    assert_true(t->n < MAX_ROWS);
    t->row[t->n++] = *row;
}

static inline double mean_of(const table *t, const char *features, int64_t k, const char *metric) {
    for (int i = 0; i < t->n; i++)
        if (!strcmp(t->row[i].features, features) && t->row[i].k == k && !strcmp(t->row[i].metric, metric))
            return t->row[i].mean;
    fail_msg("no row %s, k = %lld, %s", features, (long long)k, metric);
    return NAN;
}

/* Fails unless two evaluations have the same figures, which are not none. */
static inline void assert_same_means(const table *a, const table *b) {
    assert_true(a->n > 0);
    assert_int_equal(a->n, b->n);
    for (int i = 0; i < a->n; i++)
        assert_memory_equal(&a->row[i].mean, &b->row[i].mean, sizeof(double));
}

#endif
