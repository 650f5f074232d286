/* tests/models/test_row_blocks_memory.c - encoding in blocks of rows needs only the memory of one block. */
#include "tests/scratch.h"

static const fixtures around_all = {scratch_create, scratch_release};

enum { MAX_PARAMETERS = 64 };

static mo_tensor *integers(mo_tape *t, int64_t n, const int64_t *value) {
    return mo_from(t, MO_I64, 1, &n, value);
}

/* Returns the peak of bytes in a training step on graphs, less its episode and the parameters' gradients. */
static int64_t step_bytes(mo_context *ctx, mo_model *m, int64_t rows, int64_t max_rows) {
    enum { N = 40 };
    HELD(mo_tape) *t = mo_tape_create(ctx, MO_RECORD);
    mo_tensor *P[MAX_PARAMETERS], *G[MAX_PARAMETERS];
    int64_t offset[N + 1], label[N], number[N];
    for (int64_t i = 0; i <= N; i++)
        offset[i] = i * rows / N;
    for (int64_t i = 0; i < N; i++) {
        label[i] = i % 2;
        number[i] = i;
    }
    mo_episode e = {.task = MO_TASK_GC, .classes = 2, .n_rows = 1, .max_rows = max_rows};
    e.rows[0] = (mo_named){"hops", mo_full(t, MO_F32, 3, (int64_t[]){4, rows, 64}, 0.5), NULL};
    e.segment = integers(t, N + 1, offset);
    e.support[0] = integers(t, N / 2, number);
    e.query[0] = integers(t, N / 2, number + N / 2);
    e.support_label = e.query_label = integers(t, N / 2, label);
    int n = mo_model_n_parameters(m);
    for (int i = 0; i < n; i++)
        P[i] = mo_model_parameter(m, i);
    mo_context_reset_peaks(ctx);
    int64_t before = mo_context_counters(ctx).tape_live;
    mo_tensor *loss = mo_model_loss(t, m, &e, NULL, NULL);
    assert_int_equal(mo_grad(t, &loss, NULL, 1, P, G, n, 0), MO_OK);
    int64_t peak = mo_context_counters(ctx).tape_peak - before;
    return peak;
}

/* An episode with as many rows as D&D's, but narrower. */
TEST(memory_is_that_of_one_block) {
    mo_context *ctx = ((scratch *)*state)->ctx;
    mo_mochi_options o = mo_mochi_defaults();
    o.encoder.dim = 64;
    HELD(mo_model) *m = mo_mochi_create(ctx, MO_F32, &o, 1);
    int64_t whole = step_bytes(ctx, m, 16000, 0), block = step_bytes(ctx, m, 1000, 0);
    int64_t blocks = step_bytes(ctx, m, 16000, 1000), sums = 16 * 2 * 40 * 2 * 64 * (int64_t)sizeof(float);
    print_message("16000 rows: %.1f MB; in blocks of 1000: %.1f MB; 1000 rows alone: %.1f MB\n", 1e-6 * (double)whole,
        1e-6 * (double)blocks, 1e-6 * (double)block);
    assert_true(whole > 10 * block);
    /* two sets of parameter gradients: the sum so far, and one block's */
    int64_t gradients = 12 * 64 * 64 * (int64_t)sizeof(float);
    assert_true(blocks <= block + sums + 2 * gradients);
}
