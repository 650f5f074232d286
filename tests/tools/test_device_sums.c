/* tests/tools/test_device_sums.c - ranks with one device each add up gradients by one collective sum per step: the run
 * of one process up to rounding, or bit for bit if asked. If a sum fails, all ranks end. Ranks are processes;
 * messages go through sockets, one per pair of ranks. Skipped with fewer than three CUDA devices; the emulated device
 * counts as any number. */
#include "tests/device.h"
#include "tests/training_run.h"
#include "tests/worst_of.h"
#include "tools/ranks/ranks.h"

#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>

/* ---- ranks as processes ---- */

enum { MOST_FORKED = 4 };

typedef struct forked_ranks {
    int socket[MOST_FORKED][MOST_FORKED]; /* socket[r][q]: of rank r, to rank q */
} forked_ranks;

typedef struct forked_place {
    const forked_ranks *all;
    int rank;
} forked_place;

/* If the other end is closed the process ends, as mpirun would end it. */
static void forked_send(void *state, int to, const void *data, size_t bytes) {
    const forked_place *p = state;
    for (size_t at = 0; at < bytes;) {
        ssize_t n = send(p->all->socket[p->rank][to], (const char *)data + at, bytes - at, MSG_NOSIGNAL);
        if (n <= 0)
            _exit(99);
        at += (size_t)n;
    }
}

static void forked_receive(void *state, int from, void *data, size_t bytes) {
    const forked_place *p = state;
    for (size_t at = 0; at < bytes;) {
        ssize_t n = recv(p->all->socket[p->rank][from], (char *)data + at, bytes - at, 0);
        if (n <= 0)
            _exit(99);
        at += (size_t)n;
    }
}

/* Runs `work` in a process for each rank. No context may exist before, as threads and devices do not survive a fork.
 * Returns whether all processes ended without failure. */
static bool fork_ranks(int size, void (*work)(const ranks_group *ranks, void *state), void *state) {
    forked_ranks all = {{{0}}};
    pid_t pid[MOST_FORKED];
    bool well = true;
    for (int r = 0; r < size; r++)
        for (int q = 0; q < r; q++) {
            int ends[2];
            well &= !socketpair(AF_UNIX, SOCK_STREAM, 0, ends);
            all.socket[r][q] = ends[0];
            all.socket[q][r] = ends[1];
        }
    for (int r = 0; well && r < size; r++) {
        pid[r] = fork();
        if (pid[r])
            continue;
        for (int other = 0; other < size; other++) /* so that a socket closes when its rank ends */
            for (int q = 0; other != r && q < size; q++)
                if (q != other)
                    close(all.socket[other][q]);
        forked_place place = {&all, r};
        ranks_group ranks = {.rank = r,
            .size = size,
            .program = "forked",
            .send = forked_send,
            .receive = forked_receive,
            .state = &place};
        work(&ranks, state);
        exit(0); /* also writes the coverage counters */
    }
    for (int r = 0; r < size; r++)
        for (int q = 0; q < size; q++)
            if (q != r)
                close(all.socket[r][q]);
    for (int status, r = 0; well && r < size; r++)
        well &= waitpid(pid[r], &status, 0) == pid[r] && status == 0;
    return well;
}

/* Allocates memory that all forked processes share. */
static void *shared_memory(size_t bytes) {
    void *block = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (block == MAP_FAILED)
        abort();
    return block;
}

/* ---- a run of several ranks ---- */

enum { STEPS = 10, EPISODES = 5, MOST_VALUES = 1 << 14, FAILED_STEP = 3 };

/* Allowed difference: relative to each loss, and to the norm of the weights. AdamW divides by the root of the second
 * moment, which enlarges the rounding of small gradients. */
static const double tolerance = 1e-5;
/* This weight has no effect, as softmax over hops cancels it: its gradient is only rounding, which AdamW turns into
 * steps of full size. */
static const char *const without_effect = "encoder.att_mlp.2.bias";

/* The result of a rank, in shared memory. */
typedef struct outcome {
    mo_code code;
    char message[1024];
    int sums, steps; /* number of sums by the device, and of steps taken */
    double loss[STEPS];
    int n, left_out;          /* number of parameters, and the index of the parameter without effect */
    float value[MOST_VALUES]; /* its parameters */
} outcome;

/* A run of `size` ranks. fail_first, fail_later: value of MOCHI_CUDA_HOST_FAIL for the last rank, from the start or
 * from FAILED_STEP on. */
typedef struct shared_run {
    const char *folder, *fail_first, *fail_later;
    bool deterministic, one_device;
    outcome *of; /* [size] */
} shared_run;

static struct {
    int devices;
    bool emulated;
} * machine;

/* ---- in the process of a rank ---- */

static int sums;
static const mo_collective *vendors;

static void count_sum(mo_context *ctx, const mo_view *x) {
    sums++;
    vendors->sum(ctx, x);
}

/* Replaces the context's sum by one that counts calls. */
static void watch_sums(mo_context *ctx) {
    static mo_backend backend;
    static mo_collective collective;
    vendors = ctx->backend->collective;
    backend = *ctx->backend;
    collective = *vendors;
    collective.sum = count_sum;
    backend.collective = &collective;
    ctx->backend = &backend;
}

typedef struct progress_of_rank {
    const shared_run *run;
    outcome *out;
    bool last;
} progress_of_rank;

static bool note_step(const mo_step_report *r, void *state) {
    progress_of_rank *p = state;
    p->out->loss[r->step] = r->loss;
    p->out->steps = (int)r->step + 1;
    if (p->run->fail_later && p->out->steps == FAILED_STEP) {
        setenv("MOCHI_CUDA_HOST_PATIENCE", "2", 1);
        if (p->last)
            setenv("MOCHI_CUDA_HOST_FAIL", p->run->fail_later, 1);
    }
    return true;
}

static void note_parameters(const mo_trainer *trainer, outcome *out) {
    for (int i = 0; i < trainer->n; i++) {
        int64_t n = mo_numel(trainer->parameter[i]);
        if (!strcmp(trainer->parameter[i]->name, without_effect))
            out->left_out = out->n;
        if (out->n + n <= MOST_VALUES)
            mo_tensor_read(trainer->parameter[i], out->value + out->n, (size_t)n * sizeof(float));
        out->n += (int)n;
    }
}

static void take_part(const ranks_group *ranks, void *state) {
    const shared_run *s = state;
    ranks_group mine = *ranks;
    progress_of_rank p = {s, &s->of[ranks->rank], ranks->rank == ranks->size - 1};
    run_options o = usual_run;
    o.device = MO_CUDA;
    o.index = s->one_device ? 0 : ranks->rank;
    o.episodes = EPISODES;
    o.steps = STEPS;
    mine.deterministic = s->deterministic;
    ranks_share *share = NULL;
    HELD(training_run) run = run_open(&o, s->folder);
    watch_sums(run.ctx);
    if (s->fail_first) {
        setenv("MOCHI_CUDA_HOST_PATIENCE", "2", 1);
        if (p.last)
            setenv("MOCHI_CUDA_HOST_FAIL", s->fail_first, 1);
    }
    if (ranks->size > 1)
        ranks_join(run.trainer, &mine, false, &share);
    if (mo_trainer_run(run.trainer, note_step, &p) == MO_OK)
        mo_trainer_finish(run.trainer);
    note_parameters(run.trainer, p.out);
    p.out->sums = sums;
    p.out->code = mo_context_status(run.ctx)->code;
    snprintf(p.out->message, sizeof p.out->message, "%s", mo_context_status(run.ctx)->message);
    unsetenv("MOCHI_CUDA_HOST_FAIL");
    mo_trainer_release(run.trainer);
    run.trainer = NULL;
    ranks_leave(share);
}

static void look_at_machine(const ranks_group *ranks, void *state) {
    char text[512];
    machine->devices = mo_device_count(MO_CUDA);
    machine->emulated = mo_device_describe(MO_CUDA, text, sizeof text) && strstr(text, "emulated");
}

/* ---- in the process of the test ---- */

static void run_shared(shared_run *s, int size) {
    if (!s->of)
        s->of = shared_memory(MOST_FORKED * sizeof *s->of);
    folder_remove(s->folder); /* remains of another run */
    memset(s->of, 0, MOST_FORKED * sizeof *s->of);
    assert_true(fork_ranks(size, take_part, s));
}

static void expect_fine(const shared_run *s, int size, int expected_sums) {
    for (int r = 0; r < size; r++) {
        const outcome *out = &s->of[r];
        if (out->code)
            fail_msg("rank %d: %s", r, out->message);
        assert_in_range(out->n, 1, MOST_VALUES);
        assert_int_equal(out->steps, STEPS);
        assert_int_equal(out->sums, expected_sums);
        assert_memory_equal(out->value, s->of[0].value, sizeof out->value);
        assert_memory_equal(out->loss, s->of[0].loss, sizeof out->loss);
    }
}

static void expect_sums(const char *folder, const char *word) {
    char expected[64];
    HELD(bytes) file = run_file(folder, "run.json");
    bytes_append(&file, "", 1);
    snprintf(expected, sizeof expected, "\"sums\": \"%s\"", word);
    assert_non_null(strstr((char *)file.data, expected));
}

/* The run of one process, which several tests need. */
static shared_run one;

static int run_alone(void **state) {
    int code = scratch_create(state);
    one.folder = scratch_path(*state, "one");
    run_shared(&one, 1);
    expect_fine(&one, 1, 0);
    return code;
}

static const fixtures around_all = {run_alone, scratch_release};

static void compare_runs(const outcome *other, int size) {
    double worst_loss = 0, square = 0, difference = 0;
    int differ = 0;
    for (int k = 0; k < STEPS; k++)
        worst_loss = worst_of(worst_loss, fabs(other->loss[k] - one.of->loss[k]) / fabs(one.of->loss[k]));
    for (int i = 0; i < one.of->n; i++) {
        double between = i == one.of->left_out ? 0 : (double)other->value[i] - one.of->value[i];
        square += (double)one.of->value[i] * one.of->value[i];
        difference += between * between;
        differ += between != 0;
    }
    difference = sqrt(difference / square);
    print_message("%d steps of %d episodes on %d devices: %d sums, losses differ by at most %.2g of themselves, "
                  "weights by %.2g of their norm; %d of %d differ\n",
        STEPS, EPISODES, size, other->sums, worst_loss, difference, differ, one.of->n);
    assert_true(worst_loss <= tolerance && difference <= tolerance);
    assert_true(differ > 0); /* otherwise the sums had the order of one process, and the test shows nothing */
}

TEST_OF(devices_add_up_once_a_step, scratch *s) {
    const char *folder = scratch_path(s, "several");
    shared_run several = {.folder = folder};
    for (int size = 2; size <= 3; size++) {
        run_shared(&several, size);
        expect_fine(&several, size, STEPS);
        expect_sums(folder, "devices");
        compare_runs(several.of, size);
    }
}

TEST_OF(deterministic_sums_have_the_bits_of_one_process, scratch *s) {
    const char *folder = scratch_path(s, "several");
    shared_run several = {.folder = folder, .deterministic = true};
    for (int size = 2; size <= 3; size++) {
        several.one_device = size == 2;
        run_shared(&several, size);
        expect_fine(&several, size, 0);
        expect_sums(folder, "messages");
        assert_memory_equal(one.of->value, several.of->value, sizeof one.of->value);
        assert_same_run(one.folder, folder);
    }
}

/* If one rank lacks the library for sums, the ranks use messages, with the bits of one process. */
TEST_OF(a_rank_without_the_library_leaves_it_to_messages, scratch *s) {
    if (!machine->emulated)
        skip("only the emulated device fails as planned");
    const char *folder = scratch_path(s, "several");
    shared_run several = {.folder = folder, .fail_first = "seam_no_collective"};
    run_shared(&several, 2);
    expect_fine(&several, 2, 0);
    assert_same_run(one.folder, folder);
}

/* Fails unless every rank ends with an error at that step, and one of them names the reason. */
static void expect_failure(shared_run s, scratch *in, int steps, const char *part) {
    bool named = false;
    s.folder = scratch_path(in, "failed");
    run_shared(&s, 2);
    for (int r = 0; r < 2; r++) {
        assert_int_not_equal(s.of[r].code, MO_OK);
        assert_int_equal(s.of[r].steps, steps);
        named |= strstr(s.of[r].message, part) != NULL;
    }
    if (!named)
        fail_msg("expected '%s', rank 0 said '%s'", part, s.of[0].message);
}

TEST(a_sum_that_fails_ends_all_ranks) {
    if (!machine->emulated)
        skip("only the emulated device fails as planned");
    expect_failure((shared_run){.fail_later = "seam_sum_ranks"}, *state, FAILED_STEP,
        "train: step 3: rank 1 of 2: cuda: no sum over the processes: a failure planned by the test");
    expect_failure((shared_run){.fail_later = "seam_sum_ranks_late"}, *state, FAILED_STEP,
        "step 3: cuda: the device stopped: a sum over the processes has not come");
    expect_failure((shared_run){.fail_first = "seam_join"}, *state, 0,
        "cuda: the processes cannot join: another process has not joined");
    expect_failure((shared_run){.fail_first = "seam_wait"}, *state, 0, "rank 1 of 2: ");
}

TEST(ranks_of_one_device_are_refused) {
    expect_failure(
        (shared_run){.one_device = true}, *state, 0, "train: ranks 0 and 1 have the same device, expected one a rank");
}

int main(void) {
    setenv("MOCHI_CUDA_HOST_DEVICES", "3", 1);
    machine = shared_memory(sizeof *machine);
    if (!fork_ranks(1, look_at_machine, NULL) || machine->devices < 3) {
        printf("skipped: %d devices of CUDA, expected 3\n", machine->devices);
        return 77;
    }
    return run_suite();
}
