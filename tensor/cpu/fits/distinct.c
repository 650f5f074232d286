/* tensor/cpu/fits/distinct.c - finding rows that are copies of one another, with a hash table of the rows so far. */
#include "tensor/cpu/fits/distinct.h"

#include <string.h>

enum { LANES_OF_HASH = 16 };

int64_t distinct_layout(distinct *t, int64_t rows, real *scratch) {
    int64_t slots = 16;
    while (slots < 2 * rows)
        slots *= 2;
    int32_t *words = (int32_t *)scratch;
    *t = (distinct){words, words ? words + rows : NULL, words ? words + 2 * rows : NULL, slots};
    return (2 * rows + slots) * (int64_t)sizeof *words / (int64_t)sizeof(real) + 1;
}

/* Sixteen hashes side by side, joined into one. */
static uint64_t hash(const real *row, int64_t d) {
    const unsigned char *bytes = (const unsigned char *)row;
    int64_t length = d * (int64_t)sizeof *row;
    uint32_t lane[LANES_OF_HASH] = {0}, word[LANES_OF_HASH];
    for (int64_t at = 0; at < length; at += (int64_t)sizeof word) {
        int64_t left = length - at;
        memset(word, 0, sizeof word);
        memcpy(word, bytes + at, left < (int64_t)sizeof word ? (size_t)left : sizeof word);
        for (int i = 0; i < LANES_OF_HASH; i++)
            lane[i] = (lane[i] ^ word[i]) * 0x9e3779b1u;
    }
    uint64_t h = 0;
    for (int i = 0; i < LANES_OF_HASH; i++)
        h = (h ^ (lane[i] >> 15) ^ lane[i]) * 0x9e3779b97f4a7c15u;
    return h >> 32;
}

int64_t distinct_number(const distinct *t, const real *X, int64_t d, int64_t from, int64_t to, int64_t count) {
    memset(t->table, -1, (size_t)t->slots * sizeof *t->table);
    for (int64_t i = from; i < to; i++) {
        const real *row = X + i * d;
        uint64_t at = hash(row, d) & (uint64_t)(t->slots - 1);
        while (t->table[at] >= 0 && memcmp(X + t->first[t->table[at]] * d, row, (size_t)d * sizeof *row) != 0)
            at = (at + 1) & (uint64_t)(t->slots - 1);
        if (t->table[at] < 0) {
            t->first[count] = (int32_t)i;
            t->table[at] = (int32_t)count++;
        }
        t->of[i] = t->table[at];
    }
    return count;
}
