/* tests/cli/test_cli_bad_input.c - every command on truncated, empty and missing files: one line, exit 1, and no files
 * left behind. */
#include "program.h"
#include "tests/folder.h"

static void copy_head(const program *p, const char *from, const char *name, size_t n) {
    char *data = malloc(n);
    FILE *in = fopen(from, "rb"), *out = fopen(in_folder(p, name), "wb");
    assert_true(data && in && out);
    assert_int_equal(fread(data, 1, n, in), n);
    assert_int_equal(fwrite(data, 1, n, out), n);
    assert_int_equal(fclose(in) | fclose(out), 0);
    free(data);
}

/* Words of a command; "@" stands for the bad file, "OUT.npy" for a file in an empty folder. */
static const char *const uses[][9] = {
    {"fit", "@", "tests/arrays/i8.npy"},
    {"pitfalls", "hull", "@", "tests/arrays/i8.npy"},
    {"data", "info", "@"},
    {"data", "convert", "@", "OUT.npz"},
    {"eval", "--weights", "@", "--data", "mutag"},
    {"eval", "--weights", "none", "--hop", "1", "--quiet", "--data", "@"},
    {"eval", "--weights", "none", "--suite", "@"},
    {"embed", "--data", "mutag", "--out", "OUT.npy", "--weights", "@"},
    {"embed", "--out", "OUT.npy", "--data", "@"},
    {"train", "--quiet", "--steps", "1", "--out", "OUT", "--pool", "@"},
    {"train", "--quiet", "--resume", "--out", "@"},
    {"compare", "paper", "@"},
    {"gradcheck", "--op", "@"},
    {"gradcheck", "--head", "@"},
};

static void bad_files_are_one_line_and_leave_nothing(void **state) {
    program *p = *state;
    char out[300], target[320], path[320];
    static const char *const bad[] = {"empty", "empty.npz", "cut.npy", "cut.npz", "cut.safetensors", "cut.json",
        "folder", "folder.npz", "/dev/null", "missing.npy", "pipe"};
    copy_head(p, "tests/arrays/f4.npy", "cut.npy", 100);
    copy_head(p, "train/data/mutag.npz", "cut.npz", 3000);
    copy_head(p, "train/data/best.safetensors", "cut.safetensors", 700);
    copy_head(p, "train/data/paper.suite.json", "cut.json", 200);
    copy_head(p, "tests/arrays/f4.npy", "empty", 0);
    copy_head(p, "tests/arrays/f4.npy", "empty.npz", 0);
    snprintf(out, sizeof out, "%s", in_folder(p, "out"));
    assert_int_equal(mkfifo(in_folder(p, "pipe"), 0600) | mkdir(out, 0777) | mkdir(in_folder(p, "folder"), 0777) |
                         mkdir(in_folder(p, "folder.npz"), 0777),
        0);
    for (size_t b = 0; b < sizeof bad / sizeof *bad; b++)
        for (size_t u = 0; u < sizeof uses / sizeof *uses; u++) {
            const char *words[10] = {NULL};
            snprintf(
                path, sizeof path, "%s%s%s", bad[b][0] == '/' ? "" : p->folder, bad[b][0] == '/' ? "" : "/", bad[b]);
            if (!strcmp(bad[b], "folder") && !strcmp(uses[u][0], "train") && !strcmp(uses[u][2], "--resume"))
                continue; /* its message names the missing member */
            for (int i = 0; i < 9 && uses[u][i]; i++) {
                bool written = !strncmp(uses[u][i], "OUT", 3);
                if (written)
                    snprintf(target, sizeof target, "%s/file%s", out, uses[u][i] + 3);
                words[i] = !strcmp(uses[u][i], "@") ? path : written ? target : uses[u][i];
            }
            run_program_to(p, NULL, words);
            if (p->code != 1 || count_lines(p->err) != 1 || folder_files(out, "", NULL))
                fail_msg("mochi %s %s .. on %s: exit %d, %d files left, '%s'", words[0], words[1], bad[b], p->code,
                    folder_files(out, "", NULL), p->err);
        }
}

static void places_that_cannot_be_written_are_one_line_and_leave_nothing(void **state) {
    program *p = *state;
    char here[300], path[320];
    snprintf(here, sizeof here, "%s", in_folder(p, "places"));
    snprintf(path, sizeof path, "%s/Z.npy", here);
    assert_int_equal(mkdir(here, 0777), 0);
    static const char *const places[] = {"/dev/full/x", "/proc/x", "/no/such/x"};
    char place[64];
    for (int i = 0; i < 3; i++) {
        snprintf(place, sizeof place, "%s.npz", places[i]);
        RUN(p, "data", "convert", "mutag", place);
        assert_ended(p, 1, places[i]);
        snprintf(place, sizeof place, "%s.npy", places[i]);
        RUN(p, "embed", "--weights", "none", "--hop", "1", "--data", "mutag", "--out", path, "--labels", place);
        assert_int_equal(p->code, 1);
        assert_non_null(strstr(p->err, places[i]));
        assert_int_equal(folder_files(here, "", NULL), 0); /* both or neither */
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bad_files_are_one_line_and_leave_nothing),
        cmocka_unit_test(places_that_cannot_be_written_are_one_line_and_leave_nothing),
    };
    return cmocka_run_group_tests(tests, program_create, program_release);
}
