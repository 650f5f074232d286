/* tests/cli/test_cli_out_of_memory.c - allocations of the program fail one by one, alone and with all later ones
 * (failing_memory.c, preloaded): the program says that it is out of memory and exits with 1, or it gives its normal
 * result.
 *
 * In each line the first FIRST allocations fail, and DRAWN others chosen by a fixed seed; with the argument `every`,
 * all allocations fail if there are at most 2000, else 200 chosen ones. */
#include "tests/cli/program_lines.h"

#include <sys/resource.h>

static const fixtures around_all = {lines_create, program_release};

enum { FIRST = 16, DRAWN = 20, MANY_DRAWN = 200, MOST = 2000 };

static bool every;

static const char library[] = "failing_memory.so";

static const line lines[] = {
    {"data list --json", NULL}, {"data info mutag --json", NULL}, {"data info $/run/weights.safetensors --json", NULL},
    {"train --pool mutag --dim 8 --k 2:3 --q 2:3 --threads 1 --steps 2 --out @/run --json", NULL},
    {"train --resume --threads 1 --out @/run --json", "cp -r $/stopped @/run"},
    {"eval --weights $/run/weights.safetensors --data mutag --shots 4 --seeds 2 --threads 1 --json --quiet", NULL},
    {"embed --weights $/run/weights.safetensors --data mutag --out @/Z.npy --threads 1 --json", NULL},
    {"fit $/Z.npy $/y.npy --head ridge,svm,prototype_inner --shots 2,4 --episodes 2 --queries 4 --threads 1 --json",
        NULL},
    {"gradcheck solve_spd --json", NULL}, {"compare $/eval.jsonl paper --json", NULL},
    {"predict --data mutag --labels $/seeds.csv --out @/p.jsonl --save @/readout.safetensors --threads 1", NULL},
    {"predict --data mutag --readout $/readout.safetensors --threads 1 --quiet", NULL},
    {"suggest --data mutag --n 4 --out @/next.csv --threads 2", NULL}, /* threads that end */
};

/* The run said why it failed, or it did the same as without a failure; either way it left no other file. */
static void judge(const program *p, const line *l, long k, const outcome *whole, const outcome *o) {
    char what[300];
    snprintf(what, sizeof what, "%s, allocation %ld%s", l->words, k, getenv("FAIL_ALWAYS") ? " and all behind it" : "");
    expect_no_others(what, whole, o);
    if (p->code == 1 && strcasestr(p->err, "memory"))
        return;
    if (p->code != 0)
        fail_msg("%s: exit code %d, expected 1 and a line about memory, found: %s", what, p->code, p->err);
    expect_same(what, whole, o);
}

/* Fails allocation k of a line, alone and with all later ones. */
static void fail_at(program *p, const line *l, long k, const outcome *whole, outcome *o) {
    char number[24];
    snprintf(number, sizeof number, "%ld", k);
    setenv("FAIL_AT", number, 1);
    for (int always = 0; always < 2; always++) {
        if (always)
            setenv("FAIL_ALWAYS", "1", 1);
        prepare_line(p, l);
        run_line(p, l, library, o);
        forget_temporary(o);
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

TEST(the_program_says_that_it_has_no_memory) {
    static outcome whole, o;
    program *p = *state;
    uint64_t x = 1;
    skip_without(library);
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        setenv("COUNT_TO", in_folder(p, "count"), 1);
        prepare_line(p, &lines[i]);
        run_line(p, &lines[i], library, &whole);
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
TEST(limits_of_addresses_end_in_one_line) {
    static const rlim_t mebibytes[] = {160, 200, 300, 500, 1000, 1500};
    static const char *const threads[] = {"1", "4", "64"};
    program *p = *state;
    int refused = 0;
    skip_without(library);
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

int main(int argc, char **argv) {
    every = argc > 1 && !strcmp(argv[1], "every");
    return run_suite();
}
