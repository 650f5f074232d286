/* tests/cli/test_cli_disk.c - calls of the program on its files fail one by one, are interrupted or move fewer bytes
 * (failing_disk_preload.c): it gives its normal result, or one line that names a file and exit code 1; each file is the
 * former one, the next one, or not there, and no temporary file is left. Runs that are killed at any moment are
 * continued to the same bits.
 *
 * In each line the fault meets DRAWN calls of each kind of fault, chosen by a fixed seed, with the argument `every` all
 * of them; KILLS runs are killed, with `every` 200. */
#include "tests/cli/program_lines.h"
#include "tests/failing_disk.h"

#include <time.h>

static const fixtures around_all = {lines_create, program_release};

enum { DRAWN = 3, KILLS = 5, MANY_KILLS = 200 };

static bool every;
static const char library[] = "failing_disk.so";

/* What writes and reads every kind of file of the program; over former files, where `before` makes some. */
static const line lines[] = {
    {"embed --weights $/run/weights.safetensors --data mutag --out @/Z.npy --labels @/y.npy --threads 1 --quiet",
        "cp $/Z.npy @/Z.npy; cp $/y.npy @/y.npy"},
    {"predict --data mutag --labels $/seeds.csv --out @/p.csv --save @/r.safetensors --threads 1 --quiet",
        "cp $/seeds.csv @/p.csv; cp $/readout.safetensors @/r.safetensors"},
    {"predict --data mutag --readout $/readout.safetensors --out @/p.npy --threads 1 --quiet", "cp $/y.npy @/p.npy"},
    {"predict --data mutag --readout $/readout.safetensors --out @/p.jsonl --threads 1 --quiet", NULL},
    {"suggest --data mutag --n 4 --out @/next.csv --threads 1", "cp $/seeds.csv @/next.csv"},
    {"fit $/Z.npy $/y.npy --head ridge --save @/r.safetensors --threads 1 --quiet", NULL},
    {"fit $/Z.npy $/y.npy --head ridge --shots 2 --episodes 2 --queries 4 --draws @/d.npz --threads 1 --json",
        "cp $/Z.npy @/d.npz"},
    {"eval --weights $/run/weights.safetensors --data mutag --shots 4 --seeds 1 --draws @/draws --threads 1 --json "
     "--quiet",
        NULL},
    {"compare $/eval.jsonl paper --json", NULL},
    {"data convert $/run/weights.safetensors @/w.safetensors", NULL},
    {"data info $/run/weights.safetensors --json", NULL},
    {"data convert tests/graphs/club.gml @/club.npz", NULL},
    {"train --pool mutag --dim 8 --k 2:3 --q 2:3 --threads 1 --steps 2 --checkpoint-every 1 --out @/run --quiet", NULL},
    {"train --resume --threads 1 --out @/run --quiet", "cp -r $/stopped @/run"},
};

/* ---- faults ---- */

typedef struct tally {
    long runs, same, told;
} tally;

static void set_number(const char *name, long value) {
    char text[24];
    snprintf(text, sizeof text, "%ld", value);
    setenv(name, text, 1);
}

static const char *log_path(const program *p) {
    static char path[600];
    snprintf(path, sizeof path, "%s-calls", p->folder); /* not in the folder whose calls count */
    return path;
}

static void run_with(program *p, const line *l, int fault, long at, bool always, outcome *o) {
    setenv("DISK_UNDER", p->folder, 1);
    setenv("DISK_CALLS", log_path(p), 1);
    set_number("DISK_FAULT", fault);
    set_number("DISK_AT", at);
    set_number("DISK_ALWAYS", always);
    run_line(p, l, library, o);
}

/* The calls of the last run that were counted, and those that the fault met. */
static long calls_of(const program *p, long *met) {
    char text[MAX_TEXT], *end;
    read_text(log_path(p), text);
    long n = strtol(text, &end, 10);
    *met = strtol(end, NULL, 10);
    return n;
}

static bool is_log(const char *name) {
    return strstr(name, "log.jsonl");
}

/* Each file is as it was, or as it should become, or was not there; a log may end early. */
static void expect_former_or_next(const char *what, const outcome *former, const outcome *whole, const outcome *o) {
    for (int i = 0; i < o->n; i++) {
        int old = find_file(former, o->name[i]), next = find_file(whole, o->name[i]);
        bool is_old =
            old >= 0 && o->bytes[i] == former->bytes[old] && !memcmp(o->content[i], former->content[old], o->bytes[i]);
        bool is_next =
            next >= 0 && o->bytes[i] == whole->bytes[next] && !memcmp(o->content[i], whole->content[next], o->bytes[i]);
        if (!is_old && !is_next && !is_log(o->name[i]) && !strstr(o->name[i], "checkpoint"))
            fail_msg("%s: %s is neither the former file nor the next", what, o->name[i]);
    }
    for (int i = 0; i < former->n; i++)
        if (find_file(o, former->name[i]) < 0)
            fail_msg("%s: %s is lost", what, former->name[i]);
}

static void fault_once(
    program *p, const line *l, int fault, long at, bool always, const outcome *former, const outcome *whole, tally *t) {
    static outcome o;
    char what[400];
    long met;
    snprintf(what, sizeof what, "mochi %.200s, %s at call %ld%s", l->words, disk_fault_name((enum disk_fault)fault), at,
        always ? " and later" : "");
    prepare_line(p, l);
    run_with(p, l, fault, at, always, &o);
    calls_of(p, &met);
    if (met) {
        t->runs++;
        expect_no_others(what, whole, &o);
        if (p->code == 0) {
            t->same++;
            expect_same(what, whole, &o);
        } else {
            t->told++;
            expect_former_or_next(what, former, whole, &o);
            if (p->code != 1 || count_lines(p->err) != 1 || !strstr(p->err, p->folder) || fault == DISK_SHORT)
                fail_msg("%s: expected one line that names a file, found exit code %d: %s", what, p->code, p->err);
        }
    }
    free_outcome(&o);
}

static void fault_line(program *p, const line *l, tally *t) {
    static outcome former, whole;
    static const struct {
        int fault;
        bool always;
    } faults[] = {{DISK_EIO, false}, {DISK_EIO, true}, {DISK_ENOSPC, true}, {DISK_EINTR, true}, {DISK_SHORT, true}};
    char out[300];
    long met;
    uint64_t x = 1;
    prepare_line(p, l);
    snprintf(out, sizeof out, "%s/out", p->folder);
    former.n = 0;
    take_files(&former, out, "");
    run_with(p, l, DISK_NONE, 0, false, &whole);
    assert_ended(p, 0, NULL);
    long n = calls_of(p, &met);
    assert_true(n >= 3);
    for (size_t f = 0; f < sizeof faults / sizeof *faults; f++)
        for (long k = 1; k <= (every ? n : DRAWN); k++) {
            x = x * 6364136223846793005u + 1442695040888963407u;
            fault_once(p, l, faults[f].fault, every ? k : 1 + (long)((x >> 33) % (uint64_t)n), faults[f].always,
                &former, &whole, t);
        }
    print_message("%4ld calls: mochi %s\n", n, l->words);
    free_outcome(&former);
    free_outcome(&whole);
}

TEST(a_fault_of_the_disk_is_told_or_changes_nothing) {
    program *p = *state;
    tally t = {0};
    skip_without(library);
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        fault_line(p, &lines[i], &t);
    print_message("%ld faults: %ld changed nothing, %ld were told\n", t.runs, t.same, t.told);
    assert_true(t.runs > 60 && t.same > 20 && t.told > 20);
    unlink(log_path(p));
}

/* ---- kills ---- */

static const char train[] =
    "train --pool mutag --dim 8 --k 2:3 --q 2:3 --threads 1 --steps 20 --checkpoint-every 1 --out @/run --quiet";

static pid_t start_line(const program *p, const char *text) {
    char filled[1200], out[300], err[300];
    const char *words[MAX_WORDS + 1];
    int n = 0;
    fill_in(p, text, filled, sizeof filled);
    for (char *rest = filled, *word; (word = strsep(&rest, " "));)
        words[n++] = word;
    words[n] = NULL;
    snprintf(out, sizeof out, "%s/stdout", p->folder);
    snprintf(err, sizeof err, "%s/stderr", p->folder);
    return start_program(words, out, err);
}

static void run_text(program *p, const char *text) {
    char out[300], err[300];
    snprintf(out, sizeof out, "%s/stdout", p->folder);
    snprintf(err, sizeof err, "%s/stderr", p->folder);
    wait_for_program(p, start_line(p, text), out, err);
}

/* Continues the run, or where there is none to continue begins it anew. Returns whether it was continued. */
static bool take_up(program *p, const line *l) {
    run_text(p, "train --resume --threads 1 --out @/run --quiet");
    if (p->code == 0)
        return true;
    prepare_line(p, l);
    run_text(p, train);
    assert_ended(p, 0, NULL);
    return false;
}

/* Leaves out the checkpoint before the last, which of them it is depends on where a run was cut. */
static void take_run(outcome *o, const char *folder) {
    char path[400];
    snprintf(path, sizeof path, "%s/run/checkpoint.previous.safetensors", folder);
    unlink(path);
    o->n = 0;
    o->said[0] = '\0';
    take_files(o, folder, "");
}

static double seconds_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* The time within which the next run is killed, after one that was killed or had ended before: about a run's own, which
 * changes with what else the machine does. A fifth of the runs then end unhurt, and the last moments are reached too.
 */
static double next_span(double seconds, bool ended) {
    return seconds * (ended ? 0.96 : 1.01);
}

TEST(runs_killed_at_any_moment_end_with_the_same_bits) {
    static outcome whole, o;
    program *p = *state;
    line l = {train, NULL};
    char out[300];
    int resumed = 0, fresh = 0, ended = 0, kills = every ? MANY_KILLS : KILLS;
    uint64_t x = 2;
    snprintf(out, sizeof out, "%s/out", p->folder);
    prepare_line(p, &l);
    double start = seconds_now();
    run_text(p, train);
    double seconds = seconds_now() - start;
    assert_ended(p, 0, NULL);
    take_run(&whole, out);
    while (resumed + fresh < kills && ended < kills) {
        int status;
        x = x * 6364136223846793005u + 1442695040888963407u;
        prepare_line(p, &l);
        pid_t child = start_line(p, train);
        usleep((useconds_t)(1e6 * seconds * (double)(x >> 40) / (1 << 24)));
        kill(child, SIGKILL);
        assert_int_equal(waitpid(child, &status, 0), child);
        seconds = next_span(seconds, WIFEXITED(status));
        if (WIFEXITED(status))
            ended++;
        else
            *(take_up(p, &l) ? &resumed : &fresh) += 1;
        take_run(&o, out);
        expect_same("a killed run", &whole, &o);
        expect_no_others("a killed run", &whole, &o);
        free_outcome(&o);
    }
    print_message("%d runs killed: %d resumed, %d begun anew; %d more had ended, the last span is %.2f s\n",
        resumed + fresh, resumed, fresh, ended, seconds);
    assert_true(resumed > 0 && resumed + fresh == kills);
    free_outcome(&whole);
}

int main(int argc, char **argv) {
    every = argc > 1 && !strcmp(argv[1], "every");
    return run_suite();
}
