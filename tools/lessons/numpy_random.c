/* tools/lessons/numpy_random.c - NumPy's default generator, written after the publications:
 *     seeds      a hashed pool of entropy (O'Neill, Developing a seed_seq alternative, 2015)
 *     bits       PCG64, XSL-RR 128/64 (O'Neill 2014)
 *     normals    the ziggurat of 256 layers (Marsaglia and Tsang 2000)
 *     shuffles   from the last item down (Durstenfeld 1964), each place drawn by the fewest
 *                bits that hold it; numbers beyond it are rejected */
#include "tools/lessons/numpy_random.h"

#include <math.h>

/* ---- seeds ---- */

enum { POOL = 4 };

/* Hashes a word by multiplication; the constant advances to its next multiple. */
static uint32_t seed_hash(uint32_t word, uint32_t *constant, uint32_t multiplier) {
    word ^= *constant;
    *constant *= multiplier;
    word *= *constant;
    return word ^ word >> 16;
}

static uint32_t seed_mix(uint32_t a, uint32_t b) {
    uint32_t word = 0xca01f9ddu * a - 0x4973f715u * b;
    return word ^ word >> 16;
}

/* Every word of the pool reaches every other; absent entropy counts as 0. */
static void fill_pool(uint32_t pool[POOL], uint64_t seed) {
    uint32_t constant = 0x43b0d7e5u, multiplier = 0x931e8875u;
    for (int i = 0; i < POOL; i++)
        pool[i] = seed_hash(i < 2 ? (uint32_t)(seed >> 32 * i) : 0, &constant, multiplier);
    for (int from = 0; from < POOL; from++)
        for (int to = 0; to < POOL; to++)
            if (to != from)
                pool[to] = seed_mix(pool[to], seed_hash(pool[from], &constant, multiplier));
}

/* 64 bits of state from two words of the pool, in turn, the lower first. */
static uint64_t draw_state(const uint32_t pool[POOL], int *word, uint32_t *constant) {
    uint64_t low = seed_hash(pool[(*word)++ % POOL], constant, 0x58f38dedu);
    uint64_t high = seed_hash(pool[(*word)++ % POOL], constant, 0x58f38dedu);
    return high << 32 | low;
}

/* ---- bits ---- */

static unsigned __int128 pcg64_wide(uint64_t high, uint64_t low) {
    return (unsigned __int128)high << 64 | low;
}

static void pcg64_step(numpy_random *r) {
    r->state = r->state * pcg64_wide(0x2360ed051fc65da4u, 0x4385df649fccf645u) + r->increment;
}

/* The halves of the state exclusive-or'ed, rotated by its six upper bits. */
uint64_t numpy_random_bits(numpy_random *r) {
    pcg64_step(r);
    uint64_t high = (uint64_t)(r->state >> 64), word = high ^ (uint64_t)r->state;
    unsigned turn = (unsigned)(high >> 58);
    return word >> turn | word << (-turn & 63);
}

double numpy_random_uniform(numpy_random *r) {
    return ldexp((double)(numpy_random_bits(r) >> 11), -53);
}

/* ---- normals ---- */

/* exp(-x^2 / 2), the nearest double. */
static double ziggurat_curve(double x) {
    return (double)expl(-x * x / 2);
}

/* Layers of equal area: a layer that ends at x is area / x high and begins at the curve's height there; the next one
 * ends at its top. NumPy's table was computed this way in double precision, by an exponential that returned the second
 * nearest double once, at layer 38, on which the layers above depend. */
static ziggurat build_ziggurat(void) {
    const double tail = 3.654152885361009, area = 0.004928673233974652, unit = 0x1p52;
    const int odd_layer = 38;
    double base =
        area / ziggurat_curve(tail); /* the width of a rectangle with the height and the area of the widest layer */
    double end[ZIGGURAT_LAYERS] = {[ZIGGURAT_LAYERS - 1] = tail};
    ziggurat z = {.tail = tail, .width = {base / unit}, .height = {1}, .inside = {(uint64_t)(tail / base * unit)}};
    for (int i = ZIGGURAT_LAYERS - 1; i > 0; i--) {
        z.width[i] = end[i] / unit;
        z.height[i] = i == odd_layer ? nextafter(ziggurat_curve(end[i]), 1) : ziggurat_curve(end[i]);
        end[i - 1] = i > 1 ? sqrt(-2 * log(area / end[i] + z.height[i])) : 0;
        z.inside[i] = (uint64_t)(end[i - 1] / end[i] * unit);
    }
    return z;
}

/* Draws beyond the start of the tail by an exponential and rejection (Marsaglia 1964). */
static double draw_tail(numpy_random *r) {
    for (;;) {
        double x = -log1p(-numpy_random_uniform(r)) * (1 / r->normal.tail), y = -log1p(-numpy_random_uniform(r));
        if (2 * y > x * x)
            return r->normal.tail + x;
    }
}

/* One word gives the layer (8 bits), the sign and the place in the layer (52 bits). */
double numpy_random_normal(numpy_random *r) {
    const ziggurat *z = &r->normal;
    for (;;) {
        uint64_t word = numpy_random_bits(r), place = word >> 9 & 0xfffffffffffffu;
        int layer = (int)(word & 0xff);
        bool negative = word >> 8 & 1;
        double x = (double)place * z->width[layer];
        if (place < z->inside[layer])
            return negative ? -x : x;
        if (layer == 0) { /* here the sign is a bit of the place */
            x = draw_tail(r);
            return place >> 8 & 1 ? -x : x;
        }
        double y = z->height[layer] + (z->height[layer - 1] - z->height[layer]) * numpy_random_uniform(r);
        if (y < exp(-x * x / 2))
            return negative ? -x : x;
    }
}

/* ---- integers ---- */

/* Each word gives two halves, the lower half first. */
static uint32_t draw_half(numpy_random *r) {
    r->half_waits = !r->half_waits;
    if (!r->half_waits)
        return r->half;
    uint64_t word = numpy_random_bits(r);
    r->half = (uint32_t)(word >> 32);
    return (uint32_t)word;
}

/* Draws 0 .. most: takes the fewest bits that hold `most`, until they do not exceed it. */
static uint32_t draw_up_to(numpy_random *r, uint32_t most) {
    uint32_t bits = most, drawn;
    for (int shift = 1; shift < 32; shift *= 2)
        bits |= bits >> shift;
    do
        drawn = draw_half(r) & bits;
    while (drawn > most);
    return drawn;
}

void numpy_random_shuffle(numpy_random *r, int64_t *items, int64_t n) {
    for (int64_t i = n - 1; i > 0; i--) {
        int64_t j = draw_up_to(r, (uint32_t)i), swap = items[i];
        items[i] = items[j];
        items[j] = swap;
    }
}

numpy_random numpy_random_at(uint64_t seed) {
    numpy_random r = {.normal = build_ziggurat()};
    uint32_t pool[POOL], constant = 0x8b51f9ddu;
    uint64_t state[4];
    int word = 0;
    fill_pool(pool, seed);
    for (int i = 0; i < 4; i++)
        state[i] = draw_state(pool, &word, &constant);
    r.increment = pcg64_wide(state[2], state[3]) << 1 | 1;
    pcg64_step(&r);
    r.state += pcg64_wide(state[0], state[1]);
    pcg64_step(&r);
    return r;
}
