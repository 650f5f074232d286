/* tests/cli/test_cli_memory.c - `--memory`: features stay below the limit or say how many bytes they need; a hop stack
 * on disk gives the same weights as one in memory, and after a kill too. */
#include "tests/cli/program.h"
#include "tests/folder.h"

#include <math.h>
#include <sys/resource.h>

enum { NODES = 40000, CHORDS = 60000 }; /* enough for a hop stack larger than the memory of its SVD */

/* One training step on the links of a graph, without --out. */
#define STEP(graph, dim)                                                                                               \
    "train", "--recipe", "paper++", "--pool", graph, "--dim", dim, "--k", "2:4", "--q", "2:5", "--steps", "1"

static char ring[300]; /* NAME:lp of the graph */

static int create(void **state) {
    unsetenv("MOCHI_CACHE");
    unsetenv("MALLOC_PERTURB_"); /* it touches memory that the program asks for and leaves alone */
    if (program_create(state) != 0)
        return -1;
    const char *path = in_folder(*state, "ring.txt");
    FILE *file = fopen(path, "w");
    uint32_t x = 1;
    for (int i = 0; i < NODES; i++)
        fprintf(file, "%d %d\n", i, (i + 1) % NODES);
    for (int i = 0; i < CHORDS; i++) {
        x = x * 1664525u + 1013904223u;
        uint32_t u = (x >> 8) % NODES;
        x = x * 1664525u + 1013904223u;
        fprintf(file, "%u %u\n", u, (x >> 8) % NODES);
    }
    snprintf(ring, sizeof ring, "%s:lp", path);
    return fclose(file);
}

static void assert_same_weights(const program *p, const char *a, const char *b) {
    char command[1400];
    snprintf(command, sizeof command, "cmp '%s/%s/weights.safetensors' '%s/%s/weights.safetensors'", p->folder, a,
        p->folder, b);
    assert_int_equal(system(command), 0);
}

/* The bytes that the features of the ring need, in memory and with the stack on disk, read from the refusal of one byte
 * less. */
static void read_needs(program *p, long long *inside, long long *outside) {
    char limit[32];
    RUN(p, STEP(ring, "128"), "--out", in_folder(p, "little"), "--quiet", "--memory", "1M");
    assert_ended(p, 1, "with its hop stack on disk; the limit of memory is 1048576");
    assert_int_equal(sscanf(strstr(p->err, "needs "), "needs %lld bytes, %lld", inside, outside), 2);
    assert_true(*outside < *inside);
    snprintf(limit, sizeof limit, "%lld", *outside - 1);
    RUN(p, STEP(ring, "128"), "--out", in_folder(p, "less"), "--quiet", "--memory", limit);
    assert_ended(p, 1, "with its hop stack on disk");
}

static void what_is_too_much_for_memory_goes_to_disk(void **state) {
    program *p = *state;
    long long inside, outside;
    char limit[32], path[1024], cache[300];
    snprintf(cache, sizeof cache, "%s/cache", p->folder);
    read_needs(p, &inside, &outside);
    snprintf(limit, sizeof limit, "%lld", inside);
    RUN(p, STEP(ring, "128"), "--out", in_folder(p, "whole"), "--quiet", "--memory", limit, "--cache", cache);
    assert_ended(p, 0, NULL);
    assert_int_equal(folder_files(cache, ".npy", path), 0);
    snprintf(limit, sizeof limit, "%lld", outside);
    RUN(p, STEP(ring, "128"), "--out", in_folder(p, "nowhere"), "--quiet", "--memory", limit);
    assert_ended(p, 1, "name a cache folder, where its hop stack takes");
    RUN(p, STEP(ring, "128"), "--out", in_folder(p, "disk"), "--quiet", "--memory", limit, "--cache", cache);
    assert_ended(p, 0, NULL);
    assert_int_equal(folder_files(cache, ".npy", path), 1);
    assert_int_equal(folder_files(cache, ".partial", path), 0);
    assert_same_weights(p, "disk", "whole");
    RUN(p, "data", "cache", "verify", "--cache", cache, "--json");
    assert_ended(p, 0, NULL);
    RUN(p, STEP(ring, "128"), "--out", in_folder(p, "again"), "--memory", limit, "--cache", cache);
    assert_non_null(strstr(p->out, "(from the cache)"));
    assert_same_weights(p, "again", "whole");
}

/* The largest resident size of `mochi words..` in bytes. */
static long long peak_of(program *p, const char *const *words) {
    char out[300], err[300];
    struct rusage usage;
    int status;
    snprintf(out, sizeof out, "%s/stdout", p->folder);
    snprintf(err, sizeof err, "%s/stderr", p->folder);
    pid_t child = start_program(words, out, err);
    assert_int_equal(wait4(child, &status, 0, &usage), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    return 1024LL * usage.ru_maxrss;
}

/* Measured beside a run on a small graph. A sanitizer keeps freed memory: nothing is measured then. */
static void the_process_keeps_to_the_limit(void **state) {
    program *p = *state;
    long long inside, outside;
    char limit[32], cache[300];
#ifdef __SANITIZE_ADDRESS__
    skip();
#endif
    snprintf(cache, sizeof cache, "%s/measured", p->folder);
    read_needs(p, &inside, &outside);
    snprintf(limit, sizeof limit, "%lld", outside);
    long long small = peak_of(p, (const char *const[]){STEP("mutag", "8"), "--out", in_folder(p, "small"), NULL});
    long long peak = peak_of(p, (const char *const[]){STEP(ring, "128"), "--out", in_folder(p, "measured-run"),
                                    "--memory", limit, "--cache", cache, NULL});
    print_message("limit %lld, peak %lld, of a small run %lld\n", outside, peak, small);
    assert_true(peak - small <= outside);
}

/* A graph of random edges, its labels, and its folder. */
static void draw_own(const program *p, int nodes, int edges) {
    char line[64];
    uint32_t x = 3;
    mkdir(in_folder(p, "drawn"), 0777);
    FILE *file = fopen(in_folder(p, "drawn/edges.txt"), "w"), *labels = fopen(in_folder(p, "drawn.csv"), "w");
    fprintf(labels, "node,label\n");
    for (int i = 0; i < edges; i++) {
        x = x * 1664525u + 1013904223u;
        int u = i < nodes ? i : (int)((x >> 8) % (uint32_t)nodes);
        x = x * 1664525u + 1013904223u;
        snprintf(line, sizeof line, "%d %d\n", u, (int)((x >> 8) % (uint32_t)nodes));
        fputs(line, file);
        if (i < 40)
            fprintf(labels, "%d,%c\n", i, 'a' + i % 3);
    }
    assert_int_equal(fclose(file) | fclose(labels), 0);
}

/* The bytes that a command says it needs, in memory and with its hop stack on disk; the SVD has not been begun, which
 * would keep its result in the cache. */
static void expect_refused_early(program *p, const char *const *words, long long needs[2]) {
    const char *all[MAX_WORDS + 1];
    char cache[300];
    int n = 0;
    snprintf(cache, sizeof cache, "%s/early", p->folder);
    for (; words[n]; n++)
        all[n] = words[n];
    memcpy(all + n, (const char *const[]){"--memory", "1M", "--cache", cache, NULL}, 5 * sizeof *all);
    run_program_to(p, NULL, all);
    assert_ended(p, 1, "with its hop stack on disk; the limit of memory is 1048576");
    assert_int_equal(sscanf(strstr(p->err, "needs "), "needs %lld bytes, %lld", &needs[0], &needs[1]), 2);
    if (access(cache, F_OK) == 0)
        fail_msg("mochi %s: the cache has %d files, none expected", words[0], folder_files(cache, "", NULL));
}

/* Of the whole process, in memory and with the stack on disk: what is needed is told before any work, and is what is
 * taken but for a factor of 1.3. */
static void what_is_needed_is_known_before_any_work(void **state) {
    program *p = *state;
    enum { NODES_DRAWN = 15000, EDGES = 60000 };
    char cache[300], limit[32], path[1024], folder[300], labels[300], csv[300], npy[300];
#ifdef __SANITIZE_ADDRESS__
    skip();
#endif
    draw_own(p, NODES_DRAWN, EDGES);
    snprintf(folder, sizeof folder, "%s/drawn", p->folder);
    snprintf(labels, sizeof labels, "%s/drawn.csv", p->folder);
    snprintf(csv, sizeof csv, "%s/out.csv", p->folder);
    snprintf(npy, sizeof npy, "%s/out.npy", p->folder);
    const char *const commands[][8] = {
        {"predict", "--data", folder, "--labels", labels, "--out", csv},
        {"suggest", "--data", folder, "--n", "5", "--out", csv},
        {"embed", "--data", folder, "--out", npy},
        {"embed", "--weights", "none", "--data", folder, "--out", npy},
    };
    for (int c = 0; c < 4; c++) {
        long long needs[2];
        expect_refused_early(p, commands[c], needs);
        for (int disk = 0; disk < 2; disk++) {
            const char *words[MAX_WORDS + 1];
            int n = 0;
            for (; commands[c][n]; n++)
                words[n] = commands[c][n];
            snprintf(cache, sizeof cache, "%s/told%d%d", p->folder, c, disk);
            snprintf(limit, sizeof limit, "%lld", needs[disk]);
            memcpy(words + n, (const char *const[]){"--memory", limit, "--cache", cache, NULL}, 5 * sizeof *words);
            double ratio = (double)needs[disk] / (double)peak_of(p, words);
            bool same = needs[0] == needs[1]; /* the SVD takes more than the stack */
            assert_int_equal(folder_files(cache, ".npy", path), disk && !same);
            if (ratio > 1.3 || ratio < 1 / 1.3)
                fail_msg("mochi %s: %lld bytes told, %.2f of those taken", words[0], needs[disk], ratio);
        }
    }
}

/* The clock goes on while the process is stopped. */
static void a_long_phase_is_told(void **state) {
    program *p = *state;
    char out[300], err[300], text[MAX_TEXT], labels[300], graph[300];
    snprintf(out, sizeof out, "%s/stdout", p->folder);
    snprintf(err, sizeof err, "%s/phases", p->folder);
    snprintf(labels, sizeof labels, "%s/ring.csv", p->folder);
    snprintf(graph, sizeof graph, "%s/ring.txt", p->folder);
    write_text(labels, "node,label\n0,a\n1,b\n2,a\n3,b\n");
    const char *const commands[2][7] = {
        {"suggest", "--data", graph}, {"predict", "--data", graph, "--labels", labels, "--quiet"}};
    for (int quiet = 0; quiet < 2; quiet++) {
        pid_t child = start_program(commands[quiet], out, err);
        usleep(300000);
        kill(child, SIGSTOP);
        usleep(5200000);
        kill(child, SIGCONT);
        wait_for_program(p, child, out, err);
        assert_ended(p, 0, NULL);
        read_text(err, text);
        bool told = strstr(text, "mochi suggest: ") && strstr(text, "s\n");
        if (told == quiet)
            fail_msg("%s: '%s'", quiet ? "with --quiet" : "without --quiet", text);
    }
}

/* As many nodes as a number alone may claim (64 MiB at 40 bytes a node), in two edges: the process grows by what the
 * limit says, and not by that for each of its arrays. */
static void numbers_alone_claim_little(void **state) {
    program *p = *state;
    char folder[300], path[320], text[128];
#ifdef __SANITIZE_ADDRESS__
    skip();
#endif
    enum { CLAIMED = (64 << 20) / 40, SLACK = 4 << 20 };
    long long small = peak_of(p, (const char *const[]){"data", "info", "mutag", NULL});
    snprintf(folder, sizeof folder, "%s", in_folder(p, "gaps"));
    assert_int_equal(mkdir(folder, 0700), 0);
    snprintf(path, sizeof path, "%s/train.txt", folder);
    snprintf(text, sizeof text, "0 1\n%d %d\n", CLAIMED / 2 - 1, CLAIMED / 2 - 1);
    write_text(path, text);
    long long gaps = peak_of(p, (const char *const[]){"data", "info", folder, NULL});
    print_message("above a small graph: %lld claimed by gaps\n", gaps - small);
    assert_true(gaps - small <= (64 << 20) + SLACK);
}

/* ---- killed ---- */

enum { PAGE = 4096 /* before the rows (train/features/hop_store.c) */ };
#define ON_DISK STEP("gnutella06:lp", "512"), "--features", "disk"

/* Whether rows are there. */
static bool has_rows(const char *path) {
    FILE *file = fopen(path, "rb");
    char row[PAGE], none[PAGE] = "";
    bool found =
        file && fseek(file, PAGE, SEEK_SET) == 0 && fread(row, 1, PAGE, file) == PAGE && memcmp(row, none, PAGE) != 0;
    if (file)
        fclose(file);
    return found;
}

/* Kills a run once a row is written. Returns false if the run ended before. */
static bool kill_while_writing(const char *cache, const char *run) {
    char path[1024] = "";
    pid_t child =
        start_program((const char *const[]){ON_DISK, "--cache", cache, "--out", run, NULL}, "/dev/null", "/dev/null");
    for (int i = 0; i < 200000 && waitpid(child, NULL, WNOHANG) == 0; i++) {
        if (folder_files(cache, ".partial", path) && has_rows(path)) {
            kill(child, SIGKILL);
            break;
        }
        usleep(300);
    }
    waitpid(child, NULL, 0);
    return folder_files(cache, ".partial", path) == 1;
}

static void what_a_killed_run_has_left_is_made_again(void **state) {
    program *p = *state;
    char cache[300], run[300], path[1024];
    bool caught = false;
    for (int attempt = 0; attempt < 10 && !caught; attempt++) {
        snprintf(cache, sizeof cache, "%s/killed%d", p->folder, attempt);
        snprintf(run, sizeof run, "%s/killed-run%d", p->folder, attempt);
        caught = kill_while_writing(cache, run);
    }
    assert_true(caught);
    RUN(p, ON_DISK, "--cache", cache, "--out", in_folder(p, "resumed"));
    assert_ended(p, 0, NULL);
    assert_int_equal(folder_files(cache, ".npy", path), 1);
    assert_int_equal(folder_files(cache, ".partial", path), 0);
    RUN(p, STEP("gnutella06:lp", "512"), "--out", in_folder(p, "unbroken"), "--quiet");
    assert_ended(p, 0, NULL);
    assert_same_weights(p, "resumed", "unbroken");
}

/* One process writes, the other waits and reads. */
static void two_processes_write_one_stack(void **state) {
    program *p = *state;
    char cache[300], out[2][300], run[2][300], path[1024];
    pid_t child[2];
    snprintf(cache, sizeof cache, "%s/both", p->folder);
    for (int i = 0; i < 2; i++) {
        snprintf(out[i], sizeof out[i], "%s/out%d", p->folder, i);
        snprintf(run[i], sizeof run[i], "%s/both%d", p->folder, i);
        child[i] =
            start_program((const char *const[]){ON_DISK, "--cache", cache, "--out", run[i], NULL}, out[i], "/dev/null");
    }
    for (int i = 0; i < 2; i++) {
        wait_for_program(p, child[i], out[i], "/dev/null");
        assert_ended(p, 0, NULL);
    }
    assert_int_equal(folder_files(cache, ".npy", path), 1);
    assert_int_equal(folder_files(cache, ".partial", path), 0);
    assert_same_weights(p, "both0", "both1");
}

static void a_size_must_be_one(void **state) {
    program *p = *state;
    static const char *const bad[] = {"", "4X", "-1", "G", "99999999T"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        RUN(p, "embed", "--data", "cora", "--out", in_folder(p, "x.npy"), "--memory", bad[i]);
        assert_ended(p, 2, NULL);
        assert_non_null(strstr(p->err, "--memory: expected"));
        RUN(p, "eval", "--memory", bad[i]);
        assert_ended(p, 2, NULL);
        RUN(p, "train", "--out", in_folder(p, "x"), "--memory", bad[i]);
        assert_ended(p, 2, NULL);
    }
    RUN(p, "embed", "--data", "cora", "--out", in_folder(p, "x.npy"), "--memory", "1000");
    assert_ended(p, 1, "features: 'cora' needs ");
    RUN(p, "eval", "--data", "cora", "--quiet", "--memory", "1000");
    assert_ended(p, 1, "the limit of memory is 1000");
    assert_int_equal(access(in_folder(p, "x.npy"), F_OK), -1);
}

/* Widths are compared before features of them are made, which would take 4 GB here. */
static void a_width_that_only_run_json_claims_is_refused(void **state) {
    program *p = *state;
    struct rlimit usual, tight;
    char run[300], path[320];
    snprintf(run, sizeof run, "%s", in_folder(p, "claims"));
    RUN(p, "train", "--pool", "mutag", "--steps", "1", "--quiet", "--out", run);
    assert_ended(p, 0, NULL);
    snprintf(path, sizeof path, "%s/run.json", run);
    json_t *o = json_load_file(path, 0, NULL);
    assert_int_equal(json_object_set_new(json_object_get(o, "settings"), "dim", json_integer(65536)), 0);
    assert_int_equal(json_dump_file(o, path, 0), 0);
    json_decref(o);
    getrlimit(RLIMIT_AS, &usual);
    tight = usual;
#ifndef __SANITIZE_ADDRESS__ /* which reserves terabytes of addresses for itself */
    tight.rlim_cur = (rlim_t)2 << 30;
#endif
    setrlimit(RLIMIT_AS, &tight);
    RUN(p, "train", "--resume", "--quiet", "--threads", "1", "--out", run);
    setrlimit(RLIMIT_AS, &usual);
    assert_ended(p, 1, "settings.dim = 256, this run has 65536");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_width_that_only_run_json_claims_is_refused),
        cmocka_unit_test(what_is_too_much_for_memory_goes_to_disk),
        cmocka_unit_test(the_process_keeps_to_the_limit),
        cmocka_unit_test(what_is_needed_is_known_before_any_work),
        cmocka_unit_test(a_long_phase_is_told),
        cmocka_unit_test(numbers_alone_claim_little),
        cmocka_unit_test(what_a_killed_run_has_left_is_made_again),
        cmocka_unit_test(two_processes_write_one_stack),
        cmocka_unit_test(a_size_must_be_one),
    };
    return cmocka_run_group_tests(tests, create, program_release);
}
