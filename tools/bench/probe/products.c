/* tools/bench/probe/products.c - cuBLASLt's epilogues for a step's products in each math mode, the time of its search,
 * and its treatment of NaN and of the low bits of float32. */
#include "tools/bench/probe/probe.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { LONG_ROWS = 6144, MATHS = 3, SEARCHES = 40 };
static const char *const math_name[MATHS] = {"fp32", "tf32", "bf16"};

/* Matrices large enough for every product, as float32 and as bfloat16. */
typedef struct operands {
    float *wide[2];
    uint16_t *narrow[2];
    float *C, *vector;
} operands;

/* Returns a bfloat16 copy on the device: the upper 16 bits of each of n float32. */
static uint16_t *halves(const probe *p, const float *wide, int64_t n) {
    uint32_t *from = malloc((size_t)n * sizeof *from);
    uint16_t *to = malloc((size_t)n * sizeof *to), *device = probe_memory(p, (size_t)n * sizeof *to);
    if (!from || !to)
        probe_stop("memory", NULL);
    probe_receive(p, from, wide, (size_t)n * sizeof *from);
    for (int64_t i = 0; i < n; i++)
        to[i] = (uint16_t)(from[i] >> 16);
    probe_send(p, device, to, (size_t)n * sizeof *to);
    free(from);
    free(to);
    return device;
}

static operands make_operands(const probe *p) {
    int64_t most = LONG_ROWS * (p->dry ? 1 : p->d);
    operands o = {.C = probe_memory(p, (size_t)most * sizeof(float))};
    for (int i = 0; i < 2; i++) {
        o.wide[i] = probe_values(p, most, 1);
        o.narrow[i] = halves(p, o.wide[i], most);
    }
    o.vector = probe_values(p, most / p->d + p->d, 1);
    return o;
}

static void release_operands(const probe *p, operands *o) {
    for (int i = 0; i < 2; i++) {
        seam_release(p->s, o->wide[i]);
        seam_release(p->s, o->narrow[i]);
    }
    seam_release(p->s, o->C);
    seam_release(p->s, o->vector);
}

/* One matrix product of a step, column-major: C [m, n], the sum of k terms per entry. */
typedef struct product {
    const char *name;
    bool transposed_a, transposed_b;
    int64_t m, n, k;
    bool relu, bias, sums;
    int batch; /* 0: one product */
} product;

static int64_t whole_eights(int64_t n) {
    return (n + 7) / 8 * 8;
}

/* Gives the operands the layout of bf16 copies (tensor/cuda/gemm.cu): a single row is stored as a column, and columns
 * are aligned. */
static void lie_as_copies(seam_gemm *g) {
    g->transposed_a ^= (g->transposed_a ? g->k : g->m) == 1;
    g->transposed_b ^= (g->transposed_b ? g->n : g->k) == 1;
    g->lda = whole_eights(g->transposed_a ? g->k : g->m);
    g->ldb = whole_eights(g->transposed_b ? g->n : g->k);
    g->stride_a = g->batch > 1 ? g->lda * (g->transposed_a ? g->m : g->k) : 0;
    g->stride_b = g->batch > 1 ? g->ldb * (g->transposed_b ? g->k : g->n) : 0;
}

static seam_gemm gemm_of(const product *w, const operands *o, int math) {
    bool narrow = math == 2;
    seam_gemm g = {
        .input = narrow ? SEAM_BF16 : SEAM_F32, .math = math == 1 ? SEAM_TF32 : SEAM_FULL, .batch = 1, .alpha = 1};
    g.transposed_a = w->transposed_a, g.transposed_b = w->transposed_b;
    g.m = w->m, g.n = w->n, g.k = w->k;
    g.A = narrow ? (const void *)o->narrow[0] : o->wide[0];
    g.B = narrow ? (const void *)o->narrow[1] : o->wide[1];
    g.C = o->C;
    g.lda = w->transposed_a ? w->k : w->m;
    g.ldb = w->transposed_b ? w->n : w->k;
    g.ldc = w->m;
    if (w->batch)
        g.batch = w->batch, g.stride_a = w->m * w->k, g.stride_b = w->k * w->n, g.stride_c = w->m * w->n;
    if (narrow)
        lie_as_copies(&g);
    g.stride_vector = w->batch ? w->m : 0;
    g.relu = w->relu;
    g.bias = w->bias ? o->vector : NULL;
    g.sums = w->sums ? o->vector : NULL;
    return g;
}

static const char *multiply(seam *s, const void *of) {
    return seam_multiply(s, of);
}

static void ask(const probe *p, const product *w, const operands *o) {
    char what[96];
    for (int math = 0; math < MATHS; math++) {
        seam_gemm g = gemm_of(w, o, math);
        double begin = probe_now_us();
        bool there = seam_epilogue(p->s, &g);
        double us = probe_now_us() - begin;
        printf("{\"what\":\"search %s %s\",\"algorithm\":%s,\"us\":%.1f}\n", w->name, math_name[math],
            there ? "true" : "false", us);
        snprintf(what, sizeof what, "%s %s", w->name, math_name[math]);
        if (there)
            probe_measure(p, what, multiply, &g);
    }
}

/* Times cuBLASLt's search for an algorithm on shapes that are new to it, because a training run keeps drawing such
 * shapes. */
static void ask_new_shapes(const probe *p, const operands *o) {
    double us = 0;
    for (int i = 1; i <= SEARCHES; i++) {
        product w = {"", true, false, p->d, p->rows + i, p->d, .relu = true, .bias = true};
        seam_gemm g = gemm_of(&w, o, 1);
        double begin = probe_now_us();
        seam_epilogue(p->s, &g);
        us += probe_now_us() - begin;
    }
    printf("{\"what\":\"search of %d new shapes\",\"mean_us\":%.1f}\n", SEARCHES, us / SEARCHES);
}

void probe_products(const probe *p) {
    int64_t N = p->rows, d = p->d, all = p->dry ? N : LONG_ROWS;
    const product products[] = {
        {"layer: relu, bias", true, false, d, N, d, .relu = true, .bias = true},
        {"score of one column: bias", false, false, 1, N, d, .bias = true},
        {"gradient of the weights: sums", false, true, d, d, N, .sums = true},
        {"gradient of the weights: plain", false, true, d, d, N, .sums = false},
        {"gradient of the score's weights: sums", false, true, d, 1, N, .sums = true},
        {"layer of all hops: relu, bias", true, false, d, 4 * N, d, .relu = true, .bias = true},
        {"layers of 4 hops in a batch: relu, bias", true, false, d, N, d, .relu = true, .bias = true, .batch = 4},
        {"layer of many rows: relu, bias", true, false, d, all, d, .relu = true, .bias = true},
        {"gradient of many rows: sums", false, true, d, d, all, .sums = true},
        {"gradient of many rows: plain", false, true, d, d, all},
    };
    operands o = make_operands(p);
    for (size_t i = 0; i < sizeof products / sizeof *products; i++)
        ask(p, &products[i], &o);
    ask_new_shapes(p, &o);
    release_operands(p, &o);
}

/* ---- values ---- */

/* Returns the first entry of the product's result; NaN if the product is refused. */
static float first_of(const probe *p, const seam_gemm *g) {
    float value = NAN;
    if (!seam_multiply(p->s, g))
        probe_receive(p, &value, g->C, sizeof value);
    return value;
}

/* Asks whether the epilogue relu keeps a NaN, which relu as max(x, 0) can drop. */
static void ask_relu(const probe *p, const operands *o) {
    const float nan = NAN;
    product layer = {"", true, false, p->d, p->rows, p->d, .relu = true, .bias = true};
    for (int math = 0; math < MATHS - 1; math++) {
        seam_gemm g = gemm_of(&layer, o, math);
        probe_send(p, o->wide[1], &nan, sizeof nan);
        if (seam_epilogue(p->s, &g))
            printf("{\"what\":\"relu of NaN %s\",\"is_nan\":%s}\n", math_name[math],
                isnan(first_of(p, &g)) ? "true" : "false");
        probe_send(p, o->wide[1], &(float){1}, sizeof nan);
    }
}

/* CUBLAS_COMPUTE_32F_FAST_TF32 allows TF32 but does not guarantee it: an odd shape may be computed in float32. */
static void ask_tf32(const probe *p, const operands *o) {
    static const int64_t shapes[][3] = {{7, 70, 33}, {9, 31, 17}, {16, 9, 32}, {5, 36, 20}, {40, 70, 64}};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        product w = {"", true, false, shapes[i][0], shapes[i][1], shapes[i][2], .relu = false};
        float found[2][40 * 70];
        double largest = 0;
        for (int math = 0; math < 2; math++) {
            seam_gemm g = gemm_of(&w, o, math);
            if (seam_multiply(p->s, &g))
                return;
            probe_receive(p, found[math], o->C, (size_t)(w.m * w.n) * sizeof(float));
        }
        for (int64_t j = 0; j < w.m * w.n; j++)
            if (fabs((double)found[0][j] - found[1][j]) > largest) /* GCC 12 for Arm fails at fmax */
                largest = fabs((double)found[0][j] - found[1][j]);
        printf("{\"what\":\"tf32 - fp32 of %lld x %lld x %lld\",\"largest\":%.3g}\n", (long long)w.m, (long long)w.n,
            (long long)w.k, largest);
    }
}

void probe_values_kept(const probe *p) {
    operands o = make_operands(p);
    ask_relu(p, &o);
    ask_tf32(p, &o);
    release_operands(p, &o);
}
