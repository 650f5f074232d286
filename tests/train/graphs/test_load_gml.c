/* tests/train/graphs/test_load_gml.c - GML as different programs write it. */
#include "tests/bad_text.h"

static const fixtures around_all = {scratch_create, scratch_release};

static mo_graph *open_text(scratch *s, const char *content) {
    mo_graph *graph = mo_graph_open(s->ctx, scratch_write(s, "good.gml", content, strlen(content)));
    if (!graph)
        fail_msg("%s", mo_context_status(s->ctx)->message);
    remove(s->path);
    return graph;
}

TEST(layout_comments_and_unknown_keys_do_not_matter) {
    mo_graph *a = open_text(*state, "graph [ node [ id 1 ] node [ id 2 ] node [ id 5 ] edge [ source 1 target 5 ] ]");
    mo_graph *b = open_text(*state,
        "# written by hand\r\nCreator \"somebody, with [ and # in it\"\r\nVersion 1\r\ngraph\r\n[\r\n  directed 1\r\n"
        "  label \"x\"\r\n  edge [ source 5 # the end\r\n target 1 value 2.5 graphics [ Line [ point [ x 1 y 2 ] ] ] "
        "]\r\n"
        "  node\r\n  [\r\n    id 5\r\n    graphics [ w 10 h 1e3 ]\r\n  ]\r\n  node[id 1]node[id 2 label "
        "\"b\"]\r\n]\r\n");
    assert_int_equal(a->nodes, 3);
    assert_int_equal(a->nnz, 2);
    assert_true(mo_graph_has_edge(a, 0, 2));
    assert_string_equal(a->name, "good");
    assert_memory_equal(a->hash, b->hash, sizeof a->hash);
    mo_graph_release(a);
    mo_graph_release(b);
}

TEST(classes_are_numbers_in_their_order_or_texts_in_theirs) {
    mo_graph *g =
        open_text(*state, "graph [ node [ id 3 value 10 ] node [ id 1 value 9 ] node [ id 2 club \"z\" value 9 ] ]");
    assert_int_equal(g->classes, 2);
    assert_memory_equal(g->label, ((int64_t[]){0, 0, 1}), 24); /* in the order of ids; value wins over club */
    mo_graph_release(g);
    g = open_text(*state, "graph [ node [ id 0 value \"10\" ] node [ id 1 value \"9\" ] node [ id 2 value \"n\" ] ]");
    assert_memory_equal(g->label, ((int64_t[]){0, 1, 2}), 24);
    mo_graph_release(g);
}

TEST(nodes_without_a_class_are_unlabelled) {
    mo_graph *g = open_text(*state, "graph [ node [ id 0 club \"b\" ] node [ id 1 ] node [ id 2 club \"a\" ] ]");
    assert_int_equal(g->n_labels, 3);
    assert_int_equal(g->classes, 2);
    assert_memory_equal(g->label, ((int64_t[]){1, -1, 0}), 24);
    mo_graph_release(g);
    g = open_text(*state, "graph [ node [ id 0 value 4 ] node [ id 1 value -2 ] node [ id 2 value 3 ] ]");
    assert_int_equal(g->classes, 2);
    assert_memory_equal(g->label, ((int64_t[]){1, -1, 0}), 24);
    mo_graph_release(g);
}

TEST(loops_and_repeated_edges_are_dropped_and_counted) {
    mo_graph *g = open_text(*state, "graph [ node [ id 0 ] node [ id 1 ] edge [ source 0 target 0 ] edge [ source 0 "
                                    "target 1 ] edge [ source 0 target 1 "
                                    "] ]");
    assert_int_equal(g->nnz, 2);
    assert_int_equal(g->dropped_loops, 1);
    assert_int_equal(g->dropped_duplicates, 1);
    mo_graph_release(g);
}

TEST(long_classes_are_refused_and_long_names_are_not) {
    char text[700], name[400];
    scratch *s = *state;
    memset(name, 'x', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    snprintf(text, sizeof text, "graph [ node [ id 0 label \"%s\" ] ]", name);
    mo_graph_release(open_text(s, text));
    snprintf(text, sizeof text, "graph [ node [ id 0 value \"%s\" ] ]", name);
    const char *path = scratch_write(s, "bad.gml", text, strlen(text));
    assert_refused(s, path, MO_FORMAT, PARTS(":1:", "a class of fewer than 256 bytes", "xxx"));
}

TEST(refusals_hold_no_memory) {
    scratch_files(*state, true);
    nothing_is_left_behind(state);
}
