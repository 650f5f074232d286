/* tools/report/report_input.c - reads the inputs of a report, and refuses lines that it does not know. */
#include "tools/report/report.h"

#include "tools/input.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <errno.h>
#include <inttypes.h>
#include <stb/stb_ds.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

const char *text_of(const json_t *o, const char *name) {
    const char *text = json_string_value(json_object_get(o, name));
    return text ? text : "";
}

double number_of(const json_t *o, const char *name) {
    const json_t *v = json_object_get(o, name);
    return json_is_number(v) ? json_number_value(v) : NAN;
}

bool same_members(const json_t *a, const json_t *b, const char *names) {
    char name[32];
    int used;
    for (; sscanf(names, "%31[^,]%n", name, &used) == 1; names += used + (names[used] == ','))
        if (!json_equal(json_object_get(a, name), json_object_get(b, name)))
            return false;
    return true;
}

mo_calibration counts_of(const json_t *o) {
    mo_calibration c = {0};
    const json_t *n = json_object_get(o, "n"), *right = json_object_get(o, "right"),
                 *confidence = json_object_get(o, "confidence");
    for (int b = 0; b < MO_ECE_BINS; b++) {
        c.bin[b].n = json_integer_value(json_array_get(n, (size_t)b));
        c.bin[b].right = json_integer_value(json_array_get(right, (size_t)b));
        c.bin[b].confidence = json_number_value(json_array_get(confidence, (size_t)b));
        c.n += c.bin[b].n;
        c.right += c.bin[b].right;
    }
    return c;
}

/* ---- kinds of lines ---- */

/* A line is of a kind if it has the member `sign`, with the given value unless that is NULL. members: the members that
 * a page reads, each with its type after the colon: text, integer, number (or null), list, object, flag. */
static const struct {
    const char *sign, *value, *members;
} kinds[LINE_KINDS] = {
    [LINE_RUN] = {"kind", "run", "command:l versions:o"},
    [LINE_DATA] = {"kind", "data", "data:t task:t xxh3:t nodes:i edges:i graphs:i classes:i"},
    [LINE_CELL] = {"kind", "cell", "data:t task:t protocol:t features:t head:t k:i metric:t mean:n sd:n ci95:n"},
    [LINE_ABSENT] = {"kind", "absent", "data:t task:t reason:t"},
    [LINE_PAIR] = {"kind", "pair",
        "data:t task:t metric:t k:i head:t features:t other_features:t difference:n ci95:n paired:f apart:f"},
    [LINE_AGGREGATE] = {"kind", "aggregate", "features:t head:t S:n"},
    [LINE_FIT] = {"ece_temperature", NULL,
        "head:t k:i accuracy:n ci95:n nll:n brier:n ece:n ece_temperature:n seconds:n"},
    [LINE_GEOMETRY] = {"diagnosis", "offset", "offset:n spread:n radius:n mean_distance:n pairs:i pairs_missed:i"},
    [LINE_PROTOTYPE] = {"diagnosis", "class",
        "class:i rows:i norm:n hull_distance:n hull_distance_normalised:n inside:f epsilon_included:f outer:f "
        "flagged:f "
        "plane:l"},
    [LINE_NORM] = {"diagnosis", "norm", "head:t k:i quarter:t accuracy:n confidence:n ece:n"},
    [LINE_READOUT] = {"diagnosis", "reliability", "head:t k:i n:l right:l confidence:l"},
    [LINE_PITFALL] = {"kind", "pitfall", "pitfall:t setting:t x:n head:t metric:t mean:n ci95:n values:l"},
    [LINE_RELIABILITY] = {"kind", "reliability", "setting:t head:t n:l right:l confidence:l"},
    [LINE_BENCH] = {"gemm_share", NULL, "case:t variant:t rows:i gflop:n med_ms:n gemm_share:n peak_mb:n"},
    [LINE_OP] = {"kind", "op", "case:t op:t where:t calls:i ms:n gflop:n mb:n"},
};

static int find_line_kind(const json_t *line) {
    for (int i = 0; i < LINE_KINDS; i++) {
        const json_t *sign = json_object_get(line, kinds[i].sign);
        if (sign && (!kinds[i].value || (json_is_string(sign) && !strcmp(json_string_value(sign), kinds[i].value))))
            return i;
    }
    return -1;
}

static const char *type_name(char type) {
    static const struct {
        char type;
        const char *name;
    } names[] = {{'t', "a text"}, {'i', "an integer"}, {'n', "a number or null"}, {'l', "a list"}, {'o', "an object"},
        {'f', "true or false"}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (names[i].type == type)
            return names[i].name;
    return "nothing";
}

static bool has_type(const json_t *v, char type) {
    return type == 't'   ? json_is_string(v)
           : type == 'i' ? json_is_integer(v)
           : type == 'n' ? json_is_number(v) || json_is_null(v)
           : type == 'l' ? json_is_array(v)
           : type == 'o' ? json_is_object(v)
                         : json_is_boolean(v);
}

/* Whether all elements of the lists that a page reads are numbers, and lists of bins have the right length. */
static bool lists_are_fine(int kind, const json_t *line) {
    static const char *const lists[] = {"plane", "values", "n", "right", "confidence"};
    for (int i = 0; i < 5; i++) {
        const json_t *list = json_object_get(line, lists[i]);
        size_t n = json_array_size(list);
        bool bins = i >= 2 && json_is_array(list);
        if ((bins && n != MO_ECE_BINS) || (kind == LINE_PROTOTYPE && i == 0 && n != 2))
            return false;
        for (size_t k = 0; k < n; k++)
            if (!has_type(json_array_get(list, k), bins && i < 4 ? 'i' : 'n'))
                return false;
    }
    return true;
}

static void check_members(report *r, int kind, const json_t *line, const char *path, int number) {
    char name[40], type;
    int used;
    for (const char *at = kinds[kind].members; sscanf(at, " %39[^:]:%c%n", name, &type, &used) == 2; at += used)
        if (!has_type(json_object_get(line, name), type))
            mo_fail(r->ctx, MO_FORMAT, "report: %s: line %d: expected the member %s to be %s, found %s", path, number,
                name, type_name(type), json_object_get(line, name) ? "another type" : "none");
    if (mo_ok(r->ctx) && !lists_are_fine(kind, line))
        mo_fail(r->ctx, MO_FORMAT, "report: %s: line %d: expected lists of numbers, found another list", path, number);
}

static void take_report_line(report *r, const char *text, size_t n, const char *path, int number, int *run) {
    json_error_t error;
    json_t *line = json_loadb(text, n, JSON_REJECT_DUPLICATES, &error);
    int kind = json_is_object(line) ? find_line_kind(line) : -1;
    if (!json_is_object(line))
        mo_fail(r->ctx, MO_FORMAT, "report: %s: line %d: expected a JSON object, found %s", path, number,
            line ? "another value" : error.text);
    else if (kind < 0)
        mo_fail(r->ctx, MO_FORMAT,
            "report: %s: line %d: expected a line of mochi eval, fit, pitfalls or bench step with --json, found "
            "another "
            "object",
            path, number);
    else
        check_members(r, kind, line, path, number);
    if (mo_ok(r->ctx)) {
        if (kind == LINE_RUN)
            *run = (int)json_array_size(r->lines[LINE_RUN]);
        json_object_set_new(line, "#file", json_integer(arrlen(r->files) - 1));
        json_object_set_new(line, "#run", json_integer(*run));
        json_array_append(r->lines[kind], line);
    }
    json_decref(line);
}

/* ---- files ---- */

/* XXH3-128 as `xxhsum -H2` prints it. */
static void write_digest(const XXH3_state_t *state, char hex[33]) {
    XXH128_hash_t h = XXH3_128bits_digest(state);
    snprintf(hex, 33, "%016" PRIx64 "%016" PRIx64, (uint64_t)h.high64, (uint64_t)h.low64);
}

typedef void (*line_visit)(report *r, const char *text, size_t n, const char *path, int number, void *state);

/* Visits every line of a file; writes its size and digest to *file. */
static void read_report_lines(report *r, report_file *file, line_visit visit, void *state) {
    XXH3_state_t *hash = XXH3_createState();
    FILE *f = open_input(file->path);
    char *line = NULL;
    size_t room = 0;
    ssize_t n = 0;
    if (!hash || !f)
        mo_fail(r->ctx, MO_IO, "report: %s: cannot be read: %s", file->path, strerror(errno));
    if (hash)
        XXH3_128bits_reset(hash);
    while (f && hash && mo_ok(r->ctx) && (errno = 0, n = getline(&line, &room, f)) >= 0) {
        XXH3_128bits_update(hash, line, (size_t)n);
        file->bytes += (size_t)n;
        visit(r, line, (size_t)n, file->path, ++file->lines, state);
    }
    if (f && mo_ok(r->ctx) && (ferror(f) || errno))
        mo_fail(r->ctx, MO_IO, "report: %s: cannot be read: %s", file->path, strerror(errno));
    if (hash)
        write_digest(hash, file->digest);
    XXH3_freeState(hash);
    free(line);
    if (f)
        fclose(f);
}

/* Reads a line of another command's result; run: the last line of kind LINE_RUN. */
static void take_result(report *r, const char *text, size_t n, const char *path, int number, void *state) {
    take_report_line(r, text, n, path, number, state);
}

static void read_results(report *r, const char *path) {
    int run = -1;
    report_file file = {.path = path};
    arrput(r->files, file);
    read_report_lines(r, &file, take_result, &run);
    arrlast(r->files) = file;
    if (mo_ok(r->ctx) && !file.lines)
        mo_fail(r->ctx, MO_FORMAT, "report: %s: expected lines of --json, found an empty file", path);
}

/* ---- runs ---- */

static void take_step_line(report *r, const char *text, size_t n, const char *path, int number, void *state) {
    json_error_t error;
    json_t *line = json_loadb(text, n, JSON_REJECT_DUPLICATES, &error);
    if (!json_is_integer(json_object_get(line, "step")) || !json_is_number(json_object_get(line, "loss")) ||
        !json_is_number(json_object_get(line, "seconds")) || !json_is_object(json_object_get(line, "accuracy")))
        mo_fail(r->ctx, MO_FORMAT, "report: %s: line %d: expected a step of mochi train, found %s", path, number,
            line ? "another value" : error.text);
    else if (json_integer_value(json_object_get(line, "step")) != number - 1)
        mo_fail(r->ctx, MO_FORMAT,
            "report: %s: line %d: expected step %d, found step %" JSON_INTEGER_FORMAT
            ": the steps of a run follow one another",
            path, number, number - 1, json_integer_value(json_object_get(line, "step")));
    else
        json_array_append(state, line);
    json_decref(line);
}

static void skip_line(report *r, const char *text, size_t n, const char *path, int number, void *state) {
    (void)r, (void)text, (void)n, (void)path, (void)number, (void)state;
}

static void read_report_run(report *r, const char *folder) {
    report_run run = {.path = folder, .log = json_array()};
    char path[3][4096];
    static const char *const names[] = {"run.json", "log.jsonl", "weights.safetensors"};
    json_error_t error;
    for (int i = 0; i < 3; i++)
        snprintf(path[i], sizeof path[i], "%s/%s", folder, names[i]);
    report_file log = {.path = path[1]}, weights = {.path = path[2]};
    run.about = read_json_file(path[0], JSON_REJECT_DUPLICATES, &error);
    if (!json_is_object(run.about) || !json_is_object(json_object_get(run.about, "settings")))
        mo_fail(r->ctx, MO_FORMAT, "report: %s: expected the settings of a run of mochi train, found %s", path[0],
            run.about ? "another object" : error.text);
    else
        read_report_lines(r, &log, take_step_line, run.log);
    int64_t steps = json_integer_value(json_object_get(json_object_get(run.about, "settings"), "steps"));
    bool finished = mo_ok(r->ctx) && access(path[2], F_OK) == 0;
    if (finished && (int64_t)json_array_size(run.log) < steps)
        mo_fail(r->ctx, MO_FORMAT, "report: %s: expected the %" PRId64 " steps of a finished run, found %zu", path[1],
            steps, json_array_size(run.log));
    else if (finished) {
        read_report_lines(r, &weights, skip_line, NULL);
        memcpy(run.weights, weights.digest, sizeof run.weights);
    }
    arrput(r->runs, run);
}

/* ---- predictions ---- */

static void read_predictions(report *r, const char *path) {
    report_file file = {.path = path};
    prediction_table table;
    read_report_lines(r, &file, skip_line, NULL);
    arrput(r->files, file);
    if (!mo_ok(r->ctx))
        return;
    prediction_table_read(r->ctx, path, &table);
    arrput(r->tables, table);
}

mo_code report_read(report *r, const char *path) {
    struct stat status;
    for (int i = 0; i < LINE_KINDS; i++)
        r->lines[i] = r->lines[i] ? r->lines[i] : json_array();
    if (stat(path, &status) == 0 && S_ISDIR(status.st_mode))
        read_report_run(r, path);
    else if (is_prediction_table(path))
        read_predictions(r, path);
    else
        read_results(r, path);
    return mo_context_status(r->ctx)->code;
}

void report_release(report *r) {
    for (int i = 0; i < LINE_KINDS; i++)
        json_decref(r->lines[i]);
    for (int i = 0; i < arrlen(r->runs); i++) {
        json_decref(r->runs[i].about);
        json_decref(r->runs[i].log);
    }
    for (int i = 0; i < arrlen(r->charts); i++)
        chart_free(&r->charts[i]);
    for (int i = 0; i < arrlen(r->tables); i++)
        prediction_table_release(&r->tables[i]);
    results_free(&r->paper);
    arrfree(r->tables);
    arrfree(r->files);
    arrfree(r->runs);
    arrfree(r->charts);
    contents_free(r);
}
