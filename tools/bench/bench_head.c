/* tools/bench/bench_head.c - `mochi bench head`: a batch of equal-shaped episodes through a head in float32, the logits
 * alone, and with the gradients of the queries' cross-entropy in embeddings and parameters.
 *
 * The rows of a class are standard normal about a drawn mean; there are 15 queries per class. GFLOP is the profiler's
 * count over the ops of a run. */
#include "tools/bench/bench.h"
#include "tools/bench/synthetic.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { EPISODES = 0, CLASSES, SHOTS, DIM, SIZES, QUERIES = 15 };

typedef struct episodes {
    mo_tape *t;
    const mo_head *head;
    mo_tensor *Zs, *Ys, *Zq, *target, *parameter[MO_MAX_HEAD_PARAMETERS];
    int64_t rows, classes; /* queries of all episodes */
    bool gradient;
} episodes;

/* "ridge", or "ridge:64x5x10x64": episodes, classes, shots, width. */
static bool scan_head_case(const char *name, char head[64], int64_t size[SIZES]) {
    static const int64_t usual[SIZES] = {64, 5, 10, 64}, most[SIZES] = {1 << 16, 1 << 10, 1 << 12, 1 << 12};
    size_t n = strcspn(name, ":");
    memcpy(size, usual, sizeof usual);
    snprintf(head, 64, "%.*s", (int)n, name);
    const char *at = name[n] ? name + n + 1 : NULL;
    for (int i = 0; at && i < SIZES; i++) {
        char *end;
        size[i] = strtoll(at, &end, 10);
        if (end == at || size[i] < 1 || size[i] > most[i] || *end != (i < SIZES - 1 ? 'x' : '\0'))
            return false;
        at = end + 1;
    }
    return true;
}

bool bench_head_knows(const char *name) {
    char head[64];
    int64_t size[SIZES];
    return scan_head_case(name, head, size) && mo_find_head(head);
}

/* Rows [episodes, classes x each, dim] about the classes' means. */
static mo_tensor *make_rows(mo_tape *t, const int64_t *size, int64_t each, uint64_t stream) {
    int64_t four[] = {size[EPISODES], size[CLASSES], each, size[DIM]}, three[] = {four[0], four[1] * each, four[3]};
    mo_context *ctx = mo_tape_context(t);
    mo_tensor *noise = synthetic_normal(ctx, 4, four, stream);
    mo_tensor *mean = synthetic_normal(ctx, 4, (int64_t[]){four[0], four[1], 1, four[3]}, 1);
    mo_tensor *rows = mo_tensor_clone(ctx, mo_reshape(t, mo_add(t, noise, mean), 3, three));
    mo_tape_reset(t);
    mo_tensor_release(noise);
    mo_tensor_release(mean);
    return mo_require_grad(rows);
}

/* One-hot [episodes, classes x each, classes]; [rows, classes] where flat. */
static mo_tensor *make_head_labels(mo_context *ctx, const int64_t *size, int64_t each, bool flat) {
    int64_t C = size[CLASSES], rows = C * each, shape[] = {size[EPISODES], rows, C};
    int64_t all[] = {shape[0] * rows, C};
    float *y = calloc((size_t)(all[0] * C), sizeof *y);
    for (int64_t i = 0; y && i < all[0]; i++)
        y[i * C + i % rows / each] = 1;
    mo_tensor *Y = y ? mo_tensor_create_from(ctx, MO_F32, flat ? 2 : 3, flat ? all : shape, y) : mo_null_tensor(ctx);
    free(y);
    return Y;
}

static void make_episodes(mo_context *ctx, episodes *e, const int64_t *size) {
    mo_tensor *start[MO_MAX_HEAD_PARAMETERS];
    e->t = mo_tape_create(ctx, MO_EVAL);
    e->Zs = make_rows(e->t, size, size[SHOTS], 2);
    e->Zq = make_rows(e->t, size, QUERIES, 3);
    e->Ys = make_head_labels(ctx, size, size[SHOTS], false);
    e->target = make_head_labels(ctx, size, QUERIES, true);
    e->classes = size[CLASSES];
    e->rows = size[EPISODES] * size[CLASSES] * QUERIES;
    if (mo_head_start(e->t, e->head, MO_F32, size[DIM], NULL, 0, start) == MO_OK)
        for (int i = 0; i < e->head->n_parameters; i++) {
            int64_t shape[2] = {mo_dim(start[i], 0), mo_ndim(start[i]) == 2 ? mo_dim(start[i], 1) : 1};
            e->parameter[i] = mo_tensor_create(ctx, MO_F32, mo_ndim(start[i]), shape);
            mo_tensor_copy(e->parameter[i], start[i]);
            if (!e->head->parameters[i].fixed)
                mo_require_grad(e->parameter[i]);
        }
    mo_tape_reset(e->t);
}

static void release_episodes(episodes *e) {
    mo_tape_release(e->t);
    mo_tensor *const owned[] = {e->Zs, e->Ys, e->Zq, e->target};
    for (int i = 0; i < 4; i++)
        mo_tensor_release(owned[i]);
    for (int i = 0; i < e->head->n_parameters; i++)
        mo_tensor_release(e->parameter[i]);
}

static void read_out(void *state) {
    episodes *e = state;
    mo_tensor *logits = mo_head_apply(e->t, e->head, e->Zs, e->Ys, e->Zq, e->parameter);
    if (e->gradient) {
        mo_tensor *xs[2 + MO_MAX_HEAD_PARAMETERS] = {e->Zs, e->Zq}, *grads[2 + MO_MAX_HEAD_PARAMETERS];
        int n = 2;
        for (int i = 0; i < e->head->n_parameters; i++)
            if (mo_needs_grad(e->parameter[i]))
                xs[n++] = e->parameter[i];
        mo_tensor *flat = mo_reshape(e->t, logits, 2, (int64_t[]){e->rows, e->classes});
        mo_tensor *loss = mo_softmax_cross_entropy(e->t, flat, e->target, 0);
        mo_gradients(e->t, loss, xs, grads, n);
    }
    mo_tape_reset(e->t);
}

static double count_head_gflop(mo_context *ctx, episodes *e) {
    mo_profile_entry entry[256];
    double flops = 0;
    mo_profile_start(ctx);
    read_out(e);
    mo_profile_stop(ctx);
    int n = mo_profile_entries(ctx, entry, 256);
    for (int i = 0; i < n && i < 256; i++)
        flops += entry[i].flops;
    return 1e-9 * flops;
}

static bool run_head_case(mo_context *ctx, const bench_options *o, const char *name, double rate) {
    char head[64];
    int64_t size[SIZES];
    scan_head_case(name, head, size);
    episodes e = {.head = mo_find_head(head)};
    bench_record record = {.name = name, .gemm_rate = rate};
    make_episodes(ctx, &e, size);
    record.rows = e.rows;
    for (int gradient = 0; gradient < 2 && mo_ok(ctx); gradient++) {
        e.gradient = gradient;
        record.variant = gradient ? "logits+gradients" : "logits";
        mo_tape_set_mode(e.t, gradient ? MO_RECORD : MO_EVAL);
        record.gflop = count_head_gflop(ctx, &e);
        if (bench_run(ctx, o, read_out, &e, &record) && bench_print(o, &record))
            bench_profile(ctx, o, read_out, &e, &record);
    }
    release_episodes(&e);
    return mo_ok(ctx);
}

bool bench_head(mo_context *ctx, const bench_options *o) {
    double rate = bench_gemm_quick_rate(ctx, MO_F32);
    const mo_head *head;
    for (int i = 0; i < o->cases.count && mo_ok(ctx); i++)
        run_head_case(ctx, o, o->cases.items[i], rate);
    for (int i = 0; !o->cases.count && (head = mo_head_at(i)) && mo_ok(ctx); i++)
        run_head_case(ctx, o, head->name, rate);
    return mo_ok(ctx);
}
