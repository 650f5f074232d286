/* tests/train/graphs/test_load_node_link.c - JSON as networkx gives it, alone and as a folder of files, and the errors
 * of both. */
#include "tests/bad_text.h"

static mo_graph *opened(scratch *s, const char *path) {
    mo_graph *graph = mo_graph_open(s->ctx, path);
    if (!graph)
        fail_msg("%s", mo_context_status(s->ctx)->message);
    return graph;
}

static void put(scratch *s, const char *name, const char *text) {
    scratch_write(s, name, text, strlen(text));
}

static void members_of_nodes_are_attributes(void **state) {
    scratch *s = *state;
    char number[24];
    put(s, "good.json",
        "{\"directed\": false, \"multigraph\": false, \"graph\": {\"name\": \"x\"}, \"nodes\": [\n"
        "{\"id\": \"z\\u00fc\", \"class\": \"b\", \"x\": [0.5, 0, -2], \"on\": true, \"pos\": {\"a\": 1}, \"n\": "
        "null},\n"
        "{\"id\": 7, \"class\": \"a\", \"x\": [1, 2, 3], \"on\": false, \"names\": [\"p\", \"q\"]}, {\"id\": -1}],\n"
        "\"links\": [{\"source\": 7, \"target\": \"z\\u00fc\", \"weight\": 3}, {\"source\": -1, \"target\": 7, "
        "\"key\": 0},\n"
        "{\"source\": -1, \"target\": 7, \"key\": 1}]}");
    mo_graph *g = opened(s, s->path);
    assert_string_equal(g->name, "good");
    assert_int_equal(g->nodes, 3);
    assert_int_equal(g->nnz, 4);
    assert_int_equal(g->dropped_duplicates, 1);
    assert_true(mo_graph_has_edge(g, 0, 1) && mo_graph_has_edge(g, 1, 2));
    assert_int_equal(mo_graph_find_example(g, "zü"), 0);
    assert_int_equal(mo_graph_find_example(g, "7"), 1);
    assert_string_equal(mo_graph_example_name(g, 2, number), "-1");
    assert_memory_equal(g->label, ((int64_t[]){1, 0, -1}), 24);
    assert_int_equal(g->features, 4); /* on, x[0], x[1], x[2] */
    assert_memory_equal(g->feature_pointer, ((int64_t[]){0, 3, 6, 6}), 32);
    assert_memory_equal(g->feature_column, ((int32_t[]){0, 1, 3, 1, 2, 3}), 24);
    assert_memory_equal(g->feature_value, ((float[]){1, 0.5f, -2, 1, 2, 3}), 24);
    mo_graph_release(g);
    remove(s->path);
}

static void damaged_files_are_refused_by_line(void **state) {
#define NODES "{\"nodes\": [{\"id\": 0},\n{\"id\": 1}],\n"
    static const bad_text texts[] = {
        {"{\"nodes\": [", ":1:", "']' expected", ""},
        {"[]", ":1:1:", "expected an object", ""},
        {"{}", ":1:1:", "expected the key \"nodes\" of a graph as networkx", ""},
        {"{\"nodes\": 3}", ":1:2:", "expected \"nodes\" to be a list", ""},
        {NODES "\"adjacency\": []}", ":1:1:", "expected the key \"edges\"", ""},
        {NODES "\"links\": [], \"edges\": []}", ":3:14:", "\"links\" or \"edges\", found both", ""},
        {"{\"nodes\": [], \"links\": []}", ":1:2:", "one node or more, found none", ""},
        {"{\"nodes\": [{\"id\": 0},\n{}], \"links\": []}", ":2:1:", "a node with an id, a text or an integer", ""},
        {"{\"nodes\": [{\"id\": 0},\n{\"id\": 1.5}], \"links\": []}", ":2:1:", "a node with an id", ""},
        {"{\"nodes\": [{\"id\": 0},\n{\"id\": \"\"}], \"links\": []}", ":2:1:", "the id of a node", "an empty text"},
        {"{\"nodes\": [{\"id\": 1},\n{\"id\": \"1\"}], \"links\": []}", ":2:1:", "an id that no other node has", "'1'"},
        {"{\"nodes\": [{\"id\": 1, \"id\": 2}]}", ":1:", "duplicate object key", ""},
        {"{\"nodes\": [{\"id\": 1,\n\"x\": 1e39}], \"links\": []}", ":2:1:", "a finite float32, found 1e+39", ""},
        {"{\"nodes\": [{\"id\": 1,\n\"x\": [1,\n-1e300]}], \"links\": []}", ":3:1:", "a finite float32", "-1e+300"},
        {"{\"nodes\": [{\"id\": 1,\n\"x\": 1e999}], \"links\": []}", ":2:", "real number overflow", ""},
        {"{\"nodes\": [{\"id\": 99999999999999999999}]}", ":1:", "too big integer", ""},
        {NODES "\"links\": [{\"source\": 0}]}", ":3:11:", "an edge with source and target", ""},
        {NODES "\"links\": [\n{\"source\": 0, \"target\": 2}]}", ":4:1:", "a node as the target", "'2'"},
        {NODES "\"edges\": [\n{\"source\": \"x\", \"target\": 0}]}", ":4:1:", "a node as the source", "'x'"},
        {NODES "\"links\": [3]}", ":3:11:", "an edge with source and target", ""},
        {"{\"nodes\": [{\"id\": 0, \"x\": 1}, {\"id\": 1, \"x\": \"a\"}], \"links\": []}", ":",
            "attributes 'x' of one kind", "texts and numbers"},
        {"{\"nodes\": [{\"id\": \"a\\u0000b\"}], \"links\": []}", ":1:", "\\u0000", ""},
    };
    scratch *s = *state;
    assert_texts_refused(s, "bad.json", texts, sizeof texts / sizeof *texts);
    static char deep[100000];
    memset(deep, '[', sizeof deep);
    assert_refused(s, scratch_write(s, "bad.json", deep, sizeof deep), MO_FORMAT, PARTS("maximum parsing depth"));
    static const char whole[] = NODES "\"links\": [{\"source\": 0, \"target\": 1}]}";
    for (size_t n = 1; n + 1 < sizeof whole; n++)
        assert_refused(s, scratch_write(s, "bad.json", whole, n), MO_FORMAT, PARTS("bad.json:"));
    remove(s->path);
}

#define GRAPH(of_graph, ids)                                                                                           \
    "{\"graph\": {" of_graph "}, \"nodes\": [" ids "], \"edges\": [{\"source\": 0, \"target\": 1}]}"
#define TWO "{\"id\": 0, \"atom\": \"C\"}, {\"id\": 1, \"atom\": \"O\"}"

static void a_folder_is_a_set_in_the_order_of_names(void **state) {
    scratch *s = *state;
    char number[24];
    put(s, "b.json", GRAPH("\"y\": 1", TWO));
    put(s, "a.json", GRAPH("\"y\": 0", "{\"id\": 0, \"atom\": \"C\"}, {\"id\": 1}, {\"id\": 2}"));
    put(s, "c.graphml",
        "<graphml><key id='y' for='graph' attr.name='y' attr.type='int'/>"
        "<key id='t' for='node' attr.name='atom' attr.type='string'/><graph>"
        "<data key='y'>1</data><node id='q'><data key='t'>O</data></node></graph></graphml>");
    put(s, "README", "not a graph");
    mo_graph *g = opened(s, s->folder);
    assert_int_equal(g->graphs, 3);
    assert_memory_equal(g->graph_offset, ((int64_t[]){0, 3, 5, 6}), 32);
    assert_memory_equal(g->label, ((int64_t[]){0, 1, 1}), 24);
    assert_string_equal(mo_graph_example_name(g, 2, number), "c");
    assert_int_equal(mo_graph_find_example(g, "b"), 1);
    assert_int_equal(g->features, 2);
    assert_memory_equal(g->feature_pointer, ((int64_t[]){0, 1, 1, 1, 2, 3, 4}), 56);
    assert_memory_equal(g->feature_column, ((int32_t[]){0, 0, 1, 1}), 16);
    mo_graph_release(g);
    put(s, "labels.csv", "graph,class\nb,ring\nc,chain\n");
    assert_null(mo_graph_open(s->ctx, s->folder));
    assert_failed(s->ctx, MO_FORMAT, PARTS("expected classes in the graphs' files or in labels.csv, found both"));
    scratch_files(s, true);
}

static void labels_beside_graphs_have_the_names_of_their_files(void **state) {
    scratch *s = *state;
    char number[24];
    put(s, "m1.json", GRAPH("", TWO));
    put(s, "m2.json", GRAPH("\"y\": 0.25", TWO)); /* a value to regress on is no class */
    put(s, "m3.json", GRAPH("", TWO));
    mo_graph *g = opened(s, s->folder);
    assert_int_equal(g->n_labels, 0);
    mo_graph_release(g);
    put(s, "labels.csv", "graph,class\nm3,ring\nm1,chain\n");
    g = opened(s, s->folder);
    assert_int_equal(g->n_labels, 3);
    assert_memory_equal(g->label, ((int64_t[]){0, -1, 1}), 24);
    assert_string_equal(mo_graph_class_name(g, 1, number), "ring");
    mo_graph_release(g);
    put(s, "labels.csv", "graph,class\nm3,ring\nm4,chain\n");
    assert_null(mo_graph_open(s->ctx, s->folder));
    assert_failed(s->ctx, MO_FORMAT, PARTS("labels.csv:3: expected the name of one of 3 graphs, found 'm4'"));
    put(s, "labels.csv", "graph,class\nm3,ring\nm3,chain\n");
    assert_null(mo_graph_open(s->ctx, s->folder));
    assert_failed(s->ctx, MO_INVALID, PARTS("labels.csv:3: example m3 is of class 'chain', and of 'ring' in line 2"));
    put(s, "m2.json", "{\n\"nodes\": 0}");
    assert_null(mo_graph_open(s->ctx, s->folder));
    assert_failed(s->ctx, MO_FORMAT, PARTS("m2.json:2:1: expected \"nodes\" to be a list"));
    scratch_files(s, true);
}

/* A folder with one graph is that graph, with the names of its nodes. */
static void a_folder_of_one_graph_is_no_set(void **state) {
    scratch *s = *state;
    put(s, "only.json", GRAPH("\"y\": 3", TWO));
    put(s, "labels.csv", "node,class\n1,b\n0,a\n");
    mo_graph *g = opened(s, s->folder);
    assert_int_equal(g->graphs, 1);
    assert_memory_equal(g->label, ((int64_t[]){0, 1}), 16);
    mo_graph_release(g);
    scratch_files(s, true);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(members_of_nodes_are_attributes),
        cmocka_unit_test(damaged_files_are_refused_by_line),
        cmocka_unit_test(a_folder_is_a_set_in_the_order_of_names),
        cmocka_unit_test(labels_beside_graphs_have_the_names_of_their_files),
        cmocka_unit_test(a_folder_of_one_graph_is_no_set),
        cmocka_unit_test(nothing_is_left_behind),
    };
    return cmocka_run_group_tests(tests, scratch_create, scratch_release);
}
