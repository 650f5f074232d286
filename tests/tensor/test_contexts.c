/* tests/tensor/test_contexts.c - contexts are independent, and the library leaves its host process unchanged.
 *
 * To run it under ThreadSanitizer, use clang, whose OpenMP has the tool archer, which knows barriers (libgomp has none:
 * gcc reports hundreds of races there that are none). Debian: clang libomp-dev; then CC=clang meson setup tsan
 * -Dtests=true -Db_sanitize=thread -Db_lundef=false && ninja -C tsan
 *   OMP_TOOL_LIBRARIES=libarcher.so TSAN_OPTIONS=ignore_noninstrumented_modules=1:suppressions=tests/tsan.supp \
 *     tsan/tests/test_contexts
 * and so test_crew, test_trainer and test_feature_place. */
#include "ops/inside.h"
#include "tensor/library.h"
#include "tests/folder.h"
#include "tests/planted.h"
#include "train/inside.h"

#include <fcntl.h>
#include <fenv.h>
#include <locale.h>
#include <omp.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

enum { STEPS = 6, MAX_VALUES = 1 << 14 };

/* Without archer ThreadSanitizer does not see OpenMP's barriers, so under it each context uses only its own thread. */
#ifdef __SANITIZE_THREAD__
enum { MORE_THREADS = 0 };
#else
enum { MORE_THREADS = 1 };
#endif

/* ---- a whole training run, which can be in any thread and so asserts nothing ---- */

typedef struct run {
    uint64_t seed;
    int threads;
    char folder[600]; /* the folder of the run's files */
    mo_code code;
    char message[256];
    int64_t n;
    float weights[MAX_VALUES]; /* all parameters, one after the other */
} run;

static void keep_weights(run *r, mo_model *model) {
    for (int i = 0; i < mo_model_n_parameters(model); i++) {
        mo_tensor *P = mo_model_parameter(model, i);
        int64_t n = mo_numel(P);
        if (r->n + n <= MAX_VALUES)
            mo_tensor_read(P, r->weights + r->n, (size_t)n * sizeof(float));
        r->n += n;
    }
}

/* Loads embedded graphs, computes their features, trains, writes weights and reads them back. */
static void *train(void *state) {
    run *r = state;
    HELD(mo_context) *ctx = mo_context_create(&(mo_context_options){.threads = r->threads});
    mo_feature_options features = planted_features();
    HELD(mo_pool) *pool = mo_pool_open(ctx, (const char *const[]){"mutag", "cora:nc"}, 2, &features, 0.2, NULL, NULL);
    mo_mochi_options options = mo_mochi_defaults();
    options.encoder.dim = PLANTED_DIM;
    options.encoder.hops = PLANTED_HOPS;
    HELD(mo_model) *model = mo_mochi_create(ctx, MO_F32, &options, r->seed);
    mo_trainer_options o = {.steps = STEPS,
        .episodes_per_step = 1,
        .adamw = {.lr = 1e-2, .beta1 = 0.9, .beta2 = 0.999, .epsilon = 1e-8, .weight_decay = 1e-4, .clip = 1},
        .plan = planted_plans(r->seed),
        .out = r->folder};
    HELD(mo_trainer) *trainer = pool && model ? mo_trainer_create(model, pool, &o) : NULL;
    if (trainer && mo_trainer_run(trainer, NULL, NULL) == MO_OK)
        mo_trainer_finish(trainer);
    char path[700];
    snprintf(path, sizeof path, "%s/weights.safetensors", r->folder);
    HELD(mo_weights) *weights = mo_ok(ctx) ? mo_weights_read(ctx, path) : NULL;
    if (weights && mo_model_load(model, weights->arrays) == MO_OK)
        keep_weights(r, model);
    r->code = mo_context_status(ctx)->code;
    snprintf(r->message, sizeof r->message, "%.255s", mo_context_status(ctx)->message);
    return NULL;
}

static run *make_run(scratch *s, const char *name, uint64_t seed, int threads) {
    run *r = test_memory(sizeof *r);
    r->seed = seed;
    r->threads = threads;
    snprintf(r->folder, sizeof r->folder, "%s", scratch_folder(s, name));
    return r;
}

static void assert_run(const run *r) {
    if (r->code != MO_OK)
        fail_msg("%s", r->message);
    assert_true(r->n > 0 && r->n <= MAX_VALUES);
}

TEST_OF(two_threads_train_as_each_alone, scratch *s) {
    run *alone[2], *together[2];
    pthread_t thread[2];
    for (int i = 0; i < 2; i++) {
        alone[i] = make_run(s, i ? "alone1" : "alone0", (uint64_t)i + 1, 1 + i * MORE_THREADS);
        train(alone[i]);
        assert_run(alone[i]);
        together[i] = make_run(s, i ? "together1" : "together0", (uint64_t)i + 1, 1 + i * MORE_THREADS);
    }
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, train, together[i]), 0);
    for (int i = 0; i < 2; i++)
        pthread_join(thread[i], NULL);
    for (int i = 0; i < 2; i++) {
        assert_run(together[i]);
        assert_int_equal(together[i]->n, alone[i]->n);
        assert_memory_equal(together[i]->weights, alone[i]->weights, (size_t)alone[i]->n * sizeof(float));
    }
    assert_memory_not_equal(together[0]->weights, together[1]->weights, (size_t)alone[0]->n * sizeof(float));
}

/* Computes products on several threads; returns 0 if they are right. */
static int multiply(mo_context *ctx) {
    enum { SIZE = 300 };
    mo_tape *t = mo_tape_create(ctx, MO_EVAL);
    mo_tensor *A = mo_full(t, MO_F64, 2, (int64_t[]){SIZE, SIZE}, 2);
    for (int i = 0; i < 20; i++)
        A = mo_scale(t, mo_matmul(t, A, A), 1.0 / (2 * SIZE), 0);
    double sum = mo_item(mo_sum(t, A, MO_AXES(0, 1), MO_DROP_AXES));
    mo_tape_release(t);
    return mo_ok(ctx) && sum == 2.0 * SIZE * SIZE ? 0 : 1;
}

/* A fork does not have the process's threads: in it an old and a new context compute on one thread. */
TEST(a_fork_computes) {
    HELD(mo_context) *ctx = mo_context_create(&(mo_context_options){.threads = 1 + MORE_THREADS});
    assert_int_equal(multiply(ctx), 0);
    pid_t child = fork();
    if (child == 0) {
        alarm(20); /* waiting for threads that do not exist would never end */
        mo_context *own = mo_context_create(&(mo_context_options){.threads = 1 + MORE_THREADS});
        _exit(multiply(ctx) | multiply(own) << 1 | (mo_context_threads(own) != 1 && MORE_THREADS) << 2);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(multiply(ctx), 0);
}

TEST(numbers_of_threads_are_bounded) {
    static const int bad[] = {-1, 1025, 100000, INT32_MAX};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        mo_context *ctx = mo_context_create(&(mo_context_options){.threads = bad[i]});
        assert_failed(ctx, MO_INVALID, PARTS("context: threads is ", "expected 0 (all) or more, at most 1024"));
        assert_int_equal(multiply(ctx), 0);
        assert_int_equal(mo_context_release(ctx), MO_OK);
    }
}

static void *fail_in_thread(void *state) {
    HELD(mo_context) *ctx = mo_context_create(NULL);
    mo_tensor_create(ctx, MO_F32, 1, (int64_t[]){-1});
    *(mo_code *)state = mo_context_status(ctx)->code;
    return NULL;
}

TEST_OF(an_error_stays_in_its_context, scratch *s) {
    pthread_t thread;
    mo_code code = MO_OK;
    assert_int_equal(pthread_create(&thread, NULL, fail_in_thread, &code), 0);
    pthread_join(thread, NULL);
    assert_int_equal(code, MO_INVALID);
    assert_true(mo_ok(s->ctx));
}

/* ---- the host process ---- */

typedef struct host {
    void (*handler[65])(int);
    int flags[65];
    char locale[256], folder[1024];
    int rounding, exceptions, omp_threads, omp_dynamic, omp_levels;
    unsigned control; /* SSE's control register, without its sticky flags */
    mode_t mask;
    int blocked[65];
    char **environment;
} host;

static host look_at_host(void) {
    host h;
    memset(&h, 0, sizeof h); /* compared as bytes */
    sigset_t blocked;
    sigprocmask(SIG_BLOCK, NULL, &blocked);
    for (int i = 1; i <= 64; i++) {
        struct sigaction action;
        if (sigaction(i, NULL, &action) != 0)
            continue; /* the C library reserves two signals */
        h.handler[i] = action.sa_handler;
        h.flags[i] = action.sa_flags;
        h.blocked[i] = sigismember(&blocked, i);
    }
    snprintf(h.locale, sizeof h.locale, "%s", setlocale(LC_ALL, NULL));
    assert_non_null(getcwd(h.folder, sizeof h.folder));
    h.rounding = fegetround();
    h.exceptions = fegetexcept();
    h.omp_threads = omp_get_max_threads();
    h.omp_dynamic = omp_get_dynamic();
    h.omp_levels = omp_get_max_active_levels();
#if defined(__x86_64__)
    h.control = _mm_getcsr() & 0xffc0u;
#endif
    h.mask = umask(022);
    umask(h.mask);
    h.environment = environ;
    return h;
}

static void on_signal(int number) {
}

/* Makes errors at which a careless library prints, exits or traps. */
static void provoke(scratch *s) {
    mo_context *ctx = mo_context_create(&(mo_context_options){.threads = 1 + MORE_THREADS});
    mo_tape *t = mo_tape_create(ctx, MO_RECORD);
    mo_tensor *A = mo_full(t, MO_F64, 2, (int64_t[]){3, 3}, 1), *B = mo_full(t, MO_F64, 2, (int64_t[]){3, 1}, NAN);
    mo_tensor *const attempts[] = {mo_solve_spd(t, A, B), mo_matmul(t, A, NULL)};
    assert_false(mo_ok(ctx));
    mo_clear_error(ctx);
    mo_solve(t, A, B);
    mo_clear_error(ctx);
    mo_div(t, A, mo_scale(t, A, 0, 0));
    mo_npy_read(ctx, "/no/such/file");
    mo_clear_error(ctx);
    mo_safetensors_read(ctx, "tests/tensor/test_contexts.c");
    mo_clear_error(ctx);
    mo_tensor_create(ctx, MO_F64, 2, (int64_t[]){INT64_MAX / 4, 16});
    assert_false(mo_ok(ctx));
    (void)attempts;
    mo_tape_release(t);
    mo_context_release(ctx);
    run *r = make_run(s, "host", 3, 1 + MORE_THREADS);
    train(r);
    assert_run(r);
}

TEST_OF(settings_of_the_host_are_left_alone, scratch *s) {
    signal(SIGUSR1, on_signal);
    signal(SIGFPE, on_signal);
    signal(SIGSEGV, on_signal);
    setlocale(LC_ALL, "C.UTF-8");
    omp_set_num_threads(3);
    omp_set_dynamic(1);
    host before = look_at_host();
    provoke(s);
    host after = look_at_host();
    omp_set_dynamic(0);
    assert_memory_equal(&before, &after, sizeof before);
}

TEST_OF(nothing_is_written_to_the_standard_streams, scratch *s) {
    fflush(NULL);
    int kept[] = {dup(1), dup(2)}, file = open(scratch_path(s, "streams"), O_RDWR | O_CREAT | O_TRUNC, 0600);
    assert_true(file >= 0);
    dup2(file, 1);
    dup2(file, 2);
    provoke(s);
    fflush(NULL);
    off_t written = lseek(file, 0, SEEK_END);
    for (int i = 0; i < 2; i++) {
        dup2(kept[i], i + 1);
        close(kept[i]);
    }
    close(file);
    unlink(scratch_path(s, "streams"));
    assert_int_equal(written, 0);
}

/* ---- go_on ---- */

typedef struct patience {
    double until;
    double last, gap; /* processor time of the process at the last call, and the most between two calls */
    int64_t asked;
    int64_t elsewhere; /* calls in a thread that is not the caller's */
    pthread_t caller;
} patience;

static void note_call(patience *p) {
    double now = mo_clock(CLOCK_PROCESS_CPUTIME_ID);
    p->gap = fmax(p->gap, now - p->last);
    p->last = now;
}

static bool until_then(mo_context *ctx, void *state) {
    patience *p = state;
    (void)ctx;
    note_call(p);
    p->asked++;
    p->elsewhere += !pthread_equal(p->caller, pthread_self());
    return mo_clock(CLOCK_MONOTONIC) < p->until;
}

/* Normal random numbers [n, d], or, for classes above 0, one-hot labels [n, classes] drawn at random. */
static mo_tensor *drawn_rows(mo_tape *t, int64_t n, int64_t d, int64_t classes) {
    int64_t width = classes ? classes : d;
    HELD_MEMORY double *x = calloc((size_t)(n * width), sizeof *x);
    mo_random r = mo_random_at(17, MO_PURPOSE_CHECK, (uint64_t)classes);
    for (int64_t i = 0; i < n; i++)
        if (classes)
            x[i * width + mo_random_below(&r, classes)] = 1;
        else
            for (int64_t j = 0; j < width; j++)
                x[i * width + j] = mo_random_normal(&r);
    return mo_from(t, MO_F64, 2, (int64_t[]){n, width}, x);
}

static void repeat_ops(mo_context *ctx) {
    HELD(mo_tape) *t = mo_tape_create(ctx, MO_EVAL);
    mo_tensor *x = mo_full(t, MO_F64, 1, (int64_t[]){8}, 0.5);
    mo_scope scope = mo_scope_open(t);
    while (mo_ok(ctx)) {
        x = mo_sin(t, x);
        mo_scope_close(t, &scope, &x, 1);
    }
}

static void fit_logistic(mo_context *ctx) {
    HELD(mo_tape) *t = mo_tape_create(ctx, MO_EVAL);
    mo_tensor *X = drawn_rows(t, 4000, 400, 0), *Y = drawn_rows(t, 4000, 0, 50);
    mo_logistic(t, X, Y, mo_scalar(t, MO_F64, 1e-9), MO_INTERCEPT_FREE);
}

static void fit_svm(mo_context *ctx) {
    HELD(mo_tape) *t = mo_tape_create(ctx, MO_EVAL);
    mo_tensor *X = drawn_rows(t, 2500, 30, 0), *Y = drawn_rows(t, 2500, 0, 20);
    mo_svm_dual_variables(t, mo_gram(t, X), Y, mo_scalar(t, MO_F64, 1e-6), NULL, INT64_MAX, NULL);
}

/* A dense random graph, whose features take minutes. */
static void make_features(mo_context *ctx) {
    enum { NODES = 20000, EDGES = 4000000 };
    HELD_MEMORY int64_t *u = malloc(2 * EDGES * sizeof *u);
    mo_random r = mo_random_at(18, MO_PURPOSE_CHECK, 0);
    for (int64_t i = 0; i < 2 * EDGES; i++)
        u[i] = mo_random_below(&r, NODES);
    HELD(mo_graph) *graph = mo_graph_from_edges(ctx, "random", NODES, EDGES, u, u + EDGES);
    mo_few_shot_release(mo_few_shot_open(graph, MO_TASK_NC, NULL));
}

/* Ops for up to two seconds; returns whether go_on ended them. */
static bool was_stopped(patience *p) {
    double limit = mo_clock(CLOCK_MONOTONIC) + 2;
    p->caller = pthread_self();
    mo_context *ctx = mo_context_create(&(mo_context_options){.threads = 1, .go_on = until_then, .go_on_state = p});
    mo_tape *t = mo_tape_create(ctx, MO_EVAL);
    while (mo_ok(ctx) && mo_clock(CLOCK_MONOTONIC) < limit) {
        mo_sin(t, mo_full(t, MO_F64, 1, (int64_t[]){8}, 0.5));
        mo_tape_reset(t);
    }
    bool stopped = mo_context_status(ctx)->code == MO_STATE;
    mo_tape_release(t);
    mo_context_release(ctx);
    return stopped;
}

/* Each thread of a host's own region is the caller of its context, whatever its number. */
TEST(every_thread_of_a_hosts_region_asks_go_on) {
    patience p[2] = {{0}};
    bool stopped[2] = {false};
#pragma omp parallel num_threads(2)
    stopped[omp_get_thread_num()] = was_stopped(&p[omp_get_thread_num()]);
    for (int i = 0; i < 2; i++)
        assert_true(stopped[i] && p[i].asked > 0 && p[i].elsewhere == 0);
}

TEST(long_work_ends_when_go_on_says_so) {
    static const struct {
        const char *name;
        void (*work)(mo_context *ctx);
    } works[] = {{"ops", repeat_ops}, {"logistic", fit_logistic}, {"svm", fit_svm}, {"features", make_features}};
    for (size_t i = 0; i < sizeof works / sizeof *works; i++)
        for (int threads = 1; threads < 3; threads++) {
            patience p = {.caller = pthread_self()};
            HELD(mo_context) *ctx =
                mo_context_create(&(mo_context_options){.threads = threads, .go_on = until_then, .go_on_state = &p});
            p.until = mo_clock(CLOCK_MONOTONIC) + 0.5;
            p.last = mo_clock(CLOCK_PROCESS_CPUTIME_ID);
            works[i].work(ctx);
            note_call(&p);
            if (mo_clock(CLOCK_MONOTONIC) < p.until)
                fail_msg("%s: done too early to be stopped", works[i].name);
            assert_failed(ctx, MO_STATE, PARTS("stopped: go_on returned false"));
            assert_int_equal(p.elsewhere, 0);
            print_message("%s, %d threads: asked %lld times, at most %.2f s of processor time apart\n", works[i].name,
                threads, (long long)p.asked, p.gap);
            assert_true(p.gap < 3); /* drawing the data takes half a second, on two threads that wait a second */
            HELD(mo_tape) *t = mo_tape_create(ctx, MO_EVAL);
            p.until = INFINITY;
            assert_true(mo_item(mo_exp(t, mo_scalar(t, MO_F64, 0))) == 1);
        }
}
