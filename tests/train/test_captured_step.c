/* tests/train/test_captured_step.c - loss and gradients of a training step, for each task, are queued without waiting
 * or allocating. So they can be captured, and the capture gives the same bits. test_replay.c shows the same of the
 * invariant model. Skipped if there is no CUDA device. */
#include "tests/device.h"
#include "tests/planted.h"

enum { MOST = 64, WARM = 2 };

typedef struct step {
    mo_tape *t;
    mo_model *model;
    mo_episode episode;
    int n;
    mo_tensor *parameter[MOST], *grad[MOST], *kept[MOST + 1]; /* kept: copies of the gradients, then of the loss */
} step;

static void take(step *s) {
    mo_random dropout = mo_random_at(4, MO_PURPOSE_DROPOUT, 9);
    mo_tensor *loss = mo_model_loss(s->t, s->model, &s->episode, &dropout, NULL);
    mo_grad(s->t, &loss, NULL, 1, s->parameter, s->grad, s->n, 0);
    for (int i = 0; i < s->n && mo_ok(mo_tape_context(s->t)); i++)
        mo_tensor_copy(s->kept[i], s->grad[i]);
    mo_tensor_copy(s->kept[s->n], loss);
    mo_tape_reset(s->t);
}

static float *read_kept(const step *s, size_t *bytes) {
    int64_t total = 0, at = 0;
    for (int i = 0; i <= s->n; i++)
        total += mo_numel(s->kept[i]);
    float *values = calloc((size_t)total, sizeof *values);
    for (int i = 0; i <= s->n; at += mo_numel(s->kept[i++]))
        assert_int_equal(mo_tensor_read(s->kept[i], values + at, (size_t)mo_numel(s->kept[i]) * sizeof *values), MO_OK);
    *bytes = (size_t)total * sizeof *values;
    return values;
}

static void record_and_compare(step *s, const char *what) {
    mo_context *ctx = mo_tape_context(s->t);
    size_t bytes;
    for (int i = 0; i < WARM; i++)
        take(s);
    if (mo_context_wait(ctx) != MO_OK)
        fail_msg("%s: %s", what, mo_context_status(ctx)->message);
    HELD_MEMORY float *taken = read_kept(s, &bytes);
    for (int i = 0; i <= s->n; i++)
        mo_tensor_fill(s->kept[i], -1);
    assert_int_equal(mo_capture_begin(ctx, 1), MO_OK);
    take(s);
    mo_capture *r = mo_capture_end(ctx);
    if (!r)
        fail_msg("%s: %s", what, mo_context_status(ctx)->message);
    assert_true(mo_capture_replay(r, 0));
    HELD_MEMORY float *replayed = read_kept(s, &bytes);
    assert_memory_equal(taken, replayed, bytes);
    mo_capture_release(r);
}

/* Replaces *T by a copy that outlives the tape, and appends the copy to `list`; a null tensor stays. */
static void own(mo_context *ctx, mo_tensor **T, mo_tensor **list, int *count) {
    if (mo_is_null(*T))
        return;
    mo_tensor *copy = mo_tensor_create(ctx, (*T)->dtype, (*T)->ndim, (*T)->shape);
    mo_tensor_copy(copy, *T);
    *T = list[(*count)++] = copy;
}

/* Moves an episode's tensors to memory of the caller's, as a captured step needs inputs that stay in place. */
static int own_episode(mo_context *ctx, mo_episode *e, mo_tensor **list) {
    int count = 0;
    for (int i = 0; i < e->n_rows; i++) {
        own(ctx, &e->rows[i].tensor, list, &count);
        own(ctx, &e->rows[i].index, list, &count);
    }
    for (int side = 0; side < 2; side++) {
        own(ctx, &e->support[side], list, &count);
        own(ctx, &e->query[side], list, &count);
    }
    own(ctx, &e->support_label, list, &count);
    own(ctx, &e->query_label, list, &count);
    own(ctx, &e->segment, list, &count);
    return count;
}

/* Takes and captures a step on one episode of each family. */
TEST(a_step_of_mochi_waits_for_nothing) {
    HELD(mo_context) *ctx = device_context(MO_CUDA);
    HELD(mo_pool) *pool = planted_pool(ctx);
    HELD(mo_model) *model = planted_model(ctx, 1);
    step s = {.t = mo_tape_create(ctx, MO_RECORD), .model = model, .n = mo_model_n_parameters(model)};
    HELD(mo_tape) *data = mo_tape_create(ctx, MO_EVAL);
    mo_plan_options plans = planted_plans(1);
    const mo_source *source;
    assert_true(s.n > 0 && s.n <= MOST);
    for (int i = 0; i < s.n; i++) {
        mo_tensor *P = s.parameter[i] = mo_model_parameter(model, i);
        s.kept[i] = mo_tensor_create(ctx, MO_F32, P->ndim, P->shape);
    }
    s.kept[s.n] = mo_tensor_create(ctx, MO_F32, 0, NULL);
    for (uint64_t number = 0; number < MO_TASKS; number++) {
        assert_int_equal(mo_pool_draw(pool, data, number, MO_FAMILY_IN_TURN, &plans, &s.episode, &source), MO_OK);
        mo_tensor *list[2 * MO_MAX_ROWS + 7];
        int count = own_episode(ctx, &s.episode, list);
        record_and_compare(&s, mo_task_name(s.episode.task));
        for (int i = 0; i < count; i++)
            mo_tensor_release(list[i]);
        mo_tape_reset(data);
    }
    for (int i = 0; i <= s.n; i++)
        mo_tensor_release(s.kept[i]);
    mo_tape_release(s.t);
}
