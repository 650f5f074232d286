/* tests/train/graphs/test_named_nodes.c - graphs whose nodes have names: tables of edges, features and labels. */
#include "tests/bad_text.h"

static void put(scratch *s, const char *name, const char *text) {
    scratch_write(s, name, text, strlen(text));
}

static mo_graph *opened(scratch *s, const char *name) {
    mo_graph *g = mo_graph_open(s->ctx, name ? scratch_path(s, name) : s->folder);
    if (!g)
        fail_msg("%s", mo_context_status(s->ctx)->message);
    return g;
}

static void tables_become_a_graph(void **state) {
    scratch *s = *state;
    char number[24];
    put(s, "features.csv",
        "\xef\xbb\xbfpaper,a,\"b, c\"\r\n\"Lee, \"\"A\"\"\",0,1.5\r\nzwölf,-2e0,3\r\n\r\nloner,0,0\r\n");
    put(s, "edges.tsv", "from\tto\nzwölf\tLee, \"A\"\n\"Lee, \"\"A\"\"\"\tzwölf\n");
    assert_null(mo_graph_open(s->ctx, s->folder));
    assert_failed(s->ctx, MO_FORMAT, PARTS("edges.tsv:2:", "quote")); /* a quote inside a field has to be doubled */
    put(s, "edges.tsv", "from\tto\nzwölf\t\"Lee, \"\"A\"\"\"\n\"Lee, \"\"A\"\"\"\tzwölf\n");
    put(s, "labels.csv", "paper,kind\nloner,old\nzwölf,\"new, very\"\n");
    mo_graph *g = opened(s, NULL);
    assert_int_equal(g->nodes, 3);
    assert_int_equal(g->nnz, 2);
    assert_true(mo_graph_has_edge(g, 0, 1));
    assert_int_equal(g->features, 2);
    assert_memory_equal(g->feature_pointer, ((int64_t[]){0, 1, 3, 3}), 32);
    assert_memory_equal(g->feature_column, ((int32_t[]){1, 0, 1}), 12);
    assert_memory_equal(g->feature_value, ((float[]){1.5f, -2, 3}), 12);
    assert_int_equal(g->classes, 2);
    assert_memory_equal(g->label, ((int64_t[]){-1, 0, 1}), 24);
    assert_string_equal(mo_graph_example_name(g, 0, number), "Lee, \"A\"");
    assert_int_equal(mo_graph_find_example(g, "zwölf"), 1);
    assert_int_equal(mo_graph_find_example(g, "loner"), 2);
    assert_int_equal(mo_graph_find_example(g, "1"), -1);
    mo_graph_release(g);
    scratch_files(s, true);
}

static void words_name_the_nodes_of_an_edge_list(void **state) {
    scratch *s = *state;
    char number[24];
    put(s, "net.txt", "# friends\nzoe adam\n  adam\tbob \nbob zoe\r\nbob 7\n");
    mo_graph *g = opened(s, "net.txt");
    assert_int_equal(g->nodes, 4);
    assert_int_equal(g->nnz, 8);
    assert_string_equal(mo_graph_example_name(g, 0, number), "7"); /* in the order of their bytes */
    assert_string_equal(mo_graph_example_name(g, 3, number), "zoe");
    assert_int_equal(mo_graph_find_example(g, "bob"), 2);
    mo_graph_release(g);
    put(s, "net.csv", "u,v\n10,2\n2,x\n");
    g = opened(s, "net.csv");
    assert_int_equal(g->nodes, 3);
    assert_int_equal(mo_graph_find_example(g, "2"), 1);
    mo_graph_release(g);
    scratch_files(s, true);
}

static void numbers_with_gaps_stay_the_names_of_nodes(void **state) {
    scratch *s = *state;
    char number[24];
    put(s, "net.txt", "7 8\n8 20\n20 31\n");
    mo_graph *g = opened(s, "net.txt");
    assert_string_equal(mo_graph_example_name(g, 3, number), "31");
    assert_int_equal(mo_graph_find_example(g, "20"), 2);
    assert_int_equal(mo_graph_find_example(g, "2"), -1);
    assert_int_equal(mo_graph_find_example(g, "20x"), -1);
    mo_graph_release(g);
    put(s, "net.txt", "0 1\n1 2\n");
    g = opened(s, "net.txt");
    assert_null(g->names);
    assert_int_equal(mo_graph_find_example(g, "2"), 2);
    assert_int_equal(mo_graph_find_example(g, "3"), -1);
    assert_int_equal(mo_graph_find_example(g, "-1"), -1);
    mo_graph_release(g);
    scratch_files(s, true);
}

static void labels_of_a_table_name_their_nodes(void **state) {
    scratch *s = *state;
    mo_labels labels;
    put(s, "net.txt", "ann bob\nbob cy\n");
    mo_graph *g = opened(s, "net.txt");
    put(s, "seeds.csv", "who,kind\ncy,10\nann,9\ncy,10\n");
    assert_true(mo_labels_read(g, scratch_path(s, "seeds.csv"), &labels));
    assert_int_equal(labels.n, 2);
    assert_memory_equal(labels.id, ((int64_t[]){0, 2}), 16);
    assert_memory_equal(labels.label, ((int64_t[]){0, 1}), 16); /* as numbers: 9 before 10 */
    assert_string_equal(labels.name[1], "10");
    mo_labels_release(&labels);
    static const char *const bad[][2] = {
        {"who,kind\ndora,1\n", "seeds.csv:2: expected the name of one of 3 nodes, found 'dora'"},
        {"who,kind\nann,\n", "seeds.csv:2: expected a class, found nothing"},
        {"who,kind\nann,0.5\n", "as real numbers are no classes, found '0.5'"},
        {"who\nann\n", "seeds.csv:1: expected 2 columns, example and class, found 1"},
        {"who,kind\nann,1\nbob,1\nann,2\n", "seeds.csv:4: example ann is of class '2', and of '1' in line 2"},
        {"who,kind\n", "found no label"},
        {"who,kind\nann,\"x\n", "seeds.csv:2: expected the quote that ends a field"},
        {"who,kind\nann,\xff\n", "seeds.csv:2: expected text in UTF-8"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        put(s, "seeds.csv", bad[i][0]);
        assert_false(mo_labels_read(g, scratch_path(s, "seeds.csv"), &labels));
        mo_labels_release(&labels);
        assert_failed(s->ctx, mo_context_status(s->ctx)->code, PARTS(bad[i][1]));
    }
    mo_graph_release(g);
    scratch_files(s, true);
}

static void what_does_not_fit_names_file_and_line(void **state) {
    scratch *s = *state;
    static const char header[] = "n,x\na,1\nb,2\n", edges[] = "u,v\na,b\n";
    static const char *const bad[][3] = {
        {"n,x\na,1\nb,2\na,3\n", edges, "features.csv: node 3 of 3 has the name of one before it"},
        {"n,x\na,1\nb,two\n", edges, "features.csv:3: expected a finite number, found 'two'"},
        {"n,x\na,1\nb,inf\n", edges, "features.csv:3: expected a finite number, found 'inf'"},
        {"n,x\na,1\nb\n", edges, "features.csv:3: expected 2 columns, as the header has, found 1"},
        {"n,x\na,1\nb,1,2\n", edges, "features.csv:3: expected 2 columns, as the header has, found 3"},
        {"n\na\n", edges, "features.csv:1: expected a header of a node's name and one feature or more"},
        {"n,x\n,1\n", edges, "features.csv:2: expected the name of a node, found nothing"},
        {"n,x\n", edges, "features.csv: expected a header and a line for each node"},
        {header, "u,v\na,c\n", "edges.csv:2: expected a node of the features beside it, found 'c'"},
        {header, "u,v,w\na,b,0.5\n", "edges.csv:1: expected 2 columns, the ends of an edge (edges have no weights)"},
        {header, "u,v\na,\n", "edges.csv:2: expected the name of a node, found nothing"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        put(s, "features.csv", bad[i][0]);
        put(s, "edges.csv", bad[i][1]);
        assert_null(mo_graph_open(s->ctx, s->folder));
        assert_failed(s->ctx, MO_FORMAT, PARTS(bad[i][2]));
    }
    put(s, "features.csv", header);
    put(s, "features.tsv", header);
    assert_null(mo_graph_open(s->ctx, s->folder));
    assert_failed(s->ctx, MO_FORMAT, PARTS("expected features.csv or features.tsv, found both"));
    scratch_files(s, true);
    static const bad_text texts[] = {
        {"a b 1\n", ":1:", "the end of the line after the names of two nodes", "\"1\""},
        {"a b\nc\n", ":2:", "the names of two nodes", "the end of the line"},
        {"a \xff\n", ":1:", "names in UTF-8", "end of the line"},
        {"0 1\na b\n", ":2:", "a node id (an integer", "\"a\""}, /* the first edge says what the file holds */
    };
    assert_texts_refused(s, "net.txt", texts, sizeof texts / sizeof *texts);
    scratch_files(s, true);
}

static void a_folder_needs_no_features(void **state) {
    scratch *s = *state;
    put(s, "edges.csv", "u,v\na,b\n");
    put(s, "labels.tsv", "n\tc\nb\tx\n");
    mo_graph *g = opened(s, NULL);
    assert_int_equal(g->nodes, 2);
    assert_int_equal(g->features, 0);
    assert_memory_equal(g->label, ((int64_t[]){-1, 0}), 16);
    mo_graph_release(g);
    scratch_files(s, true);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tables_become_a_graph),
        cmocka_unit_test(words_name_the_nodes_of_an_edge_list),
        cmocka_unit_test(numbers_with_gaps_stay_the_names_of_nodes),
        cmocka_unit_test(labels_of_a_table_name_their_nodes),
        cmocka_unit_test(what_does_not_fit_names_file_and_line),
        cmocka_unit_test(a_folder_needs_no_features),
        cmocka_unit_test(nothing_is_left_behind),
    };
    return cmocka_run_group_tests(tests, scratch_create, scratch_release);
}
