/* tests/train/test_crew.c - problems distributed over threads: the figures and errors of one thread. */
#include "tests/labelled_rows.h"

#include <pthread.h>
#include <stdatomic.h>

typedef struct rows {
    int n;
    mo_eval_row row[64];
    char failure[512];
} rows;

static void on_row(const mo_eval_row *row, void *state) {
    rows *x = state;
    assert_in_range(x->n, 0, 63);
    if (row->failure)
        snprintf(x->failure, sizeof x->failure, "%s", row->failure);
    x->row[x->n++] = *row;
}

/* Fits all heads at two k, one of them larger than a class, with this many threads. */
static mo_code run(
    const mo_head *const *heads, int n, int threads, void (*told)(const mo_eval_row *, void *), rows *x) {
    HELD(mo_context) *ctx = mo_context_create(&(mo_context_options){.threads = threads});
    HELD(mo_embeddings) *E = make(&(scratch){.ctx = ctx}, MO_F32, 1);
    mo_eval_options options = usual_problems(37);
    options.n_shots = 2;
    options.shots = (int64_t[]){4, 18};
    *x = (rows){0};
    return evaluate_heads(E, heads, n, NULL, MO_SCALING_NONE, &options, told, x);
}

/* Fails unless figures are equal; NaN equals NaN. */
static void assert_same_figures(const mo_eval_row *a, const mo_eval_row *b) {
    const double x[] = {a->mean, a->ci95, a->nll, a->brier, a->ece, a->nll_temperature, a->ece_temperature};
    const double y[] = {b->mean, b->ci95, b->nll, b->brier, b->ece, b->nll_temperature, b->ece_temperature};
    assert_string_equal(a->head, b->head);
    assert_int_equal(a->k, b->k);
    assert_memory_equal(x, y, sizeof x);
}

/* A head that fails if the support's first number is below 0, with that number in its error. */
static mo_tensor *fails_now_and_then(
    mo_tape *t, mo_tensor *Zs, mo_tensor *Ys, mo_tensor *Zq, mo_tensor *const *parameters) {
    mo_tensor *corner = mo_slice(t, mo_slice(t, Zs, MO_AXIS(0), 0, 1), MO_AXIS(1), 0, 1);
    if (mo_item(corner) < 0)
        mo_fail(mo_tape_context(t), MO_NUMERICAL, "begins with %.9g", mo_item(corner));
    return mo_head_apply(t, &mo_head_prototype_inner, Zs, Ys, Zq, parameters);
}

TEST(the_first_failure_is_the_one_that_is_told) {
    const mo_head head = {
        .abi = MO_HEAD_ABI, .size = sizeof head, .name = "fails", .logits = fails_now_and_then, .order = 2};
    static rows one, many;
    assert_int_equal(run((const mo_head *[]){&head, &mo_head_ridge}, 2, 1, on_row, &one), MO_OK);
    assert_non_null(strstr(one.failure, "begins with -"));
    for (int i = 0; i < 20; i++) {
        assert_int_equal(run((const mo_head *[]){&head, &mo_head_ridge}, 2, 4, on_row, &many), MO_OK);
        assert_string_equal(many.failure, one.failure);
        assert_int_equal(many.n, 4);
        assert_same_figures(&many.row[1], &one.row[1]); /* the other head is still fitted */
    }
}

static mo_tensor *asks_for_too_much(
    mo_tape *t, mo_tensor *Zs, mo_tensor *Ys, mo_tensor *Zq, mo_tensor *const *parameters) {
    return mo_matmul(t, Zs, Zs);
}

TEST(a_wrong_call_ends_the_run) {
    const mo_head head = {
        .abi = MO_HEAD_ABI, .size = sizeof head, .name = "wrong", .logits = asks_for_too_much, .order = 2};
    static rows x;
    assert_int_equal(run((const mo_head *[]){&head, &mo_head_ridge}, 2, 4, on_row, &x), MO_INVALID);
    assert_int_equal(x.n, 0);
}

#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
static atomic_bool starve;
static atomic_int starved;
static pthread_t fed; /* the only thread for which calloc has memory */

void *__libc_calloc(size_t n, size_t bytes);
void *calloc(size_t n, size_t bytes);

void *calloc(size_t n, size_t bytes) {
    if (!starve || pthread_equal(fed, pthread_self()))
        return __libc_calloc(n, bytes);
    starved++;
    return NULL;
}

static void starve_after_row(const mo_eval_row *row, void *state) {
    on_row(row, state);
    starve = true;
}

/* Members start in the first job, and have no memory for the next ones. */
TEST(a_member_without_memory_leaves_its_episodes_to_the_others) {
    static rows one, many;
    run((const mo_head *[]){&mo_head_prototype_inner, &mo_head_ridge}, 2, 1, on_row, &one);
    fed = pthread_self();
    for (int i = 0; i < 20; i++) {
        mo_code code =
            run((const mo_head *[]){&mo_head_prototype_inner, &mo_head_ridge}, 2, 4, starve_after_row, &many);
        starve = false;
        assert_int_equal(code, MO_OK);
        assert_int_equal(many.n, one.n);
        for (int k = 0; k < one.n; k++)
            assert_same_figures(&many.row[k], &one.row[k]);
    }
    assert_true(starved > 0);
}
#endif
