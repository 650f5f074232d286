/* tests/tools/test_ranks.c - a run that several ranks share has the bits of one process, however episodes are
 * distributed; if ranks do not fit together, or one fails, all end. Ranks are threads of this process; messages wait in
 * lists, one for each pair of ranks. */
#include "tests/training_run.h"
#include "tools/ranks/ranks.h"

#include <pthread.h>

/* ---- ranks as threads ---- */

enum { MOST_RANKS = 40 };

typedef struct fake_message {
    struct fake_message *next;
    size_t bytes;
    char data[];
} fake_message;

typedef struct fake_world {
    pthread_mutex_t lock;
    pthread_cond_t arrived;
    fake_message *first[MOST_RANKS][MOST_RANKS]; /* from, to */
    size_t waiting, bytes;                       /* number of messages not yet received; bytes of all messages sent */
    struct fake_place {
        struct fake_world *world;
        int rank;
        bool parted;
    } place[MOST_RANKS];
} fake_world;

/* Appends a message to its list. */
static void fake_send(void *state, int to, const void *data, size_t bytes) {
    struct fake_place *place = state;
    fake_world *w = place->world;
    fake_message *m = calloc(1, sizeof *m + bytes), **last;
    m->bytes = bytes;
    if (bytes)
        memcpy(m->data, data, bytes);
    pthread_mutex_lock(&w->lock);
    for (last = &w->first[place->rank][to]; *last; last = &(*last)->next)
        ;
    *last = m;
    w->waiting++;
    w->bytes += bytes;
    pthread_cond_broadcast(&w->arrived);
    pthread_mutex_unlock(&w->lock);
}

/* Waits for the first message of the list and takes it. */
static void fake_receive(void *state, int from, void *data, size_t bytes) {
    struct fake_place *place = state;
    fake_world *w = place->world;
    fake_message *m;
    pthread_mutex_lock(&w->lock);
    while (!(m = w->first[from][place->rank]))
        pthread_cond_wait(&w->arrived, &w->lock);
    w->first[from][place->rank] = m->next;
    w->waiting--;
    pthread_mutex_unlock(&w->lock);
    if (m->bytes != bytes)
        abort(); /* the ranks disagree on the order of messages */
    if (bytes)
        memcpy(data, m->data, bytes);
    free(m);
}

static void fake_world_open(fake_world *w) {
    *w = (fake_world){.lock = PTHREAD_MUTEX_INITIALIZER, .arrived = PTHREAD_COND_INITIALIZER};
}

static ranks_group fake_ranks(fake_world *w, int rank, int size) {
    w->place[rank] = (struct fake_place){.world = w, .rank = rank};
    return (ranks_group){.rank = rank,
        .size = size,
        .program = "fake",
        .send = fake_send,
        .receive = fake_receive,
        .state = &w->place[rank],
        .parted = &w->place[rank].parted};
}

/* Runs `work` in a thread for each rank; rank r gets the member at `members` + r `stride` bytes. Fails if a message has
 * not been received at the end. */
static void fake_world_run(fake_world *w, int size, void *(*work)(void *), void *members, size_t stride) {
    pthread_t thread[MOST_RANKS];
    assert_in_range(size, 1, MOST_RANKS);
    for (int r = 0; r < size; r++)
        assert_int_equal(pthread_create(&thread[r], NULL, work, (char *)members + (size_t)r * stride), 0);
    for (int r = 0; r < size; r++)
        pthread_join(thread[r], NULL);
    assert_int_equal(w->waiting, 0);
}

/* ---- whole runs ---- */

enum { MOST_MEMBERS = 7 };

typedef struct member {
    training_run run;
    ranks_share *share;
    ranks_group ranks;
    bool resume;
    int64_t until, taken; /* until: steps after which this rank stops; taken: its steps at the end */
} member;

static bool member_goes_on(const mo_step_report *r, void *state) {
    member *m = state;
    m->taken = r->step + 1;
    return m->taken < m->until;
}

static void *run_member(void *state) {
    member *m = state;
    mo_trainer *trainer = m->run.trainer;
    if (ranks_join(trainer, &m->ranks, m->resume, &m->share) != MO_OK)
        return NULL;
    if (mo_trainer_run(trainer, member_goes_on, m) == MO_OK && trainer->step == trainer->options.steps)
        mo_trainer_finish(trainer);
    return NULL;
}

/* Opens `size` ranks; options has one entry for each. */
static void open_members(member *m, fake_world *world, int size, const run_options *o, const char *folder) {
    fake_world_open(world);
    for (int r = 0; r < size; r++)
        m[r] = (member){.run = run_open(&o[r], folder), .ranks = fake_ranks(world, r, size), .until = o[r].steps};
}

static void close_members(member *m, int size) {
    for (int r = 0; r < size; r++) {
        mo_trainer_release(m[r].run.trainer);
        ranks_leave(m[r].share);
        m[r].run.trainer = NULL;
        run_close(&m[r].run);
    }
}

static fake_world shared_world; /* of share_run */

/* Runs to the end, or until rank `stopper` stops after `until` steps. */
static void share_run(const run_options *o, int size, const char *folder, bool resume, int stopper, int64_t until) {
    member m[MOST_MEMBERS];
    run_options each[MOST_MEMBERS] = {*o};
    for (int r = 1; r < size; r++)
        each[r] = *o;
    open_members(m, &shared_world, size, each, folder);
    for (int r = 0; r < size; r++)
        m[r].resume = resume;
    m[stopper].until = until;
    fake_world_run(&shared_world, size, run_member, m, sizeof *m);
    for (int r = 0; r < size; r++) {
        assert_run_ok(&m[r].run);
        assert_int_equal(m[r].taken, until);
        assert_same_parameters(m[0].run.model, m[r].run.model);
    }
    close_members(m, size);
}

TEST_OF(any_number_of_ranks_gives_the_same_run, scratch *s) {
    static const int episodes[] = {3, 4, 7};
    for (size_t k = 0; k < sizeof episodes / sizeof *episodes; k++) {
        run_options o = usual_run;
        o.episodes = episodes[k];
        const char *one = scratch_folder(s, "one");
        run_until(&o, one, false, o.steps);
        for (int size = 2; size <= o.episodes; size++) {
            const char *several = scratch_folder(s, "several");
            share_run(&o, size, several, false, 0, o.steps);
            assert_same_run(one, several);
        }
    }
}

TEST_OF(a_run_goes_on_with_other_ranks, scratch *s) {
    run_options o = usual_run;
    o.episodes = 5;
    const char *one = scratch_folder(s, "one"), *several = scratch_folder(s, "several");
    run_until(&o, one, false, o.steps);
    share_run(&o, 2, several, false, 1, 2); /* rank 1 gets the signal, and both stop */
    run_until(&o, several, true, 4);
    share_run(&o, 3, several, true, 0, 5);
    HELD(bytes) file = run_file(several, "run.json");
    bytes_append(&file, "", 1);
    assert_non_null(strstr((char *)file.data, "\"size\": 3"));
    share_run(&o, 4, several, true, 3, o.steps);
    assert_same_run(one, several);
}

/* Fails unless every rank ends with the status of the rank that failed, and rank 0's message names it. */
static void expect_refused(
    const run_options *o, int size, const char *folder, int failed, mo_code code, const char *part) {
    static fake_world world;
    member m[4];
    open_members(m, &world, size, o, folder);
    fake_world_run(&world, size, run_member, m, sizeof *m);
    for (int r = 0; r < size; r++) {
        const mo_status *status = mo_context_status(m[r].run.ctx);
        assert_int_equal(status->code, code);
        if (!strstr(status->message, part))
            fail_msg("rank %d: expected '%s', found '%s'", r, part, status->message);
        assert_int_equal(m[r].taken, 0);
    }
    char name[32];
    snprintf(name, sizeof name, "rank %d of %d: ", failed, size);
    assert_int_equal(strstr(mo_context_status(m[0].run.ctx)->message, name) != NULL, failed > 0);
    close_members(m, size);
}

TEST_OF(ranks_that_differ_are_refused, scratch *s) {
    run_options o[3] = {usual_run, usual_run, usual_run};
    const char *folder = scratch_path(s, "refused");
    o[1].lr = 0.5;
    expect_refused(o, 3, folder, 1, MO_INVALID, "train: expected trainer.adamw.lr = 0.01, as rank 0 has it, found 0.5");
    assert_int_equal(access(folder, F_OK), -1);
    o[1] = usual_run;
    o[2].episodes = 2;
    expect_refused(o, 3, folder, 2, MO_INVALID, "train: expected trainer.episodes_per_step = 3");
}

TEST(more_ranks_than_episodes_are_refused) {
    run_options o[4] = {usual_run, usual_run, usual_run, usual_run};
    expect_refused(o, 4, scratch_path(*state, "refused"), 0, MO_INVALID, "4 processes share a step of 3 episodes");
}

/* A rank that fails at one of its messages with gradients. */
typedef struct watched {
    ranks_group ranks;
    mo_context *ctx;
    size_t bytes;        /* bytes of a sum of gradients */
    int fails_at, calls; /* such messages */
} watched;

static void note_call(watched *w, size_t bytes) {
    if (bytes == w->bytes && w->calls++ == w->fails_at)
        mo_fail(w->ctx, MO_NUMERICAL, "a failure in the middle of messages");
}

static void watched_send(void *state, int to, const void *data, size_t bytes) {
    watched *w = state;
    w->ranks.send(w->ranks.state, to, data, bytes);
    note_call(w, bytes);
}

static void watched_receive(void *state, int from, void *data, size_t bytes) {
    watched *w = state;
    w->ranks.receive(w->ranks.state, from, data, bytes);
    note_call(w, bytes);
}

static void watch_member(member *m, watched *w, int fails_at) {
    const mo_trainer *trainer = m->run.trainer;
    size_t bytes = ranks_gradient_bytes(trainer);
    *w = (watched){.ranks = m->ranks, .ctx = m->run.ctx, .bytes = bytes, .fails_at = fails_at};
    m->ranks.send = watched_send;
    m->ranks.receive = watched_receive;
    m->ranks.state = w;
}

/* Rank `failed` fails at one of its calls: all ranks must have its error, and still the first weights. */
static void expect_failure_at(scratch *s, int failed, int call) {
    static fake_world world;
    run_options o[3] = {usual_run, usual_run, usual_run};
    member m[3];
    watched w;
    const char *folder = scratch_folder(s, "failed");
    HELD(training_run) fresh = run_open(&usual_run, folder);
    open_members(m, &world, 3, o, folder);
    watch_member(&m[failed], &w, call);
    fake_world_run(&world, 3, run_member, m, sizeof *m);
    assert_true(w.calls > call);
    for (int r = 0; r < 3; r++) {
        const mo_status *status = mo_context_status(m[r].run.ctx);
        assert_int_equal(status->code, MO_NUMERICAL);
        assert_non_null(strstr(status->message, "a failure in the middle of messages"));
        assert_int_equal(strstr(status->message, "rank 2 of 3") != NULL, failed == 2 && r != failed);
        assert_int_equal(m[r].taken, 0);
        mo_clear_error(m[r].run.ctx);
        assert_same_parameters(fresh.model, m[r].run.model);
    }
    close_members(m, 3);
}

TEST(a_failure_amid_messages_ends_all) {
    for (int failed = 0; failed < 3; failed++)
        for (int call = 0; call < (failed ? 3 : 4);
             call++) /* the sum comes and goes, and rank 0 sends the total to two */
            expect_failure_at(*state, failed, call);
}

static bool spoil(const mo_step_report *r, void *state) {
    member *m = state;
    m->taken = r->step + 1;
    if (m->ranks.rank == m->ranks.size - 1 && m->taken == 2)
        mo_fail(m->run.ctx, MO_IO, "the disk is full");
    return true;
}

static void *run_spoiled(void *state) {
    member *m = state;
    if (ranks_join(m->run.trainer, &m->ranks, false, &m->share) == MO_OK)
        mo_trainer_run(m->run.trainer, spoil, m);
    return NULL;
}

TEST(a_failure_between_steps_ends_all_at_one_step) {
    static fake_world world;
    run_options o[3] = {usual_run, usual_run, usual_run};
    member m[3];
    open_members(m, &world, 3, o, scratch_path(*state, "spoiled"));
    fake_world_run(&world, 3, run_spoiled, m, sizeof *m);
    for (int r = 0; r < 3; r++) {
        assert_int_equal(m[r].taken, 2);
        assert_int_equal(mo_context_status(m[r].run.ctx)->code, MO_IO);
        assert_non_null(strstr(mo_context_status(m[r].run.ctx)->message, "the disk is full"));
    }
    assert_non_null(strstr(mo_context_status(m[0].run.ctx)->message, "rank 2 of 3"));
    close_members(m, 3);
}
