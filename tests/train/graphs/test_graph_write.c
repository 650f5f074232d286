/* tests/train/graphs/test_graph_write.c - a graph as .npz reads back equal, and a failed write leaves no file. */
#include "tests/scratch.h"
#include "train/inside.h"

static const fixtures around_all = {scratch_create, scratch_release};

static void assert_names_survive(const mo_graph *graph, const mo_graph *copy) {
    char a[24], b[24];
    assert_true(!graph->names == !copy->names && !graph->class_name == !copy->class_name);
    assert_true(graph->node_numbers == copy->node_numbers && graph->class_numbers == copy->class_numbers);
    assert_int_equal(graph->classes, copy->classes);
    for (int64_t i = 0; graph->names && i < mo_graph_examples(graph); i++) {
        assert_string_equal(mo_graph_example_name(graph, i, a), mo_graph_example_name(copy, i, b));
        assert_int_equal(mo_graph_find_example(copy, mo_graph_example_name(graph, i, a)), i);
    }
    for (int64_t c = 0; graph->class_name && c < graph->classes; c++)
        assert_string_equal(mo_graph_class_name(graph, c, a), mo_graph_class_name(copy, c, b));
}

static void assert_survives(scratch *s, const char *name) {
    mo_graph *graph = mo_graph_open(s->ctx, name);
    if (!graph)
        fail_msg("%s", mo_context_status(s->ctx)->message);
    assert_int_equal(mo_graph_write(graph, scratch_path(s, "copy.npz")), MO_OK);
    mo_graph *copy = mo_graph_open(s->ctx, s->path);
    if (!copy)
        fail_msg("%s", mo_context_status(s->ctx)->message);
    assert_memory_equal(graph->hash, copy->hash, sizeof copy->hash);
    assert_true(!graph->division == !copy->division);
    if (graph->division)
        assert_memory_equal(graph->division, copy->division, (size_t)graph->nodes);
    assert_int_equal(copy->dropped_loops + copy->dropped_duplicates, 0);
    assert_names_survive(graph, copy);
    mo_graph_release(graph);
    mo_graph_release(copy);
    remove(s->path);
}

TEST(every_kind_of_graph_reads_back_equal) {
    static const char *const kinds[] = {"citeseer", "photo", "mutag", "imdb-binary", "gnutella06",
        "tests/graphs/lists.txt", "tests/graphs/edges.txt", "tests/graphs/TINY", "tests/graphs/club.gml",
        "tests/graphs/train.txt"};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        assert_survives(*state, kinds[i]);
}

TEST(a_set_of_one_graph_stays_a_set) {
    scratch *s = *state;
    assert_survives(s, scratch_write(s, "one.txt", "1\n2 5\n0 1 1\n0 1 0\n", 18));
    scratch_files(s, true);
}

TEST(names_of_nodes_graphs_and_classes_survive) {
    scratch *s = *state;
    static const struct {
        const char *file, *text;
    } named[] = {
        {"ids.txt", "7 8\n8 20\n20 31\n"},
        {"words.txt", "zwölf adam\nadam bob\nbob 7\n"},
        {"net.gml", "graph [ node [ id 1 label \"b\" value \"tea\" ] node [ id 2 label \"a\" value \"chess\" ] "
                    "node [ id 3 label \"c\" ] edge [ source 2 target 1 ] ]"},
    };
    for (size_t i = 0; i < sizeof named / sizeof *named; i++)
        assert_survives(s, scratch_write(s, named[i].file, named[i].text, strlen(named[i].text)));
    scratch_files(s, true);
}

TEST(failures_leave_nothing) {
    scratch *s = *state;
    mo_graph *graph = mo_graph_from_edges(s->ctx, "pair", 2, 1, (int64_t[]){0}, (int64_t[]){1});
    assert_int_equal(mo_graph_write(graph, "/nowhere/at/all.npz"), MO_IO);
    assert_failed(s->ctx, MO_IO, PARTS("/nowhere/at/all.npz", "No such file"));
    assert_int_equal(mo_graph_write(graph, s->folder), MO_IO); /* a folder is in the way */
    assert_failed(s->ctx, MO_IO, PARTS(s->folder));
    mo_graph_release(graph);
}

TEST(nothing_is_left) {
    nothing_is_left_behind(state);
}
