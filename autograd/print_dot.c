/* autograd/print_dot.c - a recorded graph for graphviz. A section (mo_tape_section) is a cluster. */
#include "autograd/picture.h"

#include <inttypes.h>
#include <string.h>

static void put_quoted(mo_printer *p, const char *text) {
    for (; *text; text++)
        mo_put(p, "%s%c", *text == '"' || *text == '\\' ? "\\" : "", *text);
}

static void put_lines(mo_printer *p, int64_t i) {
    const char *label = mo_member(mo_value_of(p->picture, i), "label");
    const mo_tensor *T = mo_elements_of(p, 'v', i), *g = mo_elements_of(p, 'g', i);
    mo_put(p, "\\n");
    mo_put_type(p, i);
    if (label) {
        mo_put(p, "\\n");
        put_quoted(p, label);
    }
    if (T || mo_shows_released(p, i))
        mo_put(p, "\\n%s", T ? "" : "released");
    if (T)
        mo_put_elements(p, T);
    if (g) {
        mo_put(p, "\\ngradient ");
        mo_put_elements(p, g);
    }
}

static int64_t number_of(json_t *value, const char *key) {
    return json_integer_value(json_object_get(value, key));
}

static void dot_leaf(mo_printer *p, int64_t i) {
    json_t *value = mo_value_of(p->picture, i);
    mo_put(p, "  l%" PRId64 " [shape=ellipse, fillcolor=%s, label=\"", number_of(value, "number"),
        mo_is_set(value, "leaf") ? "lightblue" : "whitesmoke");
    if (mo_member(value, "name"))
        put_quoted(p, mo_member(value, "name"));
    else
        mo_put_name(p, i);
    put_lines(p, i);
    mo_put(p, "\"];\n");
}

static void dot_edge(mo_printer *p, int64_t in, int64_t to) {
    json_t *value = mo_value_of(p->picture, in);
    if (!json_object_get(value, "node")) {
        mo_put(p, "  l%" PRId64 " -> n%" PRId64 ";\n", number_of(value, "number"), to);
        return;
    }
    int64_t from = number_of(value, "node");
    json_t *maker = mo_node_of(p->picture, from);
    if (mo_n_listed(maker, "out") == 1)
        mo_put(p, "  n%" PRId64 " -> n%" PRId64 ";\n", from, to);
    else
        mo_put(
            p, "  n%" PRId64 " -> n%" PRId64 " [label=\"%" PRId64 "\"];\n", from, to, in - mo_listed(maker, "out", 0));
}

/* Nodes that backward recorded have another colour than those of forward. */
static void dot_node(mo_printer *p, int64_t index) {
    json_t *node = mo_node_of(p->picture, index), *rule = json_object_get(node, "vjp_of");
    mo_put(p, "  n%" PRId64 " [fillcolor=%s, label=\"%%%" PRId64 " ", index, rule ? "mistyrose" : "white", index);
    put_quoted(p, mo_member(node, "op"));
    if (rule)
        mo_put(p, "\\nvjp of %%%" JSON_INTEGER_FORMAT, json_integer_value(rule));
    for (size_t i = 0; i < mo_n_listed(node, "out"); i++)
        put_lines(p, mo_listed(node, "out", i));
    mo_put(p, "\"];\n");
    for (size_t i = 0; i < mo_n_listed(node, "in"); i++)
        dot_edge(p, mo_listed(node, "in", i), index);
}

/* Every section at its first node. */
static void dot_clusters(mo_printer *p) {
    json_t *nodes = p->picture->nodes, *seen = json_object();
    int64_t n = (int64_t)json_array_size(nodes);
    for (int64_t i = 0; i < n; i++) {
        const char *section = mo_member(mo_node_of(p->picture, i), "section");
        if (!section || json_object_get(seen, section) || json_object_set_new(seen, section, json_true()) != 0)
            continue;
        mo_put(p, "  subgraph \"cluster_%zu\" {\n    label=\"", json_object_size(seen));
        put_quoted(p, section);
        mo_put(p, "\";\n   ");
        for (int64_t k = i; k < n; k++) {
            const char *other = mo_member(mo_node_of(p->picture, k), "section");
            if (other && !strcmp(other, section))
                mo_put(p, " n%" PRId64 ";", k);
        }
        mo_put(p, "\n  }\n");
    }
    json_decref(seen);
}

void mo_print_dot(mo_printer *p) {
    int64_t next = 0;
    mo_put(p, "digraph tape {\n  node [shape=box, style=filled, fontsize=10];\n");
    for (int64_t i = 0; i < (int64_t)json_array_size(p->picture->nodes) && mo_ok(p->picture->ctx); i++) {
        for (; next < mo_listed(mo_node_of(p->picture, i), "out", 0); next++)
            dot_leaf(p, next);
        next += (int64_t)mo_n_listed(mo_node_of(p->picture, i), "out");
        dot_node(p, i);
    }
    dot_clusters(p);
    mo_put(p, "}\n");
}
