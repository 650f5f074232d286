/* tests/tensor/test_inert.c - every exported function accepts the result of a failed constructor: it does nothing,
 * returns an inert value, and keeps the first error. The calls are made from the headers (make_inert_calls.py), so that
 * no function can be forgotten. All calls run in one process; if that fails, each runs in its own process, to find out
 * which one crashes. Results in a context without an error are not released, so this test looks for no leaks; the tests
 * of out of memory do. */
#include "tests/scratch.h"
#include "tests/tensor/inert_calls.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>
#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/lsan_interface.h>
#endif

enum { SECONDS = 60, CHANGED = 10, GAVE = 11 };

static const char first_error[] = "the first error";

void take_tensor(given *g, mo_tensor *T) {
    if (g->failed && !mo_is_null(T))
        g->gave = "a tensor";
}

void take_object(given *g, const void *object) {
    if (g->failed && object)
        g->gave = "an object";
}

void take_code(given *g, mo_code code) {
    if (g->failed && code == MO_OK)
        g->gave = "MO_OK";
}

typedef enum round {
    NOTHING,        /* NULL and 0, no context */
    NULL_OBJECTS,   /* a context in the error state, NULL for all other objects */
    INERT_OBJECTS,  /* a failed context with its tape and its null tensor */
    FINE_CONTEXT,   /* a context without an error, NULL for all other objects */
    FINE_TAPE,      /* a context without an error and its tape; null tensors, zeroed options */
    NULL_IN_ARRAYS, /* as FINE_TAPE, but NULL for tensors, also in arrays */
    NULL_ARRAYS,    /* tensors [2, 2] of a tape without an error; NULL for arrays, results, options, names, functions */
    NEGATIVE,       /* such tensors, also in arrays, zeroed options, negative numbers and words of no enum */
    ROUNDS
} round_of_calls;

static const char *const round_name[] = {"no context", "NULL objects, failed context", "inert objects, failed context",
    "NULL, context without error", "null tensors, tape without error", "NULL tensors, tape without error",
    "tensors and NULL arrays", "tensors and negative numbers"};

static void prepare(given *g, round_of_calls round) {
    static mo_tensor *tensors[GIVEN_TENSORS], *outputs[GIVEN_TENSORS];
    static _Alignas(16) char buffer[1 << 16];
    *g = (given){.failed = round <= INERT_OBJECTS ? MO_MEMORY : MO_OK};
    if (round != NOTHING)
        g->context = mo_context_create(&(mo_context_options){.threads = 1});
    if (round == INERT_OBJECTS || round >= FINE_TAPE) {
        g->tape = mo_tape_create(g->context, MO_RECORD);
        g->tensor = round == NULL_IN_ARRAYS ? NULL : mo_null_tensor(g->context);
    }
    if (round >= NULL_ARRAYS)
        g->tensor = mo_require_grad(mo_full(g->tape, MO_F64, 2, (int64_t[]){2, 2}, 1));
    memset(buffer, 0, sizeof buffer); /* clears what the call before wrote */
    for (int i = 0; i < GIVEN_TENSORS; i++) {
        tensors[i] = g->tensor;
        outputs[i] = NULL;
    }
    if (round != NOTHING && round != FINE_CONTEXT)
        g->number = g->bytes = 2;
    if (round == NEGATIVE)
        g->number = -1, g->word = 99;
    if (round != NOTHING && round != FINE_CONTEXT && round != NULL_ARRAYS) {
        g->tensors = tensors;
        g->outputs = outputs;
        g->buffer = buffer;
        g->text = "/dev/null/inert";
    }
    if (round == NULL_OBJECTS || round == INERT_OBJECTS)
        mo_fail(g->context, MO_MEMORY, "%s", first_error);
}

/* Makes one call. Returns the exit status of the process. */
static int run_call(const inert_call *c, round_of_calls round) {
    given g;
    prepare(&g, round);
    c->call(&g);
    bool failed = round == NULL_OBJECTS || round == INERT_OBJECTS;
    if (failed && g.context && strcmp(c->name, "mo_clear_error") &&
        (mo_context_status(g.context)->code != MO_MEMORY ||
            strcmp(mo_context_status(g.context)->message, first_error))) {
        fprintf(stderr, "%s (%s): the error is now: %s\n", c->name, round_name[round],
            mo_context_status(g.context)->message);
        return CHANGED;
    }
    if (g.gave) {
        fprintf(stderr, "%s (%s): it returned %s\n", c->name, round_name[round], g.gave);
        return GAVE;
    }
    mo_tape_release(g.tape);
    mo_context_release(g.context);
    return 0;
}

static const int ends[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};

/* Runs calls first .. end-1 in a process of their own. Returns its exit status. */
static int run_apart(int first, int end, round_of_calls round) {
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        for (int i = 0; i < (int)(sizeof ends / sizeof *ends); i++) /* cmocka's handlers would let the process go on */
            signal(ends[i], SIG_DFL);
#ifdef __SANITIZE_ADDRESS__
        __lsan_disable();
#endif
        int code = 0;
        for (int i = first; i < end && !code; i++) {
            alarm(SECONDS);
            code = run_call(&inert_calls[i], round);
        }
        exit(code);
    }
    int status = 0;
    if (child < 0 || waitpid(child, &status, 0) < 0)
        fail_msg("%s: cannot run it", inert_calls[first].name);
    return status;
}

static bool survives(int call, round_of_calls round) {
    const char *name = inert_calls[call].name;
    int status = run_apart(call, call + 1, round);
    if (WIFSIGNALED(status))
        fprintf(stderr, "%s (%s): signal %d\n", name, round_name[round], WTERMSIG(status));
    else if (WEXITSTATUS(status) && WEXITSTATUS(status) != CHANGED && WEXITSTATUS(status) != GAVE)
        fprintf(stderr, "%s (%s): exit status %d\n", name, round_name[round], WEXITSTATUS(status));
    return status == 0;
}

static void all_survive(round_of_calls round) {
    int failed = 0;
    assert_true(n_inert_calls > 0);
    if (run_apart(0, n_inert_calls, round) == 0)
        return;
    for (int i = 0; i < n_inert_calls; i++)
        failed += !survives(i, round);
    fail_msg("%s: %d of %d functions fail alone", round_name[round], failed, n_inert_calls);
}

TEST(every_function_takes_what_a_failed_constructor_gave) {
    for (int round = 0; round < ROUNDS; round++)
        all_survive((round_of_calls)round);
}
