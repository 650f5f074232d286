/* tests/cli/test_cli_out_of_memory.c - allocations of the program fail one by one, alone and with all later ones
 * (failing_memory.c, preloaded): the program says that it is out of memory and exits with 1, or it gives its normal
 * result.
 *
 * Toy command lines of 100 to 5000 allocations. In each line the first FIRST allocations fail, and DRAWN others chosen
 * by a fixed seed; with the argument `every`, all allocations fail if there are at most 2000, else 200 chosen ones. */
#include "tests/cli/program.h"
#include "tests/embedding_files.h"

#include <dirent.h>
#include <sys/resource.h>

enum { FIRST = 16, DRAWN = 20, MANY_DRAWN = 200, MOST = 2000, SECONDS = 60 };

static bool every;

/* ---- files of a run ---- */

/* Takes out the numbers that are times. */
static void drop_seconds(char *text) {
    for (char *at = text; (at = strstr(at, "\"seconds\":"));) {
        at += strlen("\"seconds\":");
        memmove(at, at + strcspn(at, ",}"), strlen(at + strcspn(at, ",}")) + 1);
    }
}

enum { FILES = 12 };

/* The files of the folder `out` of the test, and standard output. */
typedef struct outcome {
    int n;
    char name[FILES][64];
    char *content[FILES];
    size_t bytes[FILES];
    char said[MAX_TEXT];
} outcome;

static void free_outcome(outcome *o) {
    for (int i = 0; i < o->n; i++)
        free(o->content[i]);
    o->n = 0;
}

static void take_files(outcome *o, const char *folder, const char *prefix) {
    DIR *dir = opendir(folder);
    for (struct dirent *e; dir && (e = readdir(dir));) {
        char path[600], name[300];
        if (e->d_name[0] == '.')
            continue;
        snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
        snprintf(name, sizeof name, "%s%s", prefix, e->d_name);
        if (e->d_type == DT_DIR) {
            strcat(name, "/");
            take_files(o, path, name);
            continue;
        }
        assert_true(o->n < FILES && strlen(name) < sizeof o->name[0]);
        memcpy(o->name[o->n], name, strlen(name) + 1);
        read_file(path, &o->content[o->n], &o->bytes[o->n]);
        o->content[o->n][o->bytes[o->n]] = '\0';
        if (strstr(name, ".jsonl")) {
            drop_seconds(o->content[o->n]);
            o->bytes[o->n] = strlen(o->content[o->n]);
        }
        o->n++;
    }
    if (dir)
        closedir(dir);
}

static int find_file(const outcome *o, const char *name) {
    for (int i = 0; i < o->n; i++)
        if (!strcmp(o->name[i], name))
            return i;
    return -1;
}

/* ---- runs ---- */

/* @ is the folder `out`, which is empty before a run except for the files that `before` writes; $ is the folder of the
 * test. */
typedef struct line {
    const char *words, *before;
} line;

static const line lines[] = {
    {"data list --json", NULL},
    {"data info mutag --json", NULL},
    {"data info $/run/weights.safetensors --json", NULL},
    {"train --pool mutag --dim 8 --k 2:3 --q 2:3 --threads 1 --steps 2 --out @/run --json", NULL},
    {"train --resume --threads 1 --out @/run --json", "cp -r $/stopped @/run"},
    {"eval --weights $/run/weights.safetensors --data mutag --shots 4 --seeds 2 --threads 1 --json --quiet", NULL},
    {"embed --weights $/run/weights.safetensors --data mutag --out @/Z.npy --threads 1 --json", NULL},
    {"fit $/Z.npy $/y.npy --head ridge,svm,prototype_inner --shots 2,4 --episodes 2 --queries 4 --threads 1 --json",
        NULL},
    {"gradcheck solve_spd --json", NULL},
    {"compare $/eval.jsonl paper --json", NULL},
    {"report $/run $/eval.jsonl --out @/page.html", NULL},
};

/* The text with both folders in it. */
static void fill_in(const program *p, const char *text, char *filled, size_t bytes) {
    size_t n = 0;
    for (; *text && n + 1 < bytes; text++) {
        int more = *text == '@'   ? snprintf(filled + n, bytes - n, "%s/out", p->folder)
                   : *text == '$' ? snprintf(filled + n, bytes - n, "%s", p->folder)
                                  : snprintf(filled + n, bytes - n, "%c", *text);
        n += (size_t)more;
    }
    filled[n] = '\0';
}

static const char *library_path(void) {
    static char path[600];
    snprintf(path, sizeof path, "%s/failing_memory.so", getenv("MOCHI_PLUGINS"));
    return path;
}

/* Waits at most SECONDS. */
static void wait_in_time(pid_t child, const char *what) {
    siginfo_t ended = {0};
    for (int i = 0; i < 1000 * SECONDS && !ended.si_pid; i++) {
        assert_int_equal(waitid(P_PID, (id_t)child, &ended, WEXITED | WNOHANG | WNOWAIT), 0);
        if (!ended.si_pid)
            usleep(1000);
    }
    if (!ended.si_pid) {
        kill(child, SIGKILL);
        fail_msg("%s: has not ended after %d seconds", what, SECONDS);
    }
}

/* Runs the line with a library preloaded whose settings are in the environment. */
static void run_line(program *p, const line *l, outcome *o) {
    char text[1200], out[300], err[300], command[1400];
    const char *words[MAX_WORDS + 1];
    int n = 0;
    snprintf(command, sizeof command, "rm -rf '%s/out' && mkdir '%s/out'", p->folder, p->folder);
    assert_int_equal(system(command), 0);
    if (l->before) {
        fill_in(p, l->before, command, sizeof command);
        assert_int_equal(system(command), 0);
    }
    fill_in(p, l->words, text, sizeof text);
    for (char *rest = text, *word; (word = strsep(&rest, " "));)
        words[n++] = word;
    words[n] = NULL;
    snprintf(out, sizeof out, "%s/stdout", p->folder);
    snprintf(err, sizeof err, "%s/stderr", p->folder);
    setenv("LD_PRELOAD", library_path(), 1);
    pid_t child = start_program(words, out, err);
    unsetenv("LD_PRELOAD");
    wait_in_time(child, l->words);
    wait_for_program(p, child, out, err);
    drop_seconds(p->out);
    memcpy(o->said, p->out, sizeof o->said);
    snprintf(out, sizeof out, "%s/out", p->folder);
    o->n = 0;
    take_files(o, out, "");
}

/* The run said why it failed, or it did the same as without a failure; either way it left no other file. */
static void judge(const program *p, const line *l, long k, const outcome *whole, const outcome *o) {
    char what[300];
    snprintf(what, sizeof what, "%s, allocation %ld%s", l->words, k, getenv("FAIL_ALWAYS") ? " and all behind it" : "");
    for (int i = 0; i < o->n; i++)
        if (find_file(whole, o->name[i]) < 0)
            fail_msg("%s: left %s", what, o->name[i]);
    if (p->code == 1 && strcasestr(p->err, "memory"))
        return;
    if (p->code != 0)
        fail_msg("%s: exit code %d, expected 1 and a line about memory, found: %s", what, p->code, p->err);
    if (strcmp(o->said, whole->said) != 0)
        fail_msg("%s: exit code 0 and another output: %s\nexpected: %s", what, o->said, whole->said);
    for (int i = 0; i < whole->n; i++) {
        int at = find_file(o, whole->name[i]);
        if (at < 0 || o->bytes[at] != whole->bytes[i] || memcmp(o->content[at], whole->content[i], whole->bytes[i]))
            fail_msg("%s: exit code 0 and %s %s", what, at < 0 ? "no" : "another", whole->name[i]);
    }
}

/* Fails allocation k of a line, alone and with all later ones. */
static void fail_at(program *p, const line *l, long k, const outcome *whole, outcome *o) {
    char number[24];
    snprintf(number, sizeof number, "%ld", k);
    setenv("FAIL_AT", number, 1);
    for (int always = 0; always < 2; always++) {
        if (always)
            setenv("FAIL_ALWAYS", "1", 1);
        run_line(p, l, o);
        judge(p, l, k, whole, o);
        free_outcome(o);
    }
    unsetenv("FAIL_AT");
    unsetenv("FAIL_ALWAYS");
}

static long count_of(const program *p) {
    char text[MAX_TEXT];
    read_text(in_folder(p, "count"), text);
    return atol(text);
}

static void the_program_says_that_it_has_no_memory(void **state) {
    static outcome whole, o;
    program *p = *state;
    uint64_t x = 1;
    if (access(library_path(), R_OK) != 0) {
        print_message("skipped: no library to preload (a sanitizer has its own allocator)\n");
        skip();
    }
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        if (!strncmp(lines[i].words, "report", 6) && system("gnuplot --version >/dev/null 2>&1") != 0)
            continue;
        setenv("COUNT_TO", in_folder(p, "count"), 1);
        run_line(p, &lines[i], &whole);
        unsetenv("COUNT_TO");
        assert_ended(p, 0, NULL);
        long n = count_of(p), runs = 0, drawn = every ? MANY_DRAWN : DRAWN;
        assert_true(n > 50);
        for (long k = 1; k <= n && (k <= FIRST || (every && n <= MOST)); k++, runs++)
            fail_at(p, &lines[i], k, &whole, &o);
        for (long d = 0; runs < n && d < drawn; d++, runs++) {
            x = x * 6364136223846793005u + 1442695040888963407u;
            fail_at(p, &lines[i], 1 + (long)((x >> 33) % (uint64_t)n), &whole, &o);
        }
        print_message("%5ld of %5ld allocations failed: mochi %s\n", runs, n, lines[i].words);
        free_outcome(&whole);
    }
}

/* ---- fewer addresses than a run wants ---- */

/* Whatever the limit (ulimit -v), the program ends: as asked, or with one line. OpenBLAS would wait for a buffer for
 * ever, OpenMP end the process. */
static void limits_of_addresses_end_in_one_line(void **state) {
    static const rlim_t mebibytes[] = {160, 200, 300, 500, 1000, 1500};
    static const char *const threads[] = {"1", "4", "64"};
    program *p = *state;
    int refused = 0;
    if (access(library_path(), R_OK) != 0)
        skip();
    unsetenv("OMP_NUM_THREADS");
    for (size_t m = 0; m < sizeof mebibytes / sizeof *mebibytes; m++)
        for (size_t t = 0; t < sizeof threads / sizeof *threads; t++) {
            char out[300], err[300], run[300], what[100];
            snprintf(out, sizeof out, "%s/stdout", p->folder);
            snprintf(err, sizeof err, "%s/stderr", p->folder);
            snprintf(run, sizeof run, "%s/limited-%zu-%zu", p->folder, m, t);
            snprintf(what, sizeof what, "%d MiB, %s threads", (int)mebibytes[m], threads[t]);
            struct rlimit before, limit;
            getrlimit(RLIMIT_AS, &before);
            limit = (struct rlimit){.rlim_cur = mebibytes[m] << 20, .rlim_max = before.rlim_max};
            setrlimit(RLIMIT_AS, &limit); /* which the program inherits */
            pid_t child =
                start_program((const char *const[]){"train", "--pool", "mutag", "--dim", "8", "--k", "2:3", "--q",
                                  "2:3", "--steps", "2", "--quiet", "--threads", threads[t], "--out", run, NULL},
                    out, err);
            setrlimit(RLIMIT_AS, &before);
            wait_in_time(child, what);
            wait_for_program(p, child, out, err);
            refused += p->code == 1;
            if (p->code != 0 && (p->code != 1 || count_lines(p->err) != 1 || !strcasestr(p->err, "memory")))
                fail_msg("%s: exit code %d, '%s'", what, p->code, p->err);
        }
    print_message("%d of 18 runs refused\n", refused);
    assert_true(refused > 0 && refused < 18);
}

/* ---- files ---- */

/* A finished run, the same before its last file was written, its evaluation, and rows with labels. */
static int create(void **state) {
    setenv("OPENBLAS_CORETYPE", "Haswell", 0); /* else the program would start itself again, without the library */
    setenv("OMP_NUM_THREADS", "1", 1);
    setenv("OPENBLAS_NUM_THREADS", "1", 1);
    unsetenv("MOCHI_CACHE");
    if (program_create(state) != 0)
        return -1;
    program *p = *state;
    char command[1400];
    write_rows(p, 1);
    RUN(p, "train", "--pool", "mutag", "--dim", "8", "--k", "2:3", "--q", "2:3", "--steps", "2", "--out",
        in_folder(p, "run"), "--quiet");
    assert_ended(p, 0, NULL);
    RUN(p, "eval", "--weights", in_folder(p, "run/weights.safetensors"), "--data", "mutag", "--shots", "4", "--seeds",
        "2", "--json", "--quiet");
    assert_ended(p, 0, NULL);
    write_text(in_folder(p, "eval.jsonl"), p->out);
    snprintf(command, sizeof command, "cp -r '%s/run' '%s/stopped' && rm '%s/stopped/weights.safetensors'", p->folder,
        p->folder, p->folder);
    return system(command);
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_program_says_that_it_has_no_memory),
        cmocka_unit_test(limits_of_addresses_end_in_one_line)};
    every = argc > 1 && !strcmp(argv[1], "every");
    return cmocka_run_group_tests(tests, create, program_release);
}
