/* train/graphs/draw.h - seeded choices without repetition (library internal). */
#ifndef MO_DRAW_H
#define MO_DRAW_H

#include "tensor/inside.h"

/* Draws m of the numbers 0..n-1, each set equally likely, in random order; m <= n. Time and memory grow with m, not n,
 * unless m is over half of n. Returns NULL when out of memory; the caller frees the result with free(). */
int64_t *mo_draw_distinct(mo_context *ctx, mo_random *r, int64_t n, int64_t m);
/* Moves m items, drawn without replacement, to the front of the n items, in the order drawn. */
void mo_draw_front(mo_random *r, int64_t *items, int64_t n, int64_t m);

#endif
