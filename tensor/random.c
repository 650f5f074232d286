/* tensor/random.c - random numbers on the host: the same numbers that kernels draw by position (tensor/philox.h). */
#include "tensor/inside.h"
#include "tensor/philox.h"

#include <math.h>

mo_random mo_random_at(uint64_t seed, uint32_t purpose, uint64_t stream) {
    return (mo_random){.seed = seed, .purpose = purpose, .stream = stream};
}

/* The words at r, which moves on. Returns false if r is NULL. */
static bool draw(mo_random *r, uint32_t word[4]) {
    if (!r)
        return false;
    mo_philox(r, 0, word);
    r->index++;
    return true;
}

uint64_t mo_random_bits(mo_random *r) {
    uint32_t word[4];
    return draw(r, word) ? (uint64_t)word[0] << 32 | word[1] : 0;
}

double mo_random_uniform(mo_random *r) {
    uint32_t word[4];
    return draw(r, word) ? mo_philox_uniform(word) : NAN;
}

double mo_random_normal(mo_random *r) {
    uint32_t word[4];
    return draw(r, word) ? mo_philox_normal(word) : NAN;
}

/* Multiply and reject (Lemire 2019): draws that would make some results more likely than others are rejected. */
int64_t mo_random_below(mo_random *r, int64_t n) {
    if (!r)
        return 0;
    uint64_t range = n > 0 ? (uint64_t)n : 1;
    uint64_t threshold = (0 - range) % range;
    for (;;) {
        unsigned __int128 product = (unsigned __int128)mo_random_bits(r) * range;
        if ((uint64_t)product >= threshold)
            return (int64_t)(product >> 64);
    }
}

void mo_random_shuffle(mo_random *r, int64_t *items, int64_t n) {
    for (int64_t i = n - 1; items && i > 0; i--) {
        int64_t j = mo_random_below(r, i + 1), swap = items[i];
        items[i] = items[j];
        items[j] = swap;
    }
}
