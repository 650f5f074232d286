/* tools/web/page.h - the engine as a page calls it: one request of text, one answer of JSON. */
#ifndef PAGE_H
#define PAGE_H

#include "tools/explain/lesson.h"

/* Returns room for a request of `bytes` bytes and a null byte, which the page owns until the next call; NULL without
 * memory. */
char *page_request(int bytes);
/* Answers the request (page.c lists all) by a JSON object, valid until the next call. The object has "error" if the
 * request failed. */
const char *page_answer(void);

/* unroll.c: K steps X <- X - (A X - B) from zero: the relative errors of X_K, and of the gradients of <X_bar, X> in A;
 * n: unknowns; radius: of I - A, by which a step shrinks the error; seed: of A, B and X_bar. */
typedef struct unrolled_steps {
    double X, unrolled, implicit, neumann;
    int64_t unrolled_bytes, implicit_bytes; /* of the tape at its peak */
} unrolled_steps;
unrolled_steps page_unroll(mo_context *ctx, int64_t n, double radius, uint64_t seed, int64_t K);

/* exercises.c: an exercise as an op whose rule is the reader's formula, judged by the checker of gradients. */
json_t *page_exercises(void);
json_t *page_judge(mo_context *ctx, int number, const char *formula);

#endif
