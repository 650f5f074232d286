/* tests/train/test_trainer.c - runs: they repeat bit for bit at any thread count, and leave the user's files alone.
 * test_run_faults.c stops and resumes them at every call. */
#include "tests/training_run.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/syscall.h>

TEST_OF(thread_count_changes_no_bit, scratch *s) {
    static const int threads[] = {2, 3, 8};
    for (int k = 0; k < 3; k++) { /* one episode a step, three, and three in blocks of rows */
        run_options o = usual_run;
        o.episodes = k ? 3 : 1;
        o.max_rows = k < 2 ? 0 : 7;
        const char *a = scratch_folder(s, "a");
        run_until(&o, a, false, o.steps);
        for (int i = 0; i < 3; i++) {
            o.threads = threads[i];
            const char *b = scratch_folder(s, "b");
            run_until(&o, b, false, o.steps);
            assert_same_run(a, b);
        }
    }
}

/* Returns the norm of the gradient of the mean loss over episodes 0 .. E-1, recorded on one tape. right, asked: number
 * of right and of all queries of each task. */
static double mean_gradient_norm(training_run *run, int E, double right[MO_TASKS], double asked[MO_TASKS]) {
    enum { MAX = 64 };
    HELD(mo_tape) *t = mo_tape_create(run->ctx, MO_RECORD);
    mo_tensor *P[MAX], *G[MAX], *sum = NULL;
    double squares = 0;
    mo_plan_options plans = planted_plans(usual_run.seed);
    int n = mo_model_n_parameters(run->model);
    for (int i = 0; i < n; i++)
        P[i] = mo_model_parameter(run->model, i);
    for (int j = 0; j < E; j++) {
        mo_episode e;
        mo_pool_draw(run->pool, t, (uint64_t)j, E > 1 ? MO_FAMILY_IN_TURN : MO_FAMILY_DRAWN, &plans, &e, NULL);
        mo_tensor *logits, *loss = mo_model_loss(t, run->model, &e, NULL, &logits);
        double queries = (double)mo_numel(e.query_label);
        asked[e.task] += queries;
        right[e.task] += queries * mo_item(mo_accuracy(t, logits, e.query_label));
        sum = sum ? mo_add(t, sum, loss) : loss;
    }
    sum = mo_scale(t, sum, 1.0 / E, 0);
    mo_grad(t, &sum, NULL, 1, P, G, n, 0);
    for (int i = 0; i < n; i++)
        squares += mo_item(mo_sum(t, mo_square(t, G[i]), MO_ALL, MO_DROP_AXES));
    assert_run_ok(run);
    return sqrt(squares);
}

TEST_OF(gradients_of_several_episodes_add_to_their_mean, scratch *s) {
    for (int E = 1; E <= 9; E++) {
        run_options o = usual_run;
        o.episodes = E;
        HELD(training_run) run = run_open(&o, scratch_folder(s, "run"));
        double right[MO_TASKS] = {0}, asked[MO_TASKS] = {0}, expected = mean_gradient_norm(&run, E, right, asked);
        mo_step_report r;
        mo_trainer_step(run.trainer, &r);
        assert_run_ok(&run);
        if (!(fabs(r.gradient_norm - expected) < 1e-5 * expected)) /* float32 gradients */
            fail_msg("%d episodes: the norm is %.9g, expected %.9g", E, r.gradient_norm, expected);
        for (int task = 0; task < MO_TASKS; task++)
            if (asked[task] ? !(fabs(r.accuracy[task] - right[task] / asked[task]) < 1e-6) : !isnan(r.accuracy[task]))
                fail_msg("%d episodes: the accuracy of task %d is %g, expected %g of %g", E, task, r.accuracy[task],
                    right[task], asked[task]);
    }
}

TEST_OF(nothing_is_written_through_a_link_in_the_folder, scratch *s) {
    run_options o = usual_run;
    for (int i = 0; i < 2; i++) { /* the log, then the checkpoint */
        const char *folder = scratch_folder(s, "run"), *target = scratch_path(s, "elsewhere");
        run_until(&o, folder, false, 5); /* two steps after the checkpoint, which the resumed run takes again */
        const char *path = scratch_path(s, i ? "run/checkpoint.safetensors" : "run/log.jsonl");
        assert_int_equal(rename(path, target), 0);
        assert_int_equal(symlink(target, path), 0);
        bytes before = read_bytes(target);
        training_run run = run_open(&o, folder);
        mo_trainer_resume(run.trainer);
        mo_trainer_run(run.trainer, NULL, NULL);
        if (i < 1)
            assert_failed(run.ctx, MO_IO, PARTS("log.jsonl", "expected a file of its own, found a symbolic link"));
        else
            assert_run_ok(&run);
        run_close(&run);
        assert_same_bytes(before, read_bytes(target));
    }
}

/* flock replaces the C library's: a file system without locks. */
static bool no_locks;

int flock(int fd, int operation) {
    if (no_locks)
        errno = ENOLCK;
    return no_locks ? -1 : (int)syscall(SYS_flock, fd, operation);
}

/* Also if there is no log yet, as for a run whose first save was cut short. */
TEST_OF(so_is_a_run_that_has_just_begun, scratch *s) {
    run_options o = usual_run;
    const char *folder = scratch_folder(s, "run");
    run_until(&o, folder, false, 1);
    leave_run_json(folder);
    HELD(training_run) first = run_open(&o, folder), second = run_open(&o, folder);
    assert_int_equal(mo_trainer_resume(first.trainer), MO_OK);
    mo_trainer_resume(second.trainer);
    assert_failed(second.ctx, MO_STATE, PARTS("continues this run"));
}

/* The lock is taken before any other file is written. */
TEST_OF(of_two_fresh_starts_one_writes, scratch *s) {
    run_options o = usual_run;
    char folder[600];
    snprintf(folder, sizeof folder, "%s", scratch_folder(s, "run"));
    assert_int_equal(mkdir(folder, 0700), 0);
    HELD(training_run) run = run_open(&o, folder);
    int log = open(scratch_path(s, "run/log.jsonl"), O_WRONLY | O_CREAT, 0600);
    assert_int_equal(flock(log, LOCK_EX), 0);
    mo_trainer_step(run.trainer, NULL);
    assert_failed(run.ctx, MO_STATE, PARTS("another process begins or continues this run"));
    assert_int_equal(access(scratch_path(s, "run/run.json"), F_OK), -1);
    assert_int_equal(access(scratch_path(s, "run/checkpoint.safetensors"), F_OK), -1);
    close(log);
    HELD(training_run) next = run_open(&o, folder); /* a log without lines is no run */
    mo_trainer_step(next.trainer, NULL);
    assert_run_ok(&next);
}

static void note_line(const char *line, void *state) {
    snprintf(state, 600, "%s", line);
}

TEST(without_locks_a_notice_says_so) {
    run_options o = usual_run;
    char line[600] = "";
    no_locks = true;
    HELD(training_run) run = run_open(&o, scratch_folder(*state, "run"));
    run.pool->options.notice = note_line;
    run.pool->options.notice_state = line;
    mo_trainer_run(run.trainer, NULL, NULL);
    no_locks = false;
    assert_run_ok(&run);
    assert_non_null(strstr(line, "log.jsonl: cannot be locked: No locks available; start no other process"));
}

TEST(step_that_is_not_finite_changes_nothing) {
    HELD(training_run) run = run_open(&usual_run, scratch_folder(*state, "run"));
    mo_trainer_step(run.trainer, NULL);
    float *log_temp = mo_tensor_view(mo_model_parameter(run.model, mo_model_n_parameters(run.model) - 1)).data;
    float *weight = mo_tensor_view(mo_model_parameter(run.model, 0)).data, kept = *log_temp, before = *weight;
    *log_temp = NAN;
    mo_trainer_step(run.trainer, NULL);
    assert_failed(run.ctx, MO_NUMERICAL, PARTS("train: step 1", "planted:lp", "nan"));
    assert_true(*weight == before);
    *log_temp = kept;
    mo_step_report r;
    assert_int_equal(mo_trainer_step(run.trainer, &r), MO_OK);
    assert_int_equal(r.step, 1);
}

/* Fills all rows with NaN after three steps; episodes that were prepared before still train. */
static bool spoil_features(const mo_step_report *r, void *state) {
    const training_run *run = state;
    for (int i = 0; r->step == 2 && i < mo_pool_size(run->pool); i++) {
        mo_view hops = mo_tensor_view(mo_arrays_find(mo_pool_source(run->pool, i)->features->arrays, "hops"));
        for (int64_t j = 0; j < hops.shape[0] * hops.shape[1] * hops.shape[2]; j++)
            ((float *)hops.data)[j] = NAN;
    }
    return true;
}

TEST(a_step_that_fails_leaves_the_last_good_checkpoint) {
    const char *folder = scratch_folder(*state, "run");
    run_options o = usual_run;
    o.checkpoint_every = 0;
    o.steps = 40;
    HELD(training_run) run = run_open(&o, folder);
    assert_int_equal(mo_trainer_run(run.trainer, spoil_features, &run), MO_NUMERICAL);
    int64_t good = run.trainer->step;
    assert_true(good >= 3 && good < 40);
    mo_clear_error(run.ctx);
    run_close(&run);
    o.lr /= 2;
    run = run_open(&o, folder);
    assert_int_equal(mo_trainer_resume(run.trainer), MO_INVALID);
    assert_failed(run.ctx, MO_INVALID, PARTS("trainer.adamw.lr"));
    run.trainer->options.other_rate = true;
    assert_int_equal(mo_trainer_resume(run.trainer), MO_OK);
    assert_true(run.trainer->step == good);
    mo_step_report r;
    assert_int_equal(mo_trainer_step(run.trainer, &r), MO_OK);
    assert_true(r.step == good && isfinite(r.loss) && r.lr == mo_cosine(o.lr, 0, good, 40));
}

TEST_OF(log_tells_loss_rate_norm_accuracy_and_data, scratch *s) {
    const char *folder = scratch_folder(s, "run");
    run_until(&usual_run, folder, false, 1);
    HELD(bytes) log = run_file(folder, "log.jsonl");
    json_t *line = json_loadb((char *)log.data, log.n - 1, 0, NULL);
    assert_true(json_real_value(json_object_get(line, "loss")) > 0);
    assert_true(json_real_value(json_object_get(line, "lr")) == usual_run.lr);
    assert_true(json_real_value(json_object_get(line, "gradient_norm")) > 0);
    assert_true(json_real_value(json_object_get(line, "seconds")) > 0);
    static const char *const tasks[] = {"lp", "nc", "gc"};
    static const char *const data[] = {"planted:lp", "planted:nc", "rings:gc"};
    for (int i = 0; i < 3; i++) {
        double accuracy = json_real_value(json_object_get(json_object_get(line, "accuracy"), tasks[i]));
        assert_true(accuracy > 0 && accuracy <= 1);
        assert_string_equal(json_string_value(json_array_get(json_object_get(line, "data"), (size_t)i)), data[i]);
    }
    json_decref(line);
}

/* Releases the model and the pool after a step, as their only owner. */
static bool release_early(const mo_step_report *r, void *state) {
    training_run *run = state;
    if (r->step == 2) {
        mo_model_release(run->model);
        mo_pool_release(run->pool);
        run->model = NULL;
        run->pool = NULL;
    }
    return true;
}

TEST_OF(model_and_pool_can_be_released_before_the_trainer, scratch *s) {
    const char *a = scratch_folder(s, "a"), *b = scratch_folder(s, "b");
    run_until(&usual_run, a, false, usual_run.steps);
    HELD(training_run) run = run_open(&usual_run, b);
    assert_int_equal(mo_trainer_run(run.trainer, release_early, &run), MO_OK);
    assert_int_equal(mo_trainer_finish(run.trainer), MO_OK);
    assert_same_run(a, b);
}

static bool release_itself(const mo_step_report *r, void *state) {
    (void)r;
    mo_trainer_release(((training_run *)state)->trainer);
    return true;
}

static bool run_itself(const mo_step_report *r, void *state) {
    (void)r;
    return mo_trainer_run(((training_run *)state)->trainer, NULL, NULL) == MO_OK;
}

TEST_OF(a_report_cannot_release_or_run_its_trainer, scratch *s) {
    HELD(training_run) run = run_open(&usual_run, scratch_folder(s, "run"));
    assert_int_equal(mo_trainer_run(run.trainer, release_itself, &run), MO_STATE);
    assert_failed(run.ctx, MO_STATE, PARTS("trainer_release: called in the report of the trainer that is running"));
    assert_int_equal(mo_trainer_run(run.trainer, run_itself, &run), MO_STATE);
    assert_failed(run.ctx, MO_STATE, PARTS("trainer_run: called in the report of the trainer that is running"));
    assert_int_equal(mo_trainer_run(run.trainer, NULL, NULL), MO_OK);
    assert_true(run.trainer->step == usual_run.steps);
}
