/* tests/train/graphs/test_graph_files.c - reads every case of tests/graphs/files.cases (graphs, pools and suites),
 * which says whether a file is read or refused, and what the message has; truncated graphs; what pools and suites
 * hold. */
#include "tests/scratch.h"

typedef struct corpus {
    scratch *s;
    char *line[2000];
    int lines, cases;
    FILE *file;  /* the file being written */
    int members; /* number of members of an .npz */
    const char *member[16];
    char alone[64]; /* name of the file to open by itself; "": open the folder */
} corpus;

static void write_line(FILE *file, const char *text) {
    for (; *text; text++)
        if (*text != '\\')
            fputc(*text, file);
        else if (*++text == 'c')
            return;
        else if (*text == 'x') {
            fputc((int)strtol((char[]){text[1], text[2], 0}, NULL, 16), file);
            text += 2;
        } else
            fputc(*text == 't' ? '\t' : *text == 'r' ? '\r' : '\\', file);
    fputc('\n', file);
}

static void close_file(corpus *c) {
    if (c->file)
        fclose(c->file);
    c->file = NULL;
}

/* Returns the text after `word` at the start of a line; NULL if the line starts otherwise. */
static const char *after(const char *line, const char *word) {
    size_t n = strlen(word);
    return strncmp(line, word, n) == 0 ? line + n : NULL;
}

/* Returns the index of the member with the name that begins the line; the number of members if it is new. */
static int find_member(const corpus *c, const char *line) {
    int at = 0;
    while (at < c->members && strncmp(c->member[at], line, strcspn(c->member[at], " ") + 1) != 0)
        at++;
    return at;
}

static void write_member(corpus *c, mo_arrays *arrays, const char *text) {
    char line[300], *rest = line, *last;
    snprintf(line, sizeof line, "%s", text);
    char *key = strsep(&rest, " "), *type = strsep(&rest, " ");
    mo_dtype real = 0;
    while (real < MO_DTYPES && strcmp(mo_dtype_name(real), type) != 0)
        real++;
    int64_t shape[2] = {0, 0}, integers[16], n = 0;
    bool matrix = rest && rest[strspn(rest, "0123456789")] == 'x';
    if (matrix)
        sscanf(strsep(&rest, " "), "%" SCNd64 "x%" SCNd64, &shape[0], &shape[1]);
    int32_t narrow[16];
    uint8_t bytes[16];
    float floats[16];
    double values[16];
    for (; rest && *rest; rest = last, n++) {
        assert_in_range(n, 0, 15);
        values[n] = strtod(rest, &last);
        assert_ptr_not_equal(rest, last);
        integers[n] = values[n] >= 9e18 ? INT64_MAX : isfinite(values[n]) ? (int64_t)values[n] : 0;
        narrow[n] = (int32_t)integers[n];
        bytes[n] = (uint8_t)integers[n];
        floats[n] = (float)values[n];
    }
    shape[0] = matrix ? shape[0] : n;
    const void *host[MO_DTYPES] = {[MO_F32] = floats,
        [MO_F64] = values,
        [MO_I32] = narrow,
        [MO_I64] = integers,
        [MO_U8] = bytes,
        [MO_F16] = bytes};
    mo_arrays_take(arrays, key, mo_tensor_create_from(c->s->ctx, real, matrix ? 2 : 1, shape, host[real]));
}

static void write_members(corpus *c) {
    HELD(mo_arrays) *arrays = mo_arrays_create(c->s->ctx);
    for (int i = 0; i < c->members; i++)
        write_member(c, arrays, c->member[i]);
    assert_int_equal(mo_npz_write(arrays, scratch_path(c->s, c->alone)), MO_OK);
    c->members = 0;
}

/* Whether line i belongs to a file; if so, writes it. */
static bool take_file(corpus *c, int i) {
    const char *line = c->line[i], *name = after(line, "file ") ? after(line, "file ") : after(line, "in ");
    if (*line == '|' && c->file)
        write_line(c->file, line + 1);
    else if (*line == '|') {
        int at = find_member(c, line + 1);
        c->member[at] = line + 1;
        c->members += at == c->members;
    }
    if (!name)
        return *line == '|';
    close_file(c);
    if (after(line, "file "))
        snprintf(c->alone, sizeof c->alone, "%s", name);
    if (mo_path_ends_with(name, ".npz"))
        return true;
    c->file = fopen(scratch_path(c->s, name), "wb");
    assert_non_null(c->file);
    return true;
}

static void take_base(corpus *c, const char *name) {
    for (int i = 0; i < c->lines; i++)
        if (after(c->line[i], "base ") && !strcmp(after(c->line[i], "base "), name)) {
            while (take_file(c, ++i))
                ;
            return;
        }
    fail_msg("no base %s", name);
}

static void expect_refusal(corpus *c, int i, bool read) {
    const mo_status *status = mo_context_status(c->s->ctx);
    char *rest = c->line[i] + 2, *code = strsep(&rest, " ");
    if (read || strcmp(mo_code_name(status->code), code) != 0)
        fail_msg("line %d: expected %s, found %s", i + 1, code, read ? "no error" : status->message);
    if (*c->alone && !(mo_path_ends_with(c->alone, ".json") ? strstr(status->message, c->s->path)
                                                            : after(status->message, c->s->path)))
        fail_msg("line %d: expected the path, found %s", i + 1, status->message);
    for (char *part = rest, *next; part; part = next) {
        next = strstr(part, " ; ");
        if (next) {
            *next = '\0';
            next += 3;
        }
        if (!strstr(status->message, part))
            fail_msg("line %d: expected '%s' in: %s", i + 1, part, status->message);
    }
    assert_null(strchr(status->message, '\n'));
    mo_clear_error(c->s->ctx);
}

static void expect_graph(const corpus *c, int i, const mo_graph *graph) {
    char found[600];
    int64_t labels = 0;
    if (!graph)
        fail_msg("line %d: %s", i + 1, mo_context_status(c->s->ctx)->message);
    for (int64_t v = 0; v < graph->n_labels; v++)
        labels += graph->label[v] >= 0;
    snprintf(found, sizeof found, "= %d %d %d %d%s%s%s%s%s%s", (int)graph->nodes, (int)(graph->nnz / 2), (int)labels,
        (int)graph->features, graph->left_out ? " " : "", graph->left_out ? graph->left_out : "",
        graph->headers ? " header: " : "", graph->headers ? graph->headers : "", graph->recoded ? " recoded: " : "",
        graph->recoded ? graph->recoded : "");
    if (strcmp(found, c->line[i]) != 0)
        fail_msg("line %d: expected '%s', found '%s'", i + 1, c->line[i], found);
}

/* Ends a case: opens what the case has written, and checks the result. */
static void open_case(corpus *c, int i) {
    close_file(c);
    if (c->members)
        write_members(c);
    mo_context *ctx = c->s->ctx;
    const char *path = *c->alone ? scratch_path(c->s, c->alone) : c->s->folder;
    mo_pool_file *pool = mo_path_ends_with(path, ".pool") ? mo_pool_file_read(ctx, path) : NULL;
    mo_suite *suite = mo_path_ends_with(path, ".suite") ? mo_suite_read(ctx, path) : NULL;
    HELD(mo_graph) *graph = mo_path_ends_with(path, ".json") ? NULL : mo_graph_open(ctx, path);
    if (*c->line[i] == '!')
        expect_refusal(c, i, pool || suite || graph);
    else
        expect_graph(c, i, graph);
    mo_pool_file_release(pool);
    mo_suite_release(suite);
    scratch_files(c->s, true);
    c->alone[0] = '\0';
    c->cases++;
}

TEST(every_case_is_read_or_refused_as_it_says) {
    static corpus c;
    HELD(bytes) text = read_bytes("tests/graphs/files.cases");
    bytes_append(&text, "", 1);
    c.s = *state;
    for (char *rest = (char *)text.data; rest && c.lines < 2000;)
        c.line[c.lines++] = strsep(&rest, "\n");
    for (int i = 0; i < c.lines; i++)
        if (after(c.line[i], "base "))
            while (*c.line[i])
                i++;
        else if (after(c.line[i], "with "))
            take_base(&c, after(c.line[i], "with "));
        else if (after(c.line[i], "without ") && c.members) {
            char key[64];
            snprintf(key, sizeof key, "%s ", after(c.line[i], "without "));
            int at = find_member(&c, key);
            assert_in_range(at, 0, c.members - 1);
            c.member[at] = c.member[--c.members];
        } else if (after(c.line[i], "without ")) {
            close_file(&c);
            assert_int_equal(remove(scratch_path(c.s, after(c.line[i], "without "))), 0);
        } else if (*c.line[i] == '!' || *c.line[i] == '=')
            open_case(&c, i);
        else if (!take_file(&c, i) && *c.line[i] && *c.line[i] != '#')
            fail_msg("line %d: %s", i + 1, c.line[i]);
    assert_in_range(c.cases, 150, 2000);
}

/* Every truncation of a gzipped file is refused, and so is a wrong checksum. */
TEST_OF(truncated_and_flipped_gzip_is_refused, scratch *s) {
    HELD(bytes) whole = read_bytes("tests/graphs/edges.txt.gz");
    for (size_t n = 3; n <= whole.n; n++) {
        if (n == whole.n)
            whole.data[n - 5] ^= 1; /* a bit of the CRC-32 */
        const char *path = scratch_write(s, "cut.txt.gz", whole.data, n);
        assert_null(mo_graph_open(s->ctx, path));
        assert_true(after(mo_context_status(s->ctx)->message, path) != NULL);
        assert_failed(s->ctx, MO_FORMAT, PARTS("expected", "found"));
    }
    scratch_files(s, true);
}

/* ---- pools and suites ---- */

static void assert_items(char *const *items, int n, const char *const *expected, int n_expected) {
    assert_int_equal(n, n_expected);
    for (int i = 0; i < n; i++)
        assert_string_equal(items[i], expected[i]);
}

TEST_OF(a_pool_is_read_into_items_of_a_pool, scratch *s) {
    mo_pool_file *file = mo_pool_file_read(s->ctx, "tests/lists/small.pool");
    assert_non_null(file);
    assert_items(file->graph, file->n, (const char *const[]){"cora:nc+lp@0.1", "mutag"}, 2);
    assert_true(file->link_share == 0.25 && file->family[MO_TASK_NC] == 2 && file->family[MO_TASK_GC] == 0.5);
    mo_pool_file_release(file);
}

TEST_OF(a_suite_has_its_tasks_and_what_is_usual, scratch *s) {
    mo_suite *suite = mo_suite_read(s->ctx, "tests/lists/small.suite");
    assert_non_null(suite);
    assert_true(suite->episodes && suite->seeds == 5 && suite->n == 3);
    assert_items(suite->head, suite->n_heads, (const char *const[]){"ridge", "dot"}, 2);
    const mo_suite_task *nodes = &suite->task[0], *links = &suite->task[1], *graphs = &suite->task[2];
    assert_true(nodes->task == MO_TASK_NC && nodes->n_shots == 2 && nodes->shots[1] == 16);
    assert_true(links->task == MO_TASK_LP && links->n_shots == 1 && links->shots[0] == 512);
    assert_string_equal(mo_link_metric_name(2), "mrr");
    assert_null(mo_link_metric_name(-1));
    assert_null(mo_link_metric_name(6));
    assert_true(graphs->task == MO_TASK_GC && graphs->n_shots == 6 && graphs->shots[5] == 512);
    mo_suite_release(suite);
}

TEST_OF(those_that_come_with_the_library_are_read, scratch *s) {
    const struct {
        const char *name;
        int graphs, tasks;
    } lists[] = {{"paper-offline", 9, 9}, {"paper", 21, 20}};
    for (int i = 0; i < 2; i++) {
        assert_true(mo_is_pool_file(lists[i].name));
        mo_pool_file *file = mo_pool_file_read(s->ctx, lists[i].name);
        mo_suite *suite = mo_suite_read(s->ctx, lists[i].name);
        expect_ok(s->ctx);
        assert_int_equal(file->n, lists[i].graphs);
        assert_int_equal(suite->n, lists[i].tasks);
        for (int j = 0; j < suite->n; j++) /* no graph of the pool is one that the suite evaluates */
            for (int k = 0; k < file->n; k++)
                assert_true(strncmp(file->graph[k], suite->task[j].data, strlen(suite->task[j].data)) != 0 ||
                            strchr(":@", file->graph[k][strlen(suite->task[j].data)]) == NULL);
        mo_pool_file_release(file);
        mo_suite_release(suite);
    }
    assert_false(mo_is_pool_file("cora") || mo_is_pool_file("cora,mutag"));
}
