/* tests/train/graphs/test_load_graphml.c - GraphML as networkx, igraph and Gephi write it, what its attributes become,
 * and the errors of files that are damaged or mean harm. */
#include "tests/bad_text.h"

enum { LONG = (1 << 20) + 100 };

#define HEAD "<?xml version='1.0' encoding='utf-8'?>\n<graphml xmlns=\"http://graphml.graphdrawing.org/xmlns\">\n"
#define KEYS                                                                                                           \
    "<key id=\"d0\" for=\"node\" attr.name=\"club\" attr.type=\"string\"/>"                                            \
    "<key id=\"d1\" for=\"node\" attr.name=\"age\" attr.type=\"double\"><default>7</default></key>"                    \
    "<key id=\"d2\" for=\"edge\" attr.name=\"weight\" attr.type=\"int\"/>\n"

static mo_graph *open_text(scratch *s, const char *content) {
    mo_graph *graph = mo_graph_open(s->ctx, scratch_write(s, "good.graphml", content, strlen(content)));
    if (!graph)
        fail_msg("%s", mo_context_status(s->ctx)->message);
    remove(s->path);
    return graph;
}

static void nodes_edges_and_attributes_are_read(void **state) {
    char number[24];
    mo_graph *g = open_text(*state,
        HEAD KEYS "<graph edgedefault='directed'><desc>a club</desc>\n"
                  "<edge source='n2' target='a &amp; b'><data key='d2'>3</data></edge>\n"
                  "<node id='a &amp; b'><data key='d0'> tea\n</data><data key='d1'>-1.5e0</data></node>\n"
                  "<node id='n2'><port name='p'/><data key='d0'>chess</data></node><node id='loner'/>\n"
                  "<edge source='a &amp; b' target='n2'/><edge source='n2' target='n2'/></graph></graphml>");
    assert_string_equal(g->name, "good");
    assert_int_equal(g->nodes, 3);
    assert_int_equal(g->nnz, 2);
    assert_int_equal(g->dropped_loops, 1);
    assert_true(mo_graph_has_edge(g, 0, 1));
    assert_string_equal(mo_graph_example_name(g, 0, number), "a & b");
    assert_int_equal(mo_graph_find_example(g, "loner"), 2);
    assert_memory_equal(g->label, ((int64_t[]){1, 0, -1}), 24);
    assert_string_equal(mo_graph_class_name(g, 0, number), "chess");
    assert_string_equal(mo_graph_class_name(g, 1, number), "tea");
    assert_int_equal(g->features, 1); /* the class is none */
    assert_memory_equal(g->feature_pointer, ((int64_t[]){0, 1, 2, 3}), 32);
    assert_memory_equal(g->feature_value, ((float[]){-1.5f, 7, 7}), 12); /* 7: the key's default */
    mo_graph_release(g);
}

/* Columns in the order of the attributes' names; a text is a column per value, unless all values differ. */
static void attributes_become_columns(void **state) {
    mo_graph *g = open_text(*state,
        HEAD "<key id='l' for='node' attr.name='label' attr.type='string'/>\n"
             "<key id='k' for='node' attr.name='kind' attr.type='string'/>"
             "<key id='b' for='all' attr.name='alive' attr.type='boolean'/>"
             "<key id='g' for='node' yfiles.type='nodegraphics'/>"
             "<key id='y' for='node' attr.name='y' attr.type='float'/><graph>"
             "<node id='0'><data key='l'>Ann</data><data key='k'>red</data><data key='b'>true</data>"
             "<data key='g'><y:Shape xmlns:y='z'><y:data key='none'>1</y:data></y:Shape></data>"
             "<data key='y'>0.5</data></node>"
             "<node id='1'><data key='k'>blue</data><data key='b'>0</data><data key='l'>Bob</data></node>"
             "<node id='2'><data key='y'>3</data><data key='k'>red</data></node></graph></graphml>");
    assert_int_equal(g->nnz, 0);
    assert_int_equal(g->n_labels, 0); /* labels that all differ are names, and a place is no class */
    assert_int_equal(g->features, 4); /* alive, kind blue, kind red, y */
    assert_memory_equal(g->feature_pointer, ((int64_t[]){0, 3, 4, 6}), 32);
    assert_memory_equal(g->feature_column, ((int32_t[]){0, 2, 3, 1, 2, 3}), 24);
    assert_memory_equal(g->feature_value, ((float[]){1, 1, 0.5f, 1, 1, 3}), 24);
    mo_graph_release(g);
}

static void classes_are_the_first_attribute_that_is_fit(void **state) {
    static const struct {
        const char *values[3]; /* of key a, of nodes 0 to 2; NULL: none */
        const char *name, *type;
        int64_t n, label[3];
    } cases[] = {
        {{"10", "9", "10"}, "class", "int", 3, {1, 0, 1}},
        {{"10", "-1", "9"}, "y", "long", 3, {1, -1, 0}},
        {{"10", "9", "n"}, "class", "string", 3, {0, 1, 2}},
        {{"10", "9", "-3"}, "class", "string", 3, {1, 0, -1}},
        {{"b", NULL, "b"}, "label", "string", 3, {0, -1, 0}},
        {{"b", NULL, "c"}, "label", "string", 0, {0}},
        {{"0.5", "1", "2"}, "class", "double", 0, {0}},
        {{"1", "1", "2"}, "value", "int", 0, {0}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[2000];
        int n = snprintf(text, sizeof text, HEAD "<key id='a' for='node' attr.name='%s' attr.type='%s'/><graph>",
            cases[i].name, cases[i].type);
        for (int v = 0; v < 3; v++)
            n += snprintf(text + n, sizeof text - (size_t)n,
                cases[i].values[v] ? "<node id='%d'><data key='a'>%s</data></node>" : "<node id='%d'/>", v,
                cases[i].values[v]);
        snprintf(text + n, sizeof text - (size_t)n, "</graph></graphml>");
        mo_graph *g = open_text(*state, text);
        assert_int_equal(g->n_labels, cases[i].n);
        if (g->n_labels)
            assert_memory_equal(g->label, cases[i].label, sizeof cases[i].label);
        assert_int_equal(g->features > 0, cases[i].n == 0 && strcmp(cases[i].type, "string") != 0);
        mo_graph_release(g);
    }
}

/* Each graph has its own ids; the class is the graph's, and what would be a node's is a feature. */
static void several_graphs_are_a_set(void **state) {
    mo_graph *g = open_text(*state,
        HEAD "<key id='c' for='graph' attr.name='label' attr.type='string'/>"
             "<key id='n' for='node' attr.name='label' attr.type='int'/>\n"
             "<graph id='x'><data key='c'>ring</data><node id='0'><data key='n'>6</data></node><node id='1'/>"
             "<edge source='0' target='1'/></graph>\n<graph id='y'><data key='c'>chain</data>"
             "<node id='1'><data key='n'>8</data></node><node id='0'><data key='n'>6</data></node>"
             "<edge source='0' target='1'/></graph>\n<graph id='z'><node id='0'/></graph></graphml>");
    assert_int_equal(g->graphs, 3);
    assert_memory_equal(g->graph_offset, ((int64_t[]){0, 2, 4, 5}), 32);
    assert_int_equal(g->nnz, 4);
    assert_true(mo_graph_has_edge(g, 2, 3));
    assert_int_equal(g->n_labels, 3);
    assert_memory_equal(g->label, ((int64_t[]){1, 0, -1}), 24);
    assert_int_equal(g->features, 2); /* 6 and 8 */
    assert_memory_equal(g->feature_pointer, ((int64_t[]){0, 1, 1, 2, 3, 3}), 48);
    assert_memory_equal(g->feature_column, ((int32_t[]){0, 1, 0}), 12);
    mo_graph_release(g);
}

static void damaged_files_are_refused_by_line(void **state) {
    static const bad_text texts[] = {
        {"x", ":1:", "expected XML", "syntax error"},
        {"<svg/>", ":1:", "the element graphml", "'svg'"},
        {HEAD "</graphml>", ":3:", "an element graph", "'none'"},
        {HEAD "<graph>\n<node id='0'>\n</graph></graphml>", ":5:", "expected XML", "mismatched tag"},
        {HEAD "<graph>\n<node id='0'/>", ":4:", "expected XML", "no element found"},
        {HEAD "<graph></graph></graphml>", ":3:", "a graph of one node or more", "'none'"},
        {HEAD "<graph><node id='0'/></graph>\n<graph></graph></graphml>", ":4:", "a graph of one node or more", ""},
        {HEAD "<graph>\n<node/></graph></graphml>", ":4:", "the id of a node", "'none'"},
        {HEAD "<graph>\n<node id=''/></graph></graphml>", ":4:", "the id of a node", "an empty text"},
        {HEAD "<graph><node id='a'/>\n<node id='b'/>\n<node id='a'/></graph></graphml>",
            ":5:", "an id that no other node has", "'a'"},
        {HEAD "<graph><node id='a'/>\n<edge source='a'/></graph></graphml>", ":4:", "source and target", "'a'"},
        {HEAD "<graph><node id='a'/>\n<edge source='a' target='b'/></graph></graphml>", ":4:", "a node as the target",
            "'b'"},
        {HEAD "<graph><node id='a'/>\n<edge source='0' target='a'/></graph></graphml>", ":4:", "a node as the source",
            "'0'"},
        {HEAD "<graph><node id='a'>\n<data key='d9'>1</data></node></graph></graphml>", ":4:", "the id of a key",
            "'d9'"},
        {HEAD KEYS "<graph><node id='a'>\n<data key='d1'>old</data></node></graph></graphml>", ":5:", "a finite number",
            "'old'"},
        {HEAD KEYS "<graph><node id='a'>\n<data key='d1'>1e39</data></node></graph></graphml>",
            ":5:", "a finite number", "'1e39'"},
        {HEAD KEYS "<graph><node id='a'>\n<data key='d1'>nan</data></node></graph></graphml>", ":5:", "a finite number",
            "'nan'"},
        {HEAD KEYS "<graph><node id='a'>\n<data key='d1'/></node></graph></graphml>", ":5:", "a finite number", "''"},
        {HEAD KEYS "<graph>\n<node id='a'><data key='d1'>1</data><data key='d1'>2</data></node></graph></graphml>",
            ":5:", "each attribute of a node once", "'age'"},
        {HEAD "<key id='a' attr.name='x' attr.type='list'/></graphml>", ":3:", "of type boolean, int", "'list'"},
        {HEAD "<key id='a'/>\n<key id='a'/></graphml>", ":4:", "a key with an id of its own", "'a'"},
        {HEAD "<key attr.name='x'/></graphml>", ":3:", "a key with an id", "'none'"},
        {HEAD "<graph><node id='0'>\n<graph/></node></graph></graphml>", ":4:", "without graphs inside", "'graph'"},
        {HEAD "<graph><node id='0'/>\n<hyperedge/></graph></graphml>", ":4:", "without hyperedges", "'hyperedge'"},
        {HEAD "<graph><node id='&bad;'/></graph></graphml>", ":3:", "expected XML", "undefined entity"},
        {"<!DOCTYPE graphml SYSTEM 'x.dtd'>\n<graphml><key id='a'><default>&far;</default></key></graphml>",
            ":2:", "no entities that the file declares", "'far'"},
        {"<!DOCTYPE graphml [\n<!ENTITY lol 'lol'>\n<!ENTITY l1 '&lol;&lol;&lol;&lol;'>]>\n<graphml/>",
            ":2:", "no entities that the file declares", "'lol'"},
        {"<!DOCTYPE graphml [\n<!ENTITY % p SYSTEM 'file:///etc/passwd'>]>\n<graphml/>",
            ":2:", "no entities that the file declares", "'p'"},
        {HEAD "<graph><node id='\xff'/></graph></graphml>", ":3:", "expected XML", "invalid token"},
    };
    assert_texts_refused(*state, "bad.graphml", texts, sizeof texts / sizeof *texts);
    remove(scratch_path(*state, "bad.graphml"));
}

static void deep_and_long_values_are_refused(void **state) {
    scratch *s = *state;
    bytes text = {0};
    bytes_append(&text, "<graphml>", 9);
    for (int i = 0; i < 100; i++)
        bytes_append(&text, "<a>", 3);
    assert_refused(s, scratch_write(s, "bad.graphml", text.data, text.n), MO_FORMAT,
        PARTS(":1:", "elements at most 64 deep", "'a'"));
    bytes_release(&text);
    bytes_append(&text, HEAD KEYS "<graph><node id='0'><data key='d0'>",
        strlen(HEAD KEYS "<graph><node id='0'><data key='d0'>"));
    static char digits[LONG];
    memset(digits, '7', sizeof digits);
    bytes_append(&text, digits, sizeof digits);
    assert_refused(
        s, scratch_write(s, "bad.graphml", text.data, text.n), MO_FORMAT, PARTS(":4:", "values of at most 1 MiB"));
    bytes_release(&text);
    remove(s->path);
}

/* Defaults of many keys for many nodes: a small file must not fill the memory. */
static void defaults_that_unfold_are_refused(void **state) {
    scratch *s = *state;
    static char text[LONG];
    int n = sprintf(text, "<graphml>");
    for (int i = 0; i < 2000; i++)
        n += sprintf(text + n, "<key id='%d' attr.name='%d' attr.type='int'><default>1</default></key>", i, i);
    n += sprintf(text + n, "<graph>");
    for (int i = 0; i < 3000; i++)
        n += sprintf(text + n, "<node id='%d'/>\n", i);
    n += sprintf(text + n, "</graph></graphml>");
    assert_refused(s, scratch_write(s, "bad.graphml", text, (size_t)n), MO_FORMAT,
        PARTS("expected to unfold to at most", "64 MiB"));
    remove(s->path);
}

/* Every beginning is refused; a doctype without entities, another encoding and CR LF are not. */
static void every_beginning_is_refused(void **state) {
    scratch *s = *state;
    static const char whole[] = HEAD KEYS "<graph><node id='0'><data key='d0'>a</data></node></graph></graphml>";
    for (size_t n = 0; n + 1 < sizeof whole; n++) {
        assert_null(mo_graph_open(s->ctx, scratch_write(s, "cut.graphml", whole, n)));
        assert_failed(s->ctx, MO_FORMAT, PARTS("cut.graphml", "expected", "found"));
    }
    remove(s->path);
    mo_graph *g =
        open_text(s, "<?xml version='1.0' encoding='ISO-8859-1'?>\r\n<!DOCTYPE graphml SYSTEM 'graphml.dtd'>\r\n"
                     "<g:graphml xmlns:g='z'><g:graph>\r\n<g:node id='\xfc'/></g:graph></g:graphml>\r\n");
    assert_int_equal(mo_graph_find_example(g, "ü"), 0);
    mo_graph_release(g);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nodes_edges_and_attributes_are_read),
        cmocka_unit_test(attributes_become_columns),
        cmocka_unit_test(classes_are_the_first_attribute_that_is_fit),
        cmocka_unit_test(several_graphs_are_a_set),
        cmocka_unit_test(damaged_files_are_refused_by_line),
        cmocka_unit_test(deep_and_long_values_are_refused),
        cmocka_unit_test(defaults_that_unfold_are_refused),
        cmocka_unit_test(every_beginning_is_refused),
        cmocka_unit_test(nothing_is_left_behind),
    };
    return cmocka_run_group_tests(tests, scratch_create, scratch_release);
}
