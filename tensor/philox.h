/* tensor/philox.h - the random numbers of one position (Philox4x32-10, Salmon et al. 2011), for host and device.
 *
 * The counter is {index low, index high, episode low, episode high 16 bits | purpose << 16} and the key is the seed,
 * so a position alone decides the number: no state, no order, no thread. */
#ifndef MO_PHILOX_H
#define MO_PHILOX_H

#include "tensor/tensor.h"

#include <Random123/philox.h>
#include <math.h>

#ifndef MO_PHILOX
#define MO_PHILOX static inline /* CUDA: static __host__ __device__ inline */
#endif

/* The four words at the position r, `ahead` draws further. */
MO_PHILOX philox4x32_ctr_t philox_words(const mo_random *r, uint64_t ahead) {
    uint64_t index = r->index + ahead;
    philox4x32_ctr_t counter = {{(uint32_t)index, (uint32_t)(index >> 32), (uint32_t)r->episode,
        ((uint32_t)(r->episode >> 32) & 0xffff) | r->purpose << 16}};
    philox4x32_key_t key = {{(uint32_t)r->seed, (uint32_t)(r->seed >> 32)}};
    return philox4x32_R(10, counter, key);
}

/* [0, 1) with 53 bits from two words. */
MO_PHILOX double philox_fraction(uint32_t low, uint32_t high) {
    return (double)(((uint64_t)high << 32 | low) >> 11) * 0x1p-53;
}

MO_PHILOX double philox_uniform(const mo_random *r, uint64_t ahead) {
    philox4x32_ctr_t w = philox_words(r, ahead);
    return philox_fraction(w.v[0], w.v[1]);
}

/* Box-Muller: 1 - u lies in (0, 1], where the logarithm is finite. */
MO_PHILOX double philox_normal(const mo_random *r, uint64_t ahead) {
    philox4x32_ctr_t w = philox_words(r, ahead);
    double radius = sqrt(-2 * log(1 - philox_fraction(w.v[0], w.v[1])));
    return radius * cos(6.283185307179586476925 * philox_fraction(w.v[2], w.v[3]));
}

#endif
