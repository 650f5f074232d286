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
        {"who,kind\nann,\n", "seeds.csv: expected lines of example and class, found no label"},
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
        {"n,x\na,1\nb\n", edges, "features.csv:3: expected 2 columns, as the first line has, found 1"},
        {"n,x\na,1\nb,1,2\n", edges, "features.csv:3: expected 2 columns, as the first line has, found 3"},
        {"n\na\n", edges, "features.csv:1: expected a node's name and one feature or more"},
        {"n,x\n,1\n", edges, "features.csv:2: expected the name of a node, found nothing"},
        {"n,x\n", edges, "features.csv: expected a line for each node, found none"},
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

/* What is data is read, headers or not, and what is left out is said. */
static void a_first_line_of_data_is_no_header(void **state) {
    scratch *s = *state;
    static const struct {
        const char *edges, *labels, *features;
        int64_t nodes, links, labelled; /* links: edges */
        const char *left_out;
    } table[] = {
        /* edges */
        {"ann,bob\nbob,cy\ncy,ann\n", NULL, NULL, 3, 3, 0, NULL},
        {"who,friend\nann,bob\nbob,cy\ncy,ann\n", NULL, NULL, 3, 3, 0, "header: who, friend (edges.csv)"},
        {"zed,ann\nann,bob\n", NULL, NULL, 3, 2, 0, NULL}, /* the first name of an end that comes once */
        {"10,20\n", NULL, NULL, 2, 1, 0, NULL},
        {"10,20\n20,x\n", NULL, NULL, 3, 2, 0, NULL},
        {"u,v\n10,20\n", NULL, NULL, 2, 1, 0, "header: u, v (edges.csv)"},
        {",to\n10,20\n", NULL, NULL, 2, 1, 0, "header: , to (edges.csv)"},
        {"Source,Target\nSource,a\na,Target\n", NULL, NULL, 3, 2, 0, "header: Source, Target (edges.csv)"},
        {"\xef\xbb\xbf\"a, b\",c\n\"a, b\",d\n", NULL, NULL, 3, 2, 0, NULL},
        {"a\tb\nb\tc\n", NULL, NULL, 3, 2, 0, NULL},
        {"a,\x1b[2J\nb,c\n", NULL, NULL, 2, 1, 0, "header: a, ?[2J (edges.csv)"},
        /* labels */
        {"ann,bob\nbob,cy\n", "ann,tea\nbob,chess\n", NULL, 3, 2, 2, NULL},
        {"ann,bob\nbob,cy\n", "who,kind\nann,tea\nbob,chess\n", NULL, 3, 2, 2, "header: who, kind (labels.csv)"},
        {"ann,bob\nbob,cy\n", "ann,tea\n", NULL, 3, 2, 1, NULL},
        {"node,bob\nbob,cy\n", "node,Label\nnode,tea\nbob,tea\n", NULL, 3, 2, 2, "header: node, Label (labels.csv)"},
        {"10,20\n20,30\n", "10,1\n20,0\n", NULL, 3, 2, 2, NULL},
        {"10,20\n20,30\n", ",0\n10,1\n20,0\n", NULL, 3, 2, 2, "header: , 0 (labels.csv)"},
        /* features: their names are the nodes */
        {"ann,bob\n", NULL, "ann,0,1\nbob,1,2\n", 2, 1, 0, NULL},
        {"zed,ann\nann,bob\n", "bob,1\n", "who,x\nann,0\nbob,1\nzed,2\n", 3, 2, 1, "header: who, x (features.csv)"},
        {"a,bob\nann,bob\n", NULL, "ann,0,1\nbob,1,0\na,1,1\n", 3, 2, 0, NULL},
        {"a,b\nann,bob\n", NULL, "ann,0,1\nbob,1,2\n", 2, 1, 0, "header: a, b (edges.csv)"},
        {"ann,bob\n", NULL, ",0,1\nann,0,1\nbob,1,2\n", 2, 1, 0, "header: , 0, 1 (features.csv)"},
        {"ann,bob\n", NULL, "n,0,1,2,3\nann,0,1,1,1\nbob,1,0,0,0\n", 2, 1, 0, "header: n, 0, 1, 2, .. (features.csv)"},
        {"ann,bob\n", NULL, "ann,1,2.5,3\nbob,1,0,0\n", 2, 1, 0, NULL},
        {"ann,bob\n", NULL, "n,2020,2021\nann,1,0\nbob,1,2\n", 2, 1, 0, "header: n, 2020, 2021 (features.csv)"},
        {"7,8\n8,9\n", NULL, "9,0,1,2\n8,1,0,0\n7,1,1,1\n", 3, 2, 0, NULL},
        {"7,8\n8,9\n", NULL, "0,1,2,3\n9,0,1,2\n8,1,0,0\n7,1,1,1\n", 3, 2, 0, "header: 0, 1, 2, 3 (features.csv)"},
        {"a,b\nann,bob\n", "k,v\nbob,1\n", "n,x\nann,0\nbob,1\n", 2, 1, 1,
            "header: n, x (features.csv); header: a, b (edges.csv); header: k, v (labels.csv)"},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        put(s, "edges.csv", table[i].edges);
        if (table[i].labels)
            put(s, "labels.csv", table[i].labels);
        if (table[i].features)
            put(s, "features.csv", table[i].features);
        mo_graph *g = opened(s, NULL);
        int64_t labelled = 0;
        for (int64_t v = 0; v < g->n_labels; v++)
            labelled += g->label[v] >= 0;
        if (g->nodes != table[i].nodes || g->nnz != 2 * table[i].links || labelled != table[i].labelled)
            fail_msg("case %zu: %d nodes, %d edges, %d labels", i, (int)g->nodes, (int)g->nnz / 2, (int)labelled);
        assert_string_equal(g->left_out ? g->left_out : "none", table[i].left_out ? table[i].left_out : "none");
        mo_graph_release(g);
        scratch_files(s, true);
    }
    put(s, "edges.csv", "ann,bob\n"); /* an edge, or a header above none */
    assert_null(mo_graph_open(s->ctx, s->folder));
    assert_failed(s->ctx, MO_FORMAT, PARTS("edges.csv: expected edges", "found one line, which may be a header"));
    put(s, "edges.csv", "a,b\nb,c\n");
    static const char *const bad[][2] = {
        {"a\nx\n", "labels.csv:1: expected 2 columns, example and class, found 1"},
        {"7,x\na,y\n", "labels.csv:1: expected the name of one of 3 nodes, found '7'"},
        {"a,0.5\nb,1\n", "labels.csv:1: expected a class, as real numbers are no classes, found '0.5'"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        put(s, "labels.csv", bad[i][0]);
        assert_null(mo_graph_open(s->ctx, s->folder));
        assert_failed(s->ctx, MO_FORMAT, PARTS(bad[i][1]));
    }
    scratch_files(s, true);
}

/* KONECT and Network Repository have '%' above their edges; below the first edge a name may begin so. */
static void comments_are_no_nodes(void **state) {
    scratch *s = *state;
    static const struct {
        const char *text;
        int64_t nodes, links;
        const char *left_out;
    } list[] = {
        {"% sym unweighted\n% 2 3 3\n1 2\n2 3\n", 3, 2, "2 comments (net.txt)"},
        {"% comment\n1 2\n2 3\n", 3, 2, "1 comment (net.txt)"},
        {"%%MatrixMarket\n\n\t// a b\n# x\n0 1\n1 2\n# y\n", 3, 2, "4 comments (net.txt)"},
        {"// two names\nann bob\n", 2, 1, "1 comment (net.txt)"}, {"ann bob\n% bob\n%c ann\n//d ann\n", 5, 4, NULL},
        {"\xef\xbb\xbf"
         "0 1\n1 2\n",
            3, 2, NULL}, /* the mark of UTF-8 is no part of a number */
    };
    for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
        put(s, "net.txt", list[i].text);
        mo_graph *g = opened(s, "net.txt");
        if (g->nodes != list[i].nodes || g->nnz != 2 * list[i].links)
            fail_msg("case %zu: %d nodes, %d edges", i, (int)g->nodes, (int)g->nnz / 2);
        assert_string_equal(g->left_out ? g->left_out : "none", list[i].left_out ? list[i].left_out : "none");
        mo_graph_release(g);
    }
    put(s, "net.txt", "0 1\n% 2\n");
    assert_null(mo_graph_open(s->ctx, scratch_path(s, "net.txt")));
    assert_failed(s->ctx, MO_FORMAT, PARTS("net.txt:2: expected a node id (an integer), found \"%\""));
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
        cmocka_unit_test(a_first_line_of_data_is_no_header),
        cmocka_unit_test(comments_are_no_nodes),
        cmocka_unit_test(a_folder_needs_no_features),
        cmocka_unit_test(nothing_is_left_behind),
    };
    return cmocka_run_group_tests(tests, scratch_create, scratch_release);
}
