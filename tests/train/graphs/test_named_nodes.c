/* tests/train/graphs/test_named_nodes.c - graphs whose nodes have names: tables of edges, features and labels. */
#include "tests/scratch.h"
#include "train/inside.h"

static const fixtures around_all = {scratch_create, scratch_release};

static void put(scratch *s, const char *name, const char *text) {
    scratch_write(s, name, text, strlen(text));
}

static mo_graph *opened(scratch *s, const char *name) {
    mo_graph *g = mo_graph_open(s->ctx, name ? scratch_path(s, name) : s->folder);
    if (!g)
        fail_msg("%s", mo_context_status(s->ctx)->message);
    return g;
}

TEST(tables_become_a_graph) {
    scratch *s = *state;
    char number[24];
    put(s, "features.csv",
        "\xef\xbb\xbfpaper,a,\"b, c\"\r\n\"Lee, \"\"A\"\"\",0,1.5\r\nzwölf,-2e0,3\r\n\r\nloner,0,0\r\n");
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

TEST(words_name_the_nodes_of_an_edge_list) {
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

TEST(numbers_with_gaps_stay_the_names_of_nodes) {
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

TEST(labels_of_a_table_name_their_nodes) {
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

TEST(nothing_is_left) {
    nothing_is_left_behind(state);
}
