/* tests/cli/test_cli_digest.c - `mochi train --digest`: runs that compute the same have the same file, and the health
 * of solves changes nothing of it. */
#include "program.h"

#define TRAIN "train", "--pool", "mutag,cora", "--recipe", "paper", "--dim", "8", "--k", "2:4", "--q", "2:5", "--quiet"
#define DIGESTED "--steps", "9", "--checkpoint-every", "4", "--digest"

/* Whether the digests of run `name` are those of run a. */
static bool same_digests(const program *p, const char *name) {
    char *text[2];
    size_t n[2];
    read_file(in_folder(p, "a/digests.jsonl"), &text[0], &n[0]);
    read_file(in_folder(p, name), &text[1], &n[1]);
    assert_true(n[0] > 9 * 40 * 32);
    bool same = n[0] == n[1] && !memcmp(text[0], text[1], n[0]);
    free(text[0]);
    free(text[1]);
    return same;
}

static int create_runs(void **state) {
    if (program_create(state))
        return -1;
    program *p = *state;
    RUN(p, TRAIN, DIGESTED, "--threads", "1", "--out", in_folder(p, "a"));
    assert_ended(p, 0, NULL);
    return 0;
}

static const fixtures around_all = {create_runs, program_release};

TEST(threads_change_no_digest_and_a_seed_does) {
    program *p = *state;
    RUN(p, TRAIN, DIGESTED, "--threads", "2", "--out", in_folder(p, "b"));
    assert_ended(p, 0, NULL);
    assert_true(same_digests(p, "b/digests.jsonl"));
    RUN(p, TRAIN, DIGESTED, "--threads", "1", "--seed", "1", "--out", in_folder(p, "c"));
    assert_ended(p, 0, NULL);
    assert_false(same_digests(p, "c/digests.jsonl"));
}

/* The figures of solves are in every line of the log; all else is as without them. */
TEST(the_health_of_solves_changes_nothing_else) {
    program *p = *state;
    RUN(p, TRAIN, DIGESTED, "--threads", "1", "--solve-health", "--out", in_folder(p, "healthy"));
    assert_ended(p, 0, NULL);
    assert_true(same_digests(p, "healthy/digests.jsonl"));
    char *text, *line, *next;
    size_t n;
    int lines = 0;
    read_file(in_folder(p, "a/log.jsonl"), &text, &n);
    text[n] = '\0';
    assert_null(strstr(text, "solves"));
    free(text);
    read_file(in_folder(p, "healthy/log.jsonl"), &text, &n);
    text[n] = '\0';
    for (line = text; (next = strchr(line, '\n')); line = next + 1, lines++) {
        json_t *step = json_loadb(line, (size_t)(next - line), 0, NULL), *solves = json_object_get(step, "solves");
        assert_true(json_integer_value(json_object_get(solves, "matrices")) >= 1);
        double rcond = json_real_value(json_object_get(solves, "rcond"));
        assert_true(rcond > 1e-7 && rcond <= 1);
        assert_true(json_real_value(json_object_get(solves, "residual")) < 30);
        json_decref(step);
    }
    assert_int_equal(lines, 9);
    free(text);
}
