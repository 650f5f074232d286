/* tools/lessons/numpy_random.h - the stream of NumPy's default_rng(seed), number for number: for experiments that a
 * NumPy program defines. Everything else draws from the streams of tensor/tensor.h, which have positions. */
#ifndef NUMPY_RANDOM_H
#define NUMPY_RANDOM_H

#include <stdbool.h>
#include <stdint.h>

enum { ZIGGURAT_LAYERS = 256 };

/* Layers of equal area under exp(-x^2 / 2), the widest first with the tail, then from the top down. */
typedef struct ziggurat {
    double tail;                      /* where the tail begins */
    double width[ZIGGURAT_LAYERS];    /* width of a layer, as a multiple of 2^-52 */
    double height[ZIGGURAT_LAYERS];   /* height of the curve at the layer's end */
    uint64_t inside[ZIGGURAT_LAYERS]; /* below inside * 2^-52 of its width a point is under the curve */
} ziggurat;

typedef struct numpy_random {
    unsigned __int128 state, increment;
    uint32_t half; /* the upper half of a word whose lower half was drawn */
    bool half_waits;
    ziggurat normal;
} numpy_random;

/* default_rng(seed) */
numpy_random numpy_random_at(uint64_t seed);
uint64_t numpy_random_bits(numpy_random *r);
/* random(), in [0, 1) */
double numpy_random_uniform(numpy_random *r);
/* standard_normal() */
double numpy_random_normal(numpy_random *r);
/* shuffle(items), and what permutation(items) returns; n below 2^32. */
void numpy_random_shuffle(numpy_random *r, int64_t *items, int64_t n);

#endif
