/* tests/cli/test_cli_features.c - `mochi train` and `mochi eval` with features kept elsewhere than on the device: the
 * same weights and figures, interruptions included; and the message of a machine without a device. */
#include "tests/cli/program.h"

static const fixtures around_all = {program_create, program_release};

#define TINY                                                                                                           \
    "train", "--recipe", "paper++", "--pool", "cora:nc+lp,mutag", "--dim", "16", "--k", "2:4", "--q", "2:5", "--seed", \
        "3", "--quiet", "--steps"

TEST(every_place_trains_the_same_weights) {
    program *p = *state;
    RUN(p, TINY, "20", "--out", in_folder(p, "plain"));
    assert_ended(p, 0, NULL);
    RUN(p, TINY, "20", "--out", in_folder(p, "device"), "--features", "device");
    assert_ended(p, 0, NULL);
    RUN(p, TINY, "20", "--out", in_folder(p, "host"), "--features", "host");
    assert_ended(p, 0, NULL);
    RUN(p, TINY, "20", "--out", in_folder(p, "disk"), "--features", "disk", "--cache", in_folder(p, "cache"));
    assert_ended(p, 0, NULL);
    assert_same_file(p, "plain/weights.safetensors", "device/weights.safetensors");
    assert_same_file(p, "plain/weights.safetensors", "host/weights.safetensors");
    assert_same_file(p, "plain/weights.safetensors", "disk/weights.safetensors");
}

/* The thread that reads rows leaves the signal to the training thread. */
TEST(an_interrupted_run_goes_on_from_another_place) {
    program *p = *state;
    char out[512], err[512], log[512], line[16] = "";
    snprintf(out, sizeof out, "%s/stdout", p->folder);
    snprintf(err, sizeof err, "%s/stderr", p->folder);
    RUN(p, TINY, "200", "--out", in_folder(p, "whole"));
    assert_ended(p, 0, NULL);
    snprintf(log, sizeof log, "%s/halves/log.jsonl", p->folder);
    pid_t child = start_program((const char *const[]){TINY, "200", "--out", in_folder(p, "halves"), "--features",
                                    "disk", "--cache", in_folder(p, "cache"), NULL},
        out, err);
    for (int tries = 0; tries < 6000 && !line[0]; tries++) {
        FILE *file = fopen(log, "r");
        if (file && !fgets(line, sizeof line, file))
            line[0] = 0;
        if (file)
            fclose(file);
        usleep(1000);
    }
    assert_true(line[0] != 0);
    kill(child, SIGINT);
    wait_for_program(p, child, out, err);
    assert_ended(p, 130, "--resume");
    RUN(p, "train", "--out", in_folder(p, "halves"), "--resume", "--quiet", "--features", "host");
    assert_ended(p, 0, NULL);
    assert_same_file(p, "whole/weights.safetensors", "halves/weights.safetensors");
}

/* The cells of an evaluation, without the line that has its command. */
static void evaluate_to(program *p, const char *place, char *text, size_t bytes) {
    static const char *const rest[] = {
        "--weights", "best", "--data", "cora,mutag", "--shots", "4", "--seeds", "2", "--json", "--quiet", "--cache"};
    const char *words[24] = {"eval", "--features", place};
    int n = 3;
    for (size_t i = 0; i < sizeof rest / sizeof *rest; i++)
        words[n++] = rest[i];
    words[n++] = in_folder(p, "cache");
    run_program_to(p, NULL, words);
    assert_ended(p, 0, NULL);
    const char *cells = strchr(p->out, '\n');
    assert_non_null(cells);
    snprintf(text, bytes, "%s", cells);
}

TEST(every_place_evaluates_to_the_same_figures) {
    static char device[MAX_TEXT], disk[MAX_TEXT];
    evaluate_to(*state, "device", device, sizeof device);
    evaluate_to(*state, "disk", disk, sizeof disk);
    assert_non_null(strstr(device, "\"accuracy\""));
    assert_string_equal(device, disk);
}

TEST(what_is_missing_is_one_line) {
    program *p = *state;
    unsetenv("MOCHI_CACHE");
    RUN(p, TINY, "2", "--out", in_folder(p, "never"), "--features", "tape");
    assert_ended(p, 2, "--features");
    RUN(p, TINY, "2", "--out", in_folder(p, "never"), "--features", "disk");
    assert_ended(p, 1, "name a cache folder");
    RUN(p, TINY, "2", "--out", in_folder(p, "alone"), "--replay");
    assert_ended(p, 2, "--replay: expected --device cuda");
    assert_int_equal(access(in_folder(p, "alone"), F_OK), -1);
}

/* Without a driver, or with no visible device. */
TEST(no_device_is_one_line) {
    program *p = *state;
    setenv("CUDA_VISIBLE_DEVICES", "", 1);
    RUN(p, TINY, "2", "--out", in_folder(p, "gone"), "--device", "cuda");
    unsetenv("CUDA_VISIBLE_DEVICES");
    assert_ended(p, 1, "cuda");
    assert_string_equal(p->out, "");
    assert_int_equal(access(in_folder(p, "gone"), F_OK), -1);
}
