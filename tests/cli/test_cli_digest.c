/* tests/cli/test_cli_digest.c - `mochi train --digest`, `mochi diff-run` and `mochi verify-resume`: what two runs
 * share, where they part, and that a repetition from the checkpoint is the same. */
#include "program.h"

#include "tools/inside.h"

#define TRAIN "train", "--pool", "mutag,cora", "--recipe", "paper", "--dim", "8", "--k", "2:4", "--q", "2:5", "--quiet"

static void train_run(program *p, const char *name, const char *threads, const char *steps, const char *seed) {
    RUN(p, TRAIN, "--steps", steps, "--checkpoint-every", "4", "--digest", "--threads", threads, "--seed", seed,
        "--out", in_folder(p, name));
    assert_ended(p, 0, NULL);
}

/* Group set-up: a run, the same again on two threads, one of other steps. */
static int create_runs(void **state) {
    if (program_create(state))
        return -1;
    train_run(*state, "a", "1", "9", "0");
    train_run(*state, "b", "2", "9", "0");
    train_run(*state, "c", "1", "9", "1");
    return 0;
}

/* Replaces the first `from` at or after the place `after` of a file by a text of the same length. */
static void replace_in(const program *p, const char *name, const char *after, const char *from, const char *to) {
    char *text;
    size_t n;
    read_file(in_folder(p, name), &text, &n);
    text[n] = '\0';
    char *at = strstr(text, after);
    at = at ? strstr(at, from) : NULL;
    assert_non_null(at);
    assert_int_equal(strlen(from), strlen(to));
    memcpy(at, to, strlen(to));
    write_text(in_folder(p, name), text);
    free(text);
}

static void copy_text(const program *p, const char *from, const char *to) {
    char *text;
    size_t n;
    read_file(in_folder(p, from), &text, &n);
    text[n] = '\0';
    write_text(in_folder(p, to), text);
    free(text);
}

/* The figures of solves are in every line of the log; all else is as without them. */
static void the_health_of_solves_changes_nothing_else(void **state) {
    program *p = *state;
    RUN(p, TRAIN, "--steps", "9", "--checkpoint-every", "4", "--digest", "--threads", "1", "--seed", "0",
        "--solve-health", "--out", in_folder(p, "healthy"));
    assert_ended(p, 0, NULL);
    RUN(p, "diff-run", in_folder(p, "a"), in_folder(p, "healthy"));
    assert_ended(p, 0, NULL);
    assert_non_null(strstr(p->out, "the same\n"));
    RUN(p, "verify-resume", in_folder(p, "healthy"));
    assert_ended(p, 0, NULL);
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

static void equal_runs_are_the_same(void **state) {
    program *p = *state;
    RUN(p, "diff-run", in_folder(p, "a"), in_folder(p, "b"));
    assert_ended(p, 0, NULL);
    assert_non_null(strstr(p->out, ": 9 steps, "));
    assert_non_null(strstr(p->out, "the same\n"));
    RUN(p, "diff-run", in_folder(p, "a"), in_folder(p, "b/digests.jsonl"), "--json");
    assert_ended(p, 0, NULL);
    json_t *o = json_line(p, 0, "kind,run,other,same,steps,step,tensor,tensors_apart");
    assert_true(json_is_true(json_object_get(o, "same")));
    assert_int_equal(json_real_of(o, "steps"), 9);
    json_decref(o);
}

static void the_first_difference_is_named(void **state) {
    program *p = *state;
    static const char key[] = "\"gradient.encoder.input_proj.0.weight\":\"";
    RUN(p, "diff-run", in_folder(p, "a"), in_folder(p, "c"));
    assert_ended(p, 1, NULL);
    assert_int_equal(strncmp(p->out, "step 0: episode.0.", 18), 0);
    copy_text(p, "a/digests.jsonl", "one.jsonl");
    char *text, from[64], to[64];
    size_t n;
    read_file(in_folder(p, "one.jsonl"), &text, &n);
    text[n] = '\0';
    const char *digits = strstr(strstr(text, "{\"step\":5,"), key) + strlen(key);
    snprintf(from, sizeof from, "%.32s", digits);
    snprintf(to, sizeof to, "%c%s", from[0] == '0' ? '1' : '0', from + 1);
    free(text);
    replace_in(p, "one.jsonl", "{\"step\":5,", from, to);
    RUN(p, "diff-run", in_folder(p, "a"), in_folder(p, "one.jsonl"));
    assert_ended(p, 1, NULL);
    assert_int_equal(strncmp(p->out, "step 5: gradient.encoder.input_proj.0.weight differs (", 54), 0);
    assert_non_null(strstr(p->out, ", the first of 1 in that step; the 5 steps before it are the same\n"));
    RUN(p, "diff-run", in_folder(p, "a"), in_folder(p, "one.jsonl"), "--json");
    assert_ended(p, 1, NULL);
    json_t *o = json_line(p, 0, "kind,run,other,same,steps,step,tensor,tensors_apart");
    assert_int_equal(json_real_of(o, "step"), 5);
    assert_string_equal(json_text_of(o, "tensor"), "gradient.encoder.input_proj.0.weight");
    json_decref(o);
}

static void a_run_that_ends_earlier_is_told(void **state) {
    program *p = *state;
    char *text;
    size_t n;
    read_file(in_folder(p, "a/digests.jsonl"), &text, &n);
    text[n] = '\0';
    *strstr(text, "{\"step\":6,") = '\0';
    write_text(in_folder(p, "six.jsonl"), text);
    free(text);
    for (int turn = 0; turn < 2; turn++) {
        RUN(p, "diff-run", in_folder(p, turn ? "a" : "six.jsonl"), in_folder(p, turn ? "six.jsonl" : "a"));
        assert_ended(p, 1, NULL);
        assert_non_null(strstr(p->out, "six.jsonl ends before step 6; the 6 steps before it are the same in both\n"));
    }
}

/* Files by hand: a step that one run lacks, a tensor that one step lacks, a run that begins later. */
static void missing_steps_and_tensors_are_told(void **state) {
    program *p = *state;
    static const char *const full = "{\"step\":0,\"digests\":{\"x\":\"a\"}}\n{\"step\":1,\"digests\":{\"x\":\"b\"}}\n"
                                    "{\"step\":2,\"digests\":{\"x\":\"c\"}}\n";
    write_text(in_folder(p, "full.jsonl"), full);
    write_text(
        in_folder(p, "gap.jsonl"), "{\"step\":0,\"digests\":{\"x\":\"a\"}}\n{\"step\":2,\"digests\":{\"x\":\"c\"}}\n");
    write_text(in_folder(p, "more.jsonl"), "{\"step\":0,\"digests\":{\"x\":\"a\",\"y\":\"a\"}}\n");
    write_text(in_folder(p, "late.jsonl"), strchr(full, '\n') + 1);
    for (int turn = 0; turn < 2; turn++) {
        RUN(p, "diff-run", in_folder(p, turn ? "full.jsonl" : "gap.jsonl"),
            in_folder(p, turn ? "gap.jsonl" : "full.jsonl"));
        assert_ended(p, 1, NULL);
        assert_non_null(strstr(p->out, "gap.jsonl ends before step 1; the 1 steps before it are the same in both\n"));
        RUN(p, "diff-run", in_folder(p, turn ? "full.jsonl" : "more.jsonl"),
            in_folder(p, turn ? "more.jsonl" : "full.jsonl"));
        assert_ended(p, 1, NULL);
        assert_int_equal(strncmp(p->out, "step 0: y differs (", 19), 0);
        RUN(p, "diff-run", in_folder(p, turn ? "full.jsonl" : "late.jsonl"),
            in_folder(p, turn ? "late.jsonl" : "full.jsonl"));
        assert_ended(p, 0, NULL);
        assert_non_null(strstr(p->out, ": 2 steps, 2 digests, the same\n"));
    }
}

static void files_that_hold_no_digests_are_refused(void **state) {
    program *p = *state;
    static const char *const texts[] = {"", "{\"step\":0}\n", "{\"step\":0,\"digests\":{\"a\":1}}\n",
        "{\"step\":0,\"digests\":{\"a\":\"b\"}}", "{\"step\":0,\"digests\":{\"a\":\"b\"}}\n[]\n", "\xff\n"};
    static const char *const lines[] = {":1:", ":1:", ":1:", ":1:", ":2:", ":1:"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        write_text(in_folder(p, "bad.jsonl"), texts[i]);
        RUN(p, "diff-run", in_folder(p, "a"), in_folder(p, "bad.jsonl"));
        assert_ended(p, 1, "expected the digests of a step later than those before, found ");
        assert_non_null(strstr(p->err, lines[i]));
    }
    RUN(p, "diff-run", in_folder(p, "a"), in_folder(p, "none"));
    assert_ended(p, 1, "none: cannot open");
    RUN(p, "diff-run", in_folder(p, "a"));
    assert_ended(p, 2, "expected two runs, found 1");
}

static void repetitions_are_the_same(void **state) {
    program *p = *state;
    RUN(p, "verify-resume", in_folder(p, "a"), "--threads", "2", "--json");
    assert_ended(p, 0, NULL);
    json_t *o = json_line(p, 0, "kind,run,same,from,stop,end,log_lines,tensors,digests,difference");
    assert_int_equal(json_real_of(o, "from"), 8); /* checkpoints of steps 8 and 9 */
    assert_int_equal(json_real_of(o, "end"), 9);
    assert_int_equal(json_real_of(o, "log_lines"), 1);
    assert_int_equal(json_real_of(o, "tensors"), 57);
    assert_true(json_real_of(o, "digests") > 40);
    json_decref(o);
    RUN(p, TRAIN, "--steps", "6", "--out", in_folder(p, "short"));
    assert_ended(p, 0, NULL);
    RUN(p, "verify-resume", in_folder(p, "short"));
    assert_ended(p, 0, NULL);
    assert_non_null(strstr(p->out, "steps 0 to 5, repeated from "));
    assert_non_null(strstr(p->out, "with a stop before step 3, are the same: 6 lines of the log, 57 tensors of the "));
}

/* One bit of one tensor of the checkpoint, with digests that fit. */
static void change_checkpoint(const program *p) {
    char path[600];
    snprintf(path, sizeof path, "%s", in_folder(p, "b/checkpoint.safetensors"));
    mo_context *ctx = mo_context_create(NULL);
    mo_arrays *arrays = mo_safetensors_read(ctx, path);
    assert_non_null(arrays);
    mo_tensor *T = mo_arrays_find(arrays, "adamw.m.encoder.input_proj.0.bias");
    unsigned char values[8 * 4];
    assert_int_equal(mo_tensor_read(T, values, sizeof values), MO_OK);
    values[4] ^= 1;
    assert_int_equal(mo_tensor_write(T, values, sizeof values), MO_OK);
    assert_int_equal(mo_safetensors_write(arrays, arrays->metadata, path), MO_OK);
    mo_arrays_release(arrays);
    mo_context_release(ctx);
}

static void repetitions_that_differ_are_told(void **state) {
    program *p = *state;
    change_checkpoint(p);
    RUN(p, "verify-resume", in_folder(p, "b"));
    assert_ended(p, 1, NULL);
    assert_non_null(
        strstr(p->out, "differs: checkpoint.safetensors of step 9: adamw.m.encoder.input_proj.0.bias differs\n"));
    replace_in(p, "b/log.jsonl", "{\"step\":8,", "\"gradient_norm\":", "\"gradient-norm\":");
    RUN(p, "verify-resume", in_folder(p, "b"));
    assert_ended(p, 1, NULL);
    assert_non_null(strstr(p->out, "differs: step 8: the log has loss "));
}

static void what_cannot_be_repeated_is_refused(void **state) {
    program *p = *state;
    RUN(p, "verify-resume", in_folder(p, "nowhere"));
    assert_ended(p, 1, "nowhere/run.json");
    RUN(p, "verify-resume");
    assert_ended(p, 2, "expected the folder of a run");
    replace_in(p, "c/run.json", "\"settings\"", "\"seed\": 1", "\"seed\": 2");
    RUN(p, "verify-resume", in_folder(p, "c"));
    assert_ended(p, 1, "seed = 1, this run has 2");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_runs_are_the_same),
        cmocka_unit_test(the_health_of_solves_changes_nothing_else),
        cmocka_unit_test(the_first_difference_is_named),
        cmocka_unit_test(a_run_that_ends_earlier_is_told),
        cmocka_unit_test(missing_steps_and_tensors_are_told),
        cmocka_unit_test(files_that_hold_no_digests_are_refused),
        cmocka_unit_test(repetitions_are_the_same),
        cmocka_unit_test(repetitions_that_differ_are_told),
        cmocka_unit_test(what_cannot_be_repeated_is_refused),
    };
    return cmocka_run_group_tests(tests, create_runs, program_release);
}
