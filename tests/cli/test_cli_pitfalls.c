/* tests/cli/test_cli_pitfalls.c - `mochi pitfalls`: the synthetic experiments reproduce the paper's figures, and those
 * of another program of them on its own draws (tests/golden/synthetic.json). */
#include "tests/cli/program.h"

#include <math.h>

static const fixtures around_all = {program_create, program_release};

static const char members[] = "kind,pitfall,setting,x,head,metric,mean,sd,ci95,values";

enum { MOST_FIGURES = 256, SEEDS = 20 };

typedef struct figures {
    json_t *rows[MOST_FIGURES];
    int n;
} figures;

/* The figures of a run, without the command in its first line and without its reliability diagrams. */
static figures read_figures(const program *p) {
    figures f = {0};
    json_decref(json_line(p, 0, "kind,format,command,versions,blas_core"));
    for (int i = 1; i < count_lines(p->out) && f.n < MOST_FIGURES; i++) {
        const char *line = p->out;
        for (int k = 0; k < i; k++)
            line = strchr(line, '\n') + 1;
        if (!strncmp(line, "{\"kind\":\"reliability\"", 21))
            json_decref(json_line(p, i, "kind,setting,head,n,right,confidence"));
        else
            f.rows[f.n++] = json_line(p, i, members);
    }
    return f;
}

static void release_figures(figures *f) {
    while (f->n)
        json_decref(f->rows[--f->n]);
}

/* The figure with these names; x is not compared if it is NaN. */
static const json_t *find(const figures *f, const char *setting, double x, const char *head, const char *metric) {
    for (int i = 0; i < f->n; i++) {
        const json_t *r = f->rows[i];
        if (!strcmp(json_text_of(r, "setting"), setting) && (isnan(x) || json_real_of(r, "x") == x) &&
            !strcmp(json_text_of(r, "head"), head) && !strcmp(json_text_of(r, "metric"), metric))
            return r;
    }
    fail_msg("no figure %s %g %s %s", setting, x, head, metric);
    return NULL;
}

static double mean(const figures *f, const char *setting, double x, const char *head, const char *metric) {
    return json_real_of(find(f, setting, x, head, metric), "mean");
}

/* On how many seeds the ece of one readout is above another's. */
static int count_above(const figures *f, const char *setting, const char *above, const char *below) {
    const json_t *a = json_object_get(find(f, setting, NAN, above, "ece"), "values"),
                 *b = json_object_get(find(f, setting, NAN, below, "ece"), "values");
    int count = 0;
    for (size_t i = 0; i < json_array_size(a); i++)
        count += json_number_value(json_array_get(a, i)) > json_number_value(json_array_get(b, i));
    return count;
}

TEST(a_shift_sends_prototypes_to_chance_and_leaves_ridge) {
    program *p = *state;
    RUN(p, "pitfalls", "origin", "--json");
    assert_ended(p, 0, NULL);
    figures f = read_figures(p);
    double before = 101, t[] = {0, 1, 2, 3, 4, 5};
    for (int i = 0; i < 6; i++) {
        double prototype = mean(&f, "t", t[i], "prototype_inner", "accuracy"),
               ridge = mean(&f, "t", t[i], "ridge", "accuracy");
        if (!(ridge > 99.9) || !(prototype <= before))
            fail_msg("t = %g: prototype %g after %g, ridge %g", t[i], prototype, before, ridge);
        before = prototype;
    }
    assert_true(mean(&f, "t", 0, "prototype_inner", "accuracy") > 99.9);
    assert_true(mean(&f, "t", 5, "prototype_inner", "accuracy") == 50);
    release_figures(&f);
}

/* The paper: recall of A to exactly 0 and accuracy to two thirds; ridge at 80 to 85 on A (here 77 to 86: the mean of 20
 * draws has a standard error of 1.6). Contrary to the text, the prototype does not enter the hull: the distance stays.
 */
TEST(two_modes_lose_all_recall_outside_the_hull) {
    program *p = *state;
    RUN(p, "pitfalls", "hull", "--json");
    assert_ended(p, 0, NULL);
    figures f = read_figures(p);
    double delta[] = {0, 1, 2, 4, 10};
    for (int i = 0; i < 5; i++) {
        double ridge = mean(&f, "delta", delta[i], "ridge", "recall_A"),
               distance = mean(&f, "delta", delta[i], "prototype_inner", "hull_distance");
        if (!(ridge > 75 && ridge < 88) || !(fabs(distance - 1.5) < 0.2))
            fail_msg("delta = %g: ridge %g, distance %g", delta[i], ridge, distance);
    }
    assert_true(mean(&f, "delta", 0, "prototype_inner", "recall_A") > 98);
    assert_true(mean(&f, "delta", 10, "prototype_inner", "recall_A") == 0);
    assert_true(mean(&f, "delta", 10, "prototype_inner", "recall_B") == 100);
    assert_true(fabs(mean(&f, "delta", 10, "prototype_inner", "accuracy") - 200.0 / 3) < 1e-6);
    assert_true(mean(&f, "delta", 10, "ridge", "accuracy") > mean(&f, "delta", 10, "prototype_inner", "accuracy") + 5);
    release_figures(&f);
}

TEST(logistic_is_calibrated_where_a_temperature_is_not) {
    program *p = *state;
    static const char *const settings[] = {"shifted", "radius"};
    RUN(p, "pitfalls", "calibration", "--json");
    assert_ended(p, 0, NULL);
    figures f = read_figures(p);
    for (int i = 0; i < 2; i++) {
        const char *s = settings[i];
        assert_true(mean(&f, s, NAN, "prototype_inner", "ece") > 1.3 * mean(&f, s, NAN, "temperature", "ece"));
        assert_true(mean(&f, s, NAN, "logistic", "ece") < 0.003);
        assert_true(
            count_above(&f, s, "prototype_inner", "temperature") >= SEEDS - 3); /* it harms on 5% of the draws */
        assert_true(count_above(&f, s, "temperature", "logistic") >= SEEDS - 3);
    }
    release_figures(&f);
}

/* ---- against another program of them ---- */

typedef struct comparison {
    json_t *file;
    int means;
} comparison;

/* The file's values of a figure; NULL if it has none. */
typedef struct reference {
    const json_t *mean, *sd;
} reference;

/* That program's name of a readout. */
static const char *its_name(const char *head) {
    return !strcmp(head, "prototype_inner") ? "prototype" : !strcmp(head, "logistic") ? "logreg" : head;
}

static reference calibration_reference(const comparison *c, const json_t *row) {
    const char *head = its_name(json_text_of(row, "head")), *metric = json_text_of(row, "metric");
    const json_t *part = json_object_get(json_object_get(c->file, "calibration"), json_text_of(row, "setting"));
    char name[64];
    snprintf(name, sizeof name, strcmp(metric, "temperature") ? "%s_%s" : "%s", metric, head);
    return (reference){json_object_get(part, name), json_object_get(json_object_get(part, "sd"), name)};
}

static reference path_reference(const comparison *c, const json_t *row) {
    const char *head = its_name(json_text_of(row, "head")), *metric = json_text_of(row, "metric");
    bool hull = !strcmp(json_text_of(row, "pitfall"), "hull");
    const json_t *part = json_object_get(c->file, hull ? "convex_hull" : "translation");
    const json_t *steps = json_object_get(part, hull ? "delta" : "t");
    char name[64], sd_name[80];
    if (!strcmp(metric, "hull_distance"))
        snprintf(name, sizeof name, "hull_distance");
    else
        snprintf(name, sizeof name, hull ? "%s_%s" : "%s", head, metric);
    snprintf(sd_name, sizeof sd_name, hull ? "%s" : "%s_sd", name);
    const json_t *sd = json_object_get(hull ? json_object_get(part, "sd") : part, sd_name);
    for (size_t i = 0; i < json_array_size(steps); i++)
        if (json_number_value(json_array_get(steps, i)) == json_real_of(row, "x"))
            return (reference){json_array_get(json_object_get(part, name), i), json_array_get(sd, i)};
    return (reference){NULL, NULL};
}

/* Theirs are shares where ours are percentages. Means over different draws differ by at most five standard errors of
 * their difference, or by 0.1 points where no draw differs. */
static void compare(comparison *c, const json_t *row) {
    const char *metric = json_text_of(row, "metric");
    bool path = strcmp(json_text_of(row, "pitfall"), "calibration") != 0;
    double scale = strstr(metric, "recall") || !strcmp(metric, "accuracy") ? 100 : 1;
    reference r = path ? path_reference(c, row) : calibration_reference(c, row);
    if (!r.mean)
        return;
    double ours = json_real_of(row, "mean"), expected = scale * json_number_value(r.mean);
    double error = hypot(json_real_of(row, "sd"), scale * json_number_value(r.sd)) / sqrt(SEEDS);
    if (!(fabs(ours - expected) <= 5 * error + 1e-3 * scale))
        fail_msg("%s %g %s %s: %.6g, expected %.6g, with a standard error of %.2g", json_text_of(row, "setting"),
            json_real_of(row, "x"), json_text_of(row, "head"), metric, ours, expected, error);
    c->means++;
}

TEST(figures_are_those_of_another_program) {
    program *p = *state;
    comparison c = {.file = json_load_file("tests/golden/synthetic.json", 0, NULL)};
    assert_non_null(c.file);
    RUN(p, "pitfalls", "all", "--json");
    assert_ended(p, 0, NULL);
    figures f = read_figures(p);
    for (int i = 0; i < f.n; i++)
        compare(&c, f.rows[i]);
    assert_int_equal(c.means, 2 * 17 + 9 * 16 + 2 * 6);
    release_figures(&f);
    json_decref(c.file);
}

/* ---- the command ---- */

TEST(tables_say_where_the_paper_contradicts_itself) {
    program *p = *state;
    RUN(p, "pitfalls", "all", "--seeds", "3");
    assert_ended(p, 0, NULL);
    assert_string_equal(p->err, "");
    assert_non_null(strstr(p->out, "\n  5.00     50.0 ± 0.0 "));
    assert_non_null(strstr(p->out, "stays\n      outside, and the recall of A falls because the norms"));
    assert_non_null(strstr(p->out, "prototype above temperature on "));
    RUN(p, "pitfalls", "origin", "--seeds", "1");
    assert_ended(p, 0, NULL);
    assert_null(strstr(p->out, "nan"));
    assert_null(strstr(p->out, "hull"));
}

TEST(equal_seeds_give_equal_figures) {
    program *p = *state;
    static char first[MAX_TEXT];
    RUN(p, "pitfalls", "all", "--seeds", "2", "--json");
    memcpy(first, p->out, sizeof first);
    RUN(p, "pitfalls", "all", "--seeds", "2", "--threads", "3", "--json");
    assert_string_equal(strchr(p->out, '\n'), strchr(first, '\n')); /* behind the command */
}

TEST(what_cannot_be_done_is_one_line) {
    program *p = *state;
    const struct {
        const char *words[8], *part;
    } uses[] = {
        {{"pitfalls"}, "EXPERIMENT"},
        {{"pitfalls", "norm"}, "'norm'"},
        {{"pitfalls", "origin", "Z.npy"}, "'Z.npy'"},
        {{"pitfalls", "hull", "Z.npy"}, "Z and y"},
        {{"pitfalls", "hull", "Z.npy", "y.npy", "x.npy"}, "'x.npy'"},
        {{"pitfalls", "hull", "Z.npy", "y.npy", "--seeds", "3"}, "--seeds"},
        {{"pitfalls", "all", "--seeds", "0"}, "--seeds"},
    };
    for (size_t i = 0; i < sizeof uses / sizeof *uses; i++) {
        run_program_to(p, NULL, uses[i].words);
        assert_ended(p, 2, uses[i].part);
        assert_string_equal(p->out, "");
    }
    RUN(p, "pitfalls", "hull", "/no/Z.npy", "/no/y.npy");
    assert_ended(p, 1, "/no/Z.npy");
    run_program_to(p, "/dev/full", (const char *const[]){"pitfalls", "origin", "--seeds", "1", "--json", NULL});
    assert_ended(p, 1, "standard output");
}
