/* tests/cli/test_cli_seen.c - weights name the graphs that they were trained on, by content, and every command that
 * shows a figure of them says whether the graph is one of these, is none, or may be one. */
#include "tensor_file.h"

enum { MANY = 256 };

static void copy_file(const char *from, const char *to) {
    char *data;
    size_t n;
    read_file(from, &data, &n);
    FILE *file = fopen(to, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(data, 1, n, file), n);
    assert_int_equal(fclose(file), 0);
    free(data);
}

/* Weights of two steps on two sets of graphs; a copy that has lost its record; MUTAG under another name; another set
 * under that of MUTAG. */
static int train_once(void **state) {
    if (program_create(state))
        return -1;
    program *p = *state;
    RUN(p, "train", "--pool", "mutag,proteins", "--recipe", "paper", "--dim", "8", "--k", "2:3", "--q", "2:3",
        "--steps", "2", "--quiet", "--out", in_folder(p, "run"));
    assert_ended(p, 0, NULL);
    copy_file(in_folder(p, "run/weights.safetensors"), in_folder(p, "silent.safetensors"));
    tensor_file f = open_tensors(p, "silent.safetensors");
    assert_int_equal(json_object_del(f.metadata, "pool"), 0);
    rewrite_tensors(p, "silent.safetensors", &f);
    close_tensors(&f);
    copy_file("train/data/mutag.npz", in_folder(p, "renamed.npz"));
    mkdir(in_folder(p, "other"), 0777);
    copy_file("train/data/enzymes.npz", in_folder(p, "other/mutag.npz"));
    return 0;
}

static const fixtures around_all = {train_once, program_release};

/* The digest of a graph's content as `mochi data info` prints it. */
static void content_of(program *p, const char *name, char hash[40]) {
    RUN(p, "data", "info", name, "--json");
    assert_ended(p, 0, NULL);
    json_t *o = json_loadb(p->out, strcspn(p->out, "\n"), 0, NULL);
    snprintf(hash, 40, "%s", json_text_of(o, "hash"));
    json_decref(o);
    assert_int_equal(strlen(hash), 32);
}

TEST(weights_name_their_graphs_and_nothing_of_the_machine) {
    program *p = *state;
    char hash[2][40];
    content_of(p, "mutag", hash[0]);
    content_of(p, "proteins", hash[1]);
    json_t *expected =
        json_pack("[{s:s, s:s}, {s:s, s:s}]", "data", "mutag", "xxh3", hash[0], "data", "proteins", "xxh3", hash[1]);
    tensor_file f = open_tensors(p, "run/weights.safetensors");
    json_t *found = json_loads(json_text_of(f.metadata, "pool"), 0, NULL);
    assert_true(json_equal(found, expected));
    close_tensors(&f);
    json_decref(found);
    /* of a path the last part; a graph with two tasks, and a copy of it, once */
    RUN(p, "train", "--pool", "train/data/cora.npz:nc,cora:lp", "--recipe", "paper", "--dim", "8", "--k", "2:3", "--q",
        "2:3", "--steps", "1", "--quiet", "--out", in_folder(p, "path"));
    assert_ended(p, 0, NULL);
    content_of(p, "cora", hash[0]);
    json_decref(expected);
    expected = json_pack("[{s:s, s:s}]", "data", "cora", "xxh3", hash[0]);
    f = open_tensors(p, "path/weights.safetensors");
    found = json_loads(json_text_of(f.metadata, "pool"), 0, NULL);
    assert_true(json_equal(found, expected));
    close_tensors(&f);
    json_decref(found);
    json_decref(expected);
}

/* Evaluates a set with these weights. Returns `seen` of the columns that these words name, "true", "false" or "null",
 * in a buffer. */
static const char *seen_in(program *p, const char *weights, const char *data) {
    static char found[MANY];
    found[0] = '\0';
    RUN(p, "eval", "--weights", weights, "--data", data, "--shots", "2", "--seeds", "2", "--hop", "1", "--json",
        "--quiet");
    assert_ended(p, 0, NULL);
    for (const char *line = p->out; *line; line = strchr(line, '\n') + 1) {
        json_t *o = json_loadb(line, strcspn(line, "\n"), 0, NULL);
        const json_t *seen = json_object_get(o, "seen");
        size_t n = strlen(found);
        if (!strcmp(json_text_of(o, "kind"), "cell"))
            snprintf(found + n, sizeof found - n, "%s %s, ", json_text_of(o, "features"),
                json_is_null(seen)   ? "null"
                : json_is_true(seen) ? "true"
                                     : "false");
        if (!strcmp(
                json_text_of(o, "kind"), "pair")) /* a difference is of a seen graph if either column's weights are */
            assert_true(json_is_false(seen) || !strncmp(json_text_of(o, "features"), "trained", 7) ||
                        !strncmp(json_text_of(o, "other_features"), "trained", 7) ||
                        !strncmp(json_text_of(o, "features"), "paper", 5));
        json_decref(o);
    }
    return found;
}

TEST(a_line_says_whether_its_graph_was_seen) {
    program *p = *state;
    char weights[600], silent[600];
    snprintf(weights, sizeof weights, "%s", in_folder(p, "run/weights.safetensors"));
    snprintf(silent, sizeof silent, "%s", in_folder(p, "silent.safetensors"));
    static const char *const names[] = {"mutag", "renamed.npz", "imdb-binary", "other/mutag.npz"};
    static const char *const seen[] = {"true", "true", "false", "null"}; /* the last has the name and another content */
    for (int i = 0; i < 4; i++) {
        char data[600], expected[MANY];
        snprintf(data, sizeof data, "%s", strchr(names[i], '.') ? in_folder(p, names[i]) : names[i]);
        snprintf(expected, sizeof expected, "trained %s, random false, x0 false, hop false, ", seen[i]);
        assert_string_equal(seen_in(p, weights, data), expected);
        assert_string_equal(seen_in(p, silent, data), "trained null, random false, x0 false, hop false, ");
    }
    assert_string_equal(seen_in(p, "none", "mutag"), "x0 false, hop false, ");
}

/* "mutag: trained†, silent?" */
TEST(tables_mark_what_was_seen) {
    program *p = *state;
    char both[1300];
    snprintf(both, sizeof both, "%s,%s", in_folder(p, "run/weights.safetensors"), in_folder(p, "silent.safetensors"));
    RUN(p, "eval", "--weights", both, "--data", "mutag,imdb-binary", "--shots", "2", "--seeds", "3", "--hop", "1",
        "--quiet");
    assert_ended(p, 0, NULL);
    assert_non_null(strstr(p->out, "     k        paper†        random            x0           hop      paper 2?"));
    assert_non_null(strstr(p->out, "     k         paper        random            x0           hop      paper 2?"));
    assert_non_null(strstr(p->out, "\npaper† - random, of pairs: "));
    assert_non_null(strstr(p->out, "\npaper - random, of pairs: "));
    assert_non_null(strstr(p->out, "\n† the weights were trained on this graph: mutag\n"));
    assert_non_null(
        strstr(p->out, "\n? whether the weights were trained on this graph is unknown: mutag, imdb-binary\n"));
    RUN(p, "eval", "--weights", both, "--average", "--data", "mutag", "--shots", "2", "--seeds", "3", "--hop", "1",
        "--quiet");
    assert_ended(p, 0, NULL);
    assert_non_null(strstr(p->out, "     k      average†        random")); /* by one of them is seen */
}

/* The weights that come with the program, by their name and by a path, are told the same. */
TEST(the_shipped_weights_are_known_under_any_path) {
    program *p = *state;
    char name[MAX_TEXT], path[600];
    snprintf(path, sizeof path, "%s", in_folder(p, "copy.safetensors"));
    copy_file("train/data/best.safetensors", path);
    RUN(p, "eval", "--data", "citeseer,cora", "--protocol", "public", "--quiet");
    assert_ended(p, 0, NULL);
    snprintf(name, sizeof name, "%s", p->out);
    assert_non_null(strstr(name, "\n† the weights were trained on this graph: citeseer\n"));
    assert_null(strstr(name, "?"));
    RUN(p, "eval", "--weights", path, "--data", "citeseer,cora", "--protocol", "public", "--quiet");
    assert_ended(p, 0, NULL);
    assert_string_equal(p->out, name);
}

#define CELL(features, seen)                                                                                           \
    "{\"kind\":\"cell\",\"data\":\"cora\",\"task\":\"nc\",\"protocol\":\"split\",\"features\":\"" features             \
    "\",\"head\":\"ridge\",\"metric\":\"accuracy\",\"k\":4,\"mean\":80,\"sd\":1,\"ci95\":2,\"values\":[79,80,81]" seen \
    "}\n"

/* Compares a line with the paper; the difference's `seen`, and the text's mark behind the star. */
static void compare_one(program *p, const char *cell, json_type seen, const char *mark, const char *foot) {
    write_text(in_folder(p, "one.jsonl"), cell);
    RUN(p, "compare", in_folder(p, "one.jsonl"), "paper", "--json");
    assert_ended(p, 0, NULL);
    json_t *o = json_loadb(p->out, strcspn(p->out, "\n"), 0, NULL);
    assert_string_equal(json_text_of(o, "kind"), "difference");
    assert_int_equal(json_typeof(json_object_get(o, "seen")), seen);
    json_decref(o);
    RUN(p, "compare", in_folder(p, "one.jsonl"), "paper");
    assert_ended(p, 0, NULL);
    assert_non_null(strstr(p->out, mark));
    assert_true(foot ? strstr(p->out, foot) != NULL : !strstr(p->out, "trained on this graph"));
}

TEST(a_comparison_on_a_seen_graph_is_marked) {
    program *p = *state;
    compare_one(
        p, CELL("trained", ",\"seen\":true"), JSON_TRUE, "*†\n", "† the weights were trained on this graph: cora\n");
    compare_one(p, CELL("trained", ",\"seen\":false"), JSON_FALSE, "*\n", NULL);
    compare_one(p, CELL("trained", ",\"seen\":null"), JSON_NULL, "*?\n",
        "? whether the weights were trained on this graph is unknown: cora\n");
    compare_one(p, CELL("trained", ""), JSON_NULL, "*?\n", "is unknown: cora\n"); /* of an older version */
    compare_one(p, CELL("hop", ""), JSON_FALSE, "*\n", NULL);                     /* a baseline has no weights */
}

TEST(predictions_say_what_was_seen) {
    program *p = *state;
    write_text(in_folder(p, "labels.csv"), "graph,class\n0,a\n1,b\n2,a\n3,b\n");
    RUN(p, "predict", "--data", "mutag", "--labels", in_folder(p, "labels.csv"), "--weights",
        in_folder(p, "run/weights.safetensors"));
    assert_int_equal(p->code, 0);
    assert_non_null(strstr(p->err, "weights.safetensors were trained on this graph\n"));
    RUN(p, "predict", "--data", "mutag", "--labels", in_folder(p, "labels.csv"), "--weights",
        in_folder(p, "silent.safetensors"));
    assert_int_equal(p->code, 0);
    assert_non_null(strstr(p->err, "silent.safetensors were trained on this graph is unknown\n"));
    RUN(p, "predict", "--data", "mutag", "--labels", in_folder(p, "labels.csv"));
    assert_int_equal(p->code, 0);
    assert_null(strstr(p->err, "trained on"));
}

TEST(a_gin_has_a_record_too) {
    program *p = *state;
    RUN(p, "gin", "--pool", "cora", "--dim", "8", "--steps", "2", "--quiet", "--out", in_folder(p, "gin.safetensors"));
    assert_int_equal(p->code, 0);
    RUN(p, "eval", "--weights", in_folder(p, "gin.safetensors"), "--data", "cora", "--task", "nc", "--shots", "2",
        "--seeds", "2", "--hop", "1", "--quiet");
    assert_ended(p, 0, NULL);
    assert_non_null(strstr(p->out, "     k          gin†        random"));
}

TEST(a_damaged_record_is_named) {
    static const char *const records[] = {"mutag", "{}", "[{\"data\": \"mutag\"}]",
        "[{\"data\": \"mutag\", \"xxh3\": \"12\"}]",
        "[{\"data\": \"mutag\", \"xxh3\": \"694DD44F8A2C9C352ACAFBC672F2C60E\"}]",
        "[{\"data\": 1, \"xxh3\": \"694dd44f8a2c9c352acafbc672f2c60e\"}]", "[[]]"};
    program *p = *state;
    copy_file(in_folder(p, "run/weights.safetensors"), in_folder(p, "bad.safetensors"));
    for (size_t i = 0; i < sizeof records / sizeof *records; i++) {
        tensor_file f = open_tensors(p, "bad.safetensors");
        json_object_set_new(f.metadata, "pool", json_string(records[i]));
        rewrite_tensors(p, "bad.safetensors", &f);
        close_tensors(&f);
        RUN(p, "eval", "--weights", in_folder(p, "bad.safetensors"), "--data", "mutag");
        assert_ended(p, 1, "bad.safetensors: expected pool as a list of graphs with data and xxh3");
    }
}
