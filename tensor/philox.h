/* tensor/philox.h - the random numbers of one position (Philox4x32-10, Salmon et al. 2011), for host and device.
 *
 * The counter is {index low, index high, stream low, stream high 16 bits | purpose << 16} and the key is the seed,
 * so a position alone decides the number: no state, no order, no thread. */
#ifndef MO_PHILOX_H
#define MO_PHILOX_H

#include "tensor/inside.h"

/* Random123 asserts the number of rounds, which is 10 here; the library must contain no assert that could end its
 * host. */
#define R123_ASSERT(x) ((void)0)
#include <Random123/philox.h>
#include <math.h>

#ifndef MO_PHILOX
#define MO_PHILOX static inline /* CUDA: static __host__ __device__ inline */
#endif

/* The four random words at the position `ahead` draws after r. */
MO_PHILOX void mo_philox(const mo_random *r, uint64_t ahead, uint32_t word[4]) {
    uint64_t index = r->index + ahead;
    uint32_t high = ((uint32_t)(r->stream >> 32) & 0xffff) | r->purpose << 16;
    philox4x32_ctr_t counter = {{(uint32_t)index, (uint32_t)(index >> 32), (uint32_t)r->stream, high}};
    philox4x32_key_t key = {{(uint32_t)r->seed, (uint32_t)(r->seed >> 32)}};
    philox4x32_ctr_t words = philox4x32_R(10, counter, key);
    for (int i = 0; i < 4; i++)
        word[i] = words.v[i];
}

/* A number in [0, 1) from the upper 53 of 64 random bits. */
MO_PHILOX double mo_philox_fraction(uint32_t high, uint32_t low) {
    return (double)(((uint64_t)high << 32 | low) >> 11) * 0x1p-53;
}

MO_PHILOX double mo_philox_uniform(const uint32_t word[4]) {
    return mo_philox_fraction(word[0], word[1]);
}

/* Standard normal by Box-Muller: 1 - u lies in (0, 1], where the logarithm is finite. */
MO_PHILOX double mo_philox_normal(const uint32_t word[4]) {
    double radius = sqrt(-2 * log(1 - mo_philox_fraction(word[0], word[1])));
    return radius * cos(6.283185307179586476925 * mo_philox_fraction(word[2], word[3]));
}

#endif
