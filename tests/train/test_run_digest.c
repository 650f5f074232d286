/* tests/train/test_run_digest.c - the digests of a run: the same at any thread count and each time, continued by a
 * resumed run, and of every tensor of a step. */
#include "tests/training_run.h"

#include <inttypes.h>

static const fixtures around_all = {scratch_create, planted_release};

static run_options digested_run(void) {
    run_options o = usual_run;
    o.digest = true;
    return o;
}

static const char *folder_of(scratch *s, const char *name) {
    static char folder[400];
    snprintf(folder, sizeof folder, "%s/%s", s->folder, name);
    return folder;
}

/* A whole run; its digests. */
static bytes run_digests(scratch *s, const run_options *o, int64_t stop) {
    const char *folder = folder_of(s, "run");
    if (stop)
        run_until(o, folder, false, stop);
    run_until(o, folder, stop > 0, o->steps);
    bytes digests = run_file(folder, "digests.jsonl");
    folder_remove(folder);
    return digests;
}

TEST(every_run_has_the_same_digests) {
    scratch *s = *state;
    static const int threads[] = {1, 2, 3, 8, 1, 8, 3, 2, 8, 1};
    for (int episodes = 1; episodes <= 3; episodes += 2) {
        run_options o = digested_run();
        o.episodes = episodes;
        bytes first = run_digests(s, &o, 0);
        for (size_t i = 1; i < sizeof threads / sizeof *threads; i++) {
            o.threads = threads[i];
            bytes again = run_digests(s, &o, 0);
            assert_int_equal(again.n, first.n);
            assert_memory_equal(again.data, first.data, first.n);
            bytes_release(&again);
        }
        print_message("%d episodes a step: %zu runs of %" PRId64
                      " steps on 1, 2, 3 and 8 threads, %zu bytes of digests\n",
            episodes, sizeof threads / sizeof *threads, o.steps, first.n);
        bytes_release(&first);
    }
}

TEST(a_resumed_run_continues_its_digests) {
    scratch *s = *state;
    run_options o = digested_run();
    bytes whole = run_digests(s, &o, 0);
    for (int64_t stop = 1; stop < o.steps; stop++) {
        bytes resumed = run_digests(s, &o, stop);
        assert_int_equal(resumed.n, whole.n);
        assert_memory_equal(resumed.data, whole.data, whole.n);
        bytes_release(&resumed);
    }
    bytes_release(&whole);
}

TEST(other_seeds_have_other_digests) {
    scratch *s = *state;
    run_options o = digested_run();
    bytes first = run_digests(s, &o, 0);
    o.seed++;
    bytes other = run_digests(s, &o, 0);
    assert_true(first.n != other.n || memcmp(first.data, other.data, first.n) != 0);
    bytes_release(&first);
    bytes_release(&other);
}

/* The digests of line `number`; owned by *line. */
static json_t *digests_of_line(const bytes *b, int number, json_t **line) {
    const char *at = (const char *)b->data, *end;
    for (; number > 0; number--)
        at = strchr(at, '\n') + 1;
    end = strchr(at, '\n');
    *line = json_loadb(at, (size_t)(end - at), JSON_REJECT_DUPLICATES, NULL);
    assert_true(json_is_object(*line));
    return json_object_get(*line, "digests");
}

static void assert_digest_of(json_t *digests, const char *kind, const char *name) {
    char key[200];
    snprintf(key, sizeof key, "%s.%s", kind, name);
    const char *digits = json_string_value(json_object_get(digests, key));
    if (!digits || strlen(digits) != 32)
        fail_msg("%s has no digest", key);
}

/* Also, that a step changes the digest of every parameter that has a gradient other than zero. */
TEST(every_tensor_of_a_step_has_a_digest) {
    scratch *s = *state;
    run_options o = digested_run();
    const char *folder = folder_of(s, "run");
    run_until(&o, folder, false, o.steps);
    bytes file = run_file(folder, "digests.jsonl");
    training_run run = run_open(&o, folder);
    json_t *line[2], *digests[2];
    int changed = 0, n = mo_model_n_parameters(run.model);
    bytes_append(&file, "", 1);
    for (int i = 0; i < 2; i++)
        digests[i] = digests_of_line(&file, i, &line[i]);
    for (int i = 0; i < n; i++) {
        char key[200];
        const char *name = mo_tensor_name(mo_model_parameter(run.model, i));
        assert_digest_of(digests[0], "gradient", name);
        assert_digest_of(digests[0], "parameter", name);
        snprintf(key, sizeof key, "parameter.%s", name);
        changed += !json_equal(json_object_get(digests[0], key), json_object_get(digests[1], key));
    }
    assert_true(n > 0 && changed > n / 2);
    for (int j = 0; j < o.episodes; j++) {
        char kind[32];
        static const char *const parts[] = {"support", "query", "support_label", "query_label", "loss"};
        snprintf(kind, sizeof kind, "episode.%d", j);
        for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
            assert_digest_of(digests[0], kind, parts[i]);
    }
    print_message("%d parameters, %zu digests a step\n", n, json_object_size(digests[0]));
    run_close(&run);
    json_decref(line[0]);
    json_decref(line[1]);
    bytes_release(&file);
    folder_remove(folder);
}

TEST(digests_and_replay_exclude_each_other) {
    scratch *s = *state;
    run_options o = digested_run();
    training_run run = run_open(&o, folder_of(s, "run"));
    mo_trainer_options options = run.trainer->options;
    options.replay = true;
    assert_null(mo_trainer_create(run.model, run.pool, &options));
    assert_failed(run.ctx, MO_INVALID, PARTS("digest and replay are both asked for, expected one"));
    run_close(&run);
}
