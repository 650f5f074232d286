/* train/graphs/attributed/load_node_link.c - JSON as networkx.node_link_data gives it: {"graph": {..}, "nodes": [{"id":
 * ..}, ..], "links" or "edges": [{"source": .., "target": ..}, ..]}.
 *
 * Ids are texts or integers. Members of nodes are attributes: numbers, true and false, texts, and lists of numbers
 * (member x becomes x[0], x[1] ..); null means none, and other members are passed over, as those of edges are. */
#include "tensor/files/json_text.h"
#include "tensor/files/number_text.h"
#include "train/graphs/attributed/attributed.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

typedef struct node_link {
    mo_attributed *a;
    mo_json_text text;
    const char *edges; /* "links" or "edges" */
} node_link;

static mo_json_place place_of(const char *list, size_t i) {
    return mo_json_index(mo_json_key((mo_json_place){0}, list), i);
}

static void fail_node_link(void *reader, bool of_edge, int64_t place, const char *expected, const char *found) {
    node_link *n = reader;
    char quoted[64];
    mo_json_fail(&n->text, place_of(of_edge ? n->edges : "nodes", (size_t)place), "expected %s, found '%s'", expected,
        mo_quote(found, strlen(found), quoted, sizeof quoted));
}

/* An id as text, in number where it is an integer; NULL of another value. */
static const char *text_of_id(const json_t *id, char number[24]) {
    snprintf(number, 24, "%" JSON_INTEGER_FORMAT, json_integer_value(id));
    return json_is_string(id) ? json_string_value(id) : json_is_integer(id) ? number : NULL;
}

/* ---- nodes ---- */

static bool take_json_number(node_link *n, mo_json_place place, const char *name, const json_t *value) {
    double number = json_is_boolean(value) ? json_is_true(value) : json_number_value(value);
    if (isfinite((float)number))
        return mo_attributed_value(n->a, name, number, NULL);
    mo_json_fail(&n->text, place, "expected a number that is a finite float32, found %g", number);
    return false;
}

static bool take_json_list(node_link *n, mo_json_place place, const char *key, const json_t *list) {
    char name[300];
    for (size_t i = 0; i < json_array_size(list); i++)
        if (!json_is_number(json_array_get(list, i)))
            return true;
    if (strlen(key) > 256) {
        mo_json_fail(&n->text, place, "expected the name of a list of numbers to have at most 256 bytes");
        return false;
    }
    for (size_t i = 0; i < json_array_size(list); i++) {
        snprintf(name, sizeof name, "%s[%zu]", key, i);
        if (!take_json_number(n, mo_json_index(place, i), name, json_array_get(list, i)))
            return false;
    }
    return true;
}

static bool take_node(node_link *n, size_t i, const json_t *node) {
    const char *key;
    json_t *value;
    char number[24];
    const char *id = text_of_id(json_object_get(node, "id"), number);
    if (!id) {
        mo_json_fail(&n->text, place_of("nodes", i), "expected a node with an id, a text or an integer");
        return false;
    }
    bool fine = mo_attributed_node(n->a, id, (int64_t)i);
    json_object_foreach((json_t *)node, key, value) {
        mo_json_place place = mo_json_key(place_of("nodes", i), key);
        if (!fine)
            return false;
        if (json_is_number(value) || json_is_boolean(value))
            fine = !strcmp(key, "id") || take_json_number(n, place, key, value);
        else if (json_is_string(value))
            fine = !strcmp(key, "id") || mo_attributed_value(n->a, key, 0, json_string_value(value));
        else if (json_is_array(value))
            fine = take_json_list(n, place, key, value);
    }
    return fine;
}

/* ---- edges, and the graph ---- */

static bool take_link(node_link *n, size_t i, const json_t *link) {
    char number[2][24];
    const char *source = text_of_id(json_object_get(link, "source"), number[0]);
    const char *target = text_of_id(json_object_get(link, "target"), number[1]);
    if (source && target)
        return mo_attributed_edge(n->a, source, target, (int64_t)i);
    mo_json_fail(&n->text, place_of(n->edges, i), "expected an edge with source and target, ids of nodes");
    return false;
}

static bool take_of_graph(node_link *n) {
    const char *key;
    json_t *value, *graph = json_object_get(n->text.root, "graph");
    char number[40];
    bool fine = true;
    json_object_foreach(graph, key, value) {
        if (json_is_real(value))
            mo_format(number, sizeof number, "%.17g", json_real_value(value));
        const char *text = json_is_real(value) ? number : text_of_id(value, number);
        text = json_is_boolean(value) ? json_is_true(value) ? "1" : "0" : text;
        fine = fine && (!text || mo_attributed_of_graph(n->a, key, text));
    }
    return fine;
}

/* The list of that name; NULL after raising. */
static const json_t *list_of(node_link *n, const char *name) {
    const json_t *list = json_object_get(n->text.root, name);
    if (json_is_array(list))
        return list;
    mo_json_fail(&n->text, list ? mo_json_key((mo_json_place){0}, name) : (mo_json_place){0},
        list ? "expected \"%s\" to be a list"
             : "expected the key \"%s\" of a graph as networkx.node_link_data gives it",
        name);
    return NULL;
}

static bool take_lists(node_link *n) {
    const json_t *root = n->text.root, *nodes = list_of(n, "nodes"), *links = nodes ? list_of(n, n->edges) : NULL;
    bool fine = links;
    if (fine && json_object_get(root, "links") && json_object_get(root, "edges")) {
        mo_json_fail(&n->text, mo_json_key((mo_json_place){0}, "edges"), "expected \"links\" or \"edges\", found both");
        fine = false;
    }
    for (size_t i = 0; fine && i < json_array_size(nodes); i++)
        fine = take_node(n, i, json_array_get(nodes, i));
    for (size_t i = 0; fine && i < json_array_size(links); i++)
        fine = take_link(n, i, json_array_get(links, i));
    if (fine && json_array_size(nodes) == 0) {
        mo_json_fail(&n->text, mo_json_key((mo_json_place){0}, "nodes"), "expected one node or more, found none");
        fine = false;
    }
    return fine && take_of_graph(n) && mo_attributed_end(n->a);
}

bool mo_read_node_link(mo_attributed *a, const char *path) {
    node_link n = {.a = a};
    a->fail = fail_node_link;
    a->reader = &n;
    if (mo_json_read(a->ctx, "graph", path, &n.text)) {
        n.edges = json_object_get(n.text.root, "links") ? "links" : "edges";
        take_lists(&n);
    }
    mo_json_release(&n.text);
    return mo_ok(a->ctx);
}
