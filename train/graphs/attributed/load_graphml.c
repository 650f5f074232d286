/* train/graphs/attributed/load_graphml.c - GraphML (Brandes, Eiglsperger, Herman, Himsolt and Marshall 2002), read by
 * expat, which is given one line at a time; several graphs of a file are a set.
 *
 * Nodes, edges and `data` of nodes and graphs are read; `data` of edges, ports and what other programs add is passed
 * over, and so are keys without attr.name. Nested graphs and hyperedges have no meaning here and are refused, as are
 * entities that a file declares, of which a few lines can unfold to gigabytes. */
#include "train/graphs/attributed/attributed.h"

#include "tensor/files/expansion.h"
#include "tensor/files/foreign_text.h"
#include "tensor/files/number_text.h"
#include "train/graphs/attributed/graphml_keys.h"
#include "train/graphs/text_reader.h"

#include <expat.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DEEPEST = 64, LONGEST_VALUE = 1 << 20 };

/* What an element is, by its name and by what it stands in. */
typedef enum element { NOTHING, ROOT, GRAPH, NODE, EDGE, KEY, DEFAULT, DATA_OF_GRAPH, DATA_OF_NODE } element;

typedef struct graphml {
    mo_attributed *a;
    mo_text_reader r;
    XML_Parser parser;
    element inside[DEEPEST];
    int depth, graphs;
    graphml_keys keys;
    const graphml_key *key;        /* of the data at hand; NULL: one to pass over */
    char *value;                   /* text of the data or default at hand */
    int64_t bytes, room, unfolded; /* unfolded: bytes of defaults that nodes were given */
} graphml;

/* ---- errors ---- */

static void fail_graphml_at(graphml *g, int64_t line, const char *expected, const char *found) {
    char quoted[64];
    mo_fail(g->a->ctx, MO_FORMAT, "%s:%lld: expected %s, found '%s'", g->r.path, (long long)line, expected,
        mo_quote(found, strlen(found), quoted, sizeof quoted));
}

static bool fail_graphml(graphml *g, const char *expected, const char *found) {
    fail_graphml_at(g, (int64_t)XML_GetCurrentLineNumber(g->parser), expected, found);
    return false;
}

static void fail_graphml_place(void *reader, bool of_edge, int64_t line, const char *expected, const char *found) {
    graphml *g = reader;
    (void)of_edge;
    fail_graphml_at(g, line ? line : (int64_t)XML_GetCurrentLineNumber(g->parser), expected, found);
}

/* ---- elements ---- */

static const char *attribute_of(const char *const *attributes, const char *name) {
    for (; *attributes; attributes += 2)
        if (strcmp(attributes[0], name) == 0)
            return attributes[1];
    return NULL;
}

static bool begin_data(graphml *g, const char *const *attributes) {
    const char *id = attribute_of(attributes, "key");
    g->bytes = 0;
    g->key = id ? graphml_key_find(&g->keys, id) : NULL;
    return g->key || fail_graphml(g, "data with the id of a key before it", id ? id : "none");
}

static bool begin_node(graphml *g, const char *const *attributes) {
    const char *id = attribute_of(attributes, "id");
    return id ? mo_attributed_node(g->a, id, (int64_t)XML_GetCurrentLineNumber(g->parser))
              : fail_graphml(g, "the id of a node", "none");
}

static bool begin_edge(graphml *g, const char *const *attributes) {
    const char *source = attribute_of(attributes, "source"), *target = attribute_of(attributes, "target");
    return source && target ? mo_attributed_edge(g->a, source, target, (int64_t)XML_GetCurrentLineNumber(g->parser))
                            : fail_graphml(g, "an edge with source and target", source ? source : "none");
}

static bool begin_key(graphml *g, const char *const *attributes) {
    const char *id = attribute_of(attributes, "id"), *type = attribute_of(attributes, "attr.type");
    bool added = graphml_key_add(
        g->a->ctx, &g->keys, id, attribute_of(attributes, "attr.name"), type, attribute_of(attributes, "for"));
    if (!added && mo_ok(g->a->ctx))
        fail_graphml(g,
            id ? "a key with an id of its own, of type boolean, int, long, float, double or string"
               : "a key with an id",
            id ? type ? type : id : "none");
    return added;
}

/* Begins an element of that name; *what: what it is. */
static bool begin_element(graphml *g, const char *name, const char *const *attributes, element *what) {
    element outer = g->depth ? g->inside[g->depth - 1] : NOTHING;
    *what = NOTHING;
    if (g->depth == 0) {
        *what = ROOT;
        return !strcmp(name, "graphml") || fail_graphml(g, "the element graphml", name);
    }
    if (outer == ROOT && !strcmp(name, "key")) {
        *what = KEY;
        return begin_key(g, attributes);
    }
    if (outer == ROOT && !strcmp(name, "graph"))
        *what = GRAPH;
    else if (outer == GRAPH && !strcmp(name, "node"))
        *what = NODE;
    else if (outer == GRAPH && !strcmp(name, "edge"))
        *what = EDGE;
    else if ((outer == GRAPH || outer == NODE) && !strcmp(name, "data"))
        *what = outer == GRAPH ? DATA_OF_GRAPH : DATA_OF_NODE;
    else if (outer == KEY && !strcmp(name, "default"))
        *what = DEFAULT;
    else if (!strcmp(name, "hyperedge") || ((outer == NODE || outer == EDGE) && !strcmp(name, "graph")))
        return fail_graphml(g, "graphs without hyperedges, and without graphs inside", name);
    g->bytes = 0;
    return *what == NODE                                     ? begin_node(g, attributes)
           : *what == EDGE                                   ? begin_edge(g, attributes)
           : *what == DATA_OF_GRAPH || *what == DATA_OF_NODE ? begin_data(g, attributes)
                                                             : true;
}

/* ---- values ---- */

/* The text of the data at hand without blanks around it. */
static const char *graphml_value(graphml *g) {
    static const char blanks[] = " \t\r\n";
    if (!g->bytes)
        return "";
    while (g->bytes && strchr(blanks, g->value[g->bytes - 1]))
        g->bytes--;
    g->value[g->bytes] = '\0';
    return g->value + strspn(g->value, blanks);
}

static bool take_value(graphml *g, const graphml_key *key, const char *text) {
    if (key->type == GRAPHML_TEXT)
        return mo_attributed_value(g->a, key->name, 0, text);
    char *end;
    bool yes = !strcmp(text, "true"), truth = key->type == GRAPHML_BOOLEAN && (yes || !strcmp(text, "false"));
    double number = truth ? yes : mo_read_number(text, &end);
    if (!truth && (end == text || *end || !isfinite((float)number)))
        return fail_graphml(g, key->type == GRAPHML_BOOLEAN ? "true or false" : "a finite number", text);
    return mo_attributed_value(g->a, key->name, number, NULL);
}

/* Values that keys give to nodes without their own: few lines can give many nodes many, as a packed file does. */
static bool take_defaults(graphml *g) {
    bool fine = true;
    for (int64_t k = 0; fine && k < g->keys.defaults; k++) {
        const graphml_key *key = &g->keys.key[g->keys.with_default[k]];
        if (mo_attributed_has(g->a, key->name))
            continue;
        g->unfolded += (int64_t)(sizeof(mo_attribute) + strlen(key->value));
        fine = g->unfolded <= mo_expansion_limit(g->a->ctx, g->r.file_bytes);
        if (!fine)
            mo_expansion_fail(g->a->ctx, g->r.path, g->r.file_bytes);
        fine = fine && take_value(g, key, key->value);
    }
    return fine;
}

static bool end_element(graphml *g, element what) {
    if (what == DATA_OF_NODE)
        return !g->key->name || take_value(g, g->key, graphml_value(g));
    if (what == DATA_OF_GRAPH)
        return !g->key->name || mo_attributed_of_graph(g->a, g->key->name, graphml_value(g));
    if (what == DEFAULT)
        return graphml_key_default(g->a->ctx, &g->keys, graphml_value(g));
    if (what == NODE)
        return take_defaults(g);
    g->graphs += what == GRAPH;
    return what != GRAPH || mo_attributed_end(g->a);
}

/* ---- expat ---- */

static void stop_unless(graphml *g, bool fine) {
    if (!fine)
        XML_StopParser(g->parser, XML_FALSE);
}

static void XMLCALL on_start(void *state, const XML_Char *name, const XML_Char **attributes) {
    graphml *g = state;
    const char *colon = strrchr(name, ':');
    element what = NOTHING;
    if (!mo_ok(g->a->ctx))
        return;
    bool fine = g->depth < DEEPEST || fail_graphml(g, "elements at most 64 deep", name);
    fine = fine && begin_element(g, colon ? colon + 1 : name, (const char *const *)attributes, &what);
    if (fine)
        g->inside[g->depth++] = what;
    stop_unless(g, fine);
}

static void XMLCALL on_end(void *state, const XML_Char *name) {
    graphml *g = state;
    (void)name;
    if (mo_ok(g->a->ctx))
        stop_unless(g, end_element(g, g->inside[--g->depth]));
}

static void XMLCALL on_text(void *state, const XML_Char *text, int bytes) {
    graphml *g = state;
    element what = g->depth ? g->inside[g->depth - 1] : NOTHING;
    if (!mo_ok(g->a->ctx) || (what != DATA_OF_NODE && what != DATA_OF_GRAPH && what != DEFAULT))
        return;
    bool fine = g->bytes + bytes <= LONGEST_VALUE || fail_graphml(g, "values of at most 1 MiB", "a longer one");
    char *grown = fine ? mo_host_array_grow(g->a->ctx, g->value, &g->room, g->bytes + bytes + 1, 1) : NULL;
    if (grown) {
        g->value = grown;
        memcpy(g->value + g->bytes, text, (size_t)bytes);
        g->bytes += bytes;
    }
    stop_unless(g, grown);
}

static void XMLCALL on_entity(void *state, const XML_Char *name, int is_parameter, const XML_Char *value, int bytes,
    const XML_Char *base, const XML_Char *system, const XML_Char *public, const XML_Char *notation) {
    graphml *g = state;
    (void)is_parameter, (void)value, (void)bytes, (void)base, (void)system, (void)public, (void)notation;
    if (mo_ok(g->a->ctx))
        stop_unless(g, fail_graphml(g, "no entities that the file declares", name));
}

static void XMLCALL on_skipped_entity(void *state, const XML_Char *name, int is_parameter) {
    on_entity(state, name, is_parameter, NULL, 0, NULL, NULL, NULL, NULL);
}

/* Gives expat a part of the file; last: nothing more comes. */
static bool feed_expat(graphml *g, const char *text, size_t bytes, bool last) {
    if (XML_Parse(g->parser, text, (int)bytes, last) == XML_STATUS_OK || !mo_ok(g->a->ctx))
        return mo_ok(g->a->ctx);
    enum XML_Error code = XML_GetErrorCode(g->parser);
    mo_fail(g->a->ctx, code == XML_ERROR_NO_MEMORY ? MO_MEMORY : MO_FORMAT, "%s:%lld: expected XML, found: %s",
        g->r.path, (long long)XML_GetCurrentLineNumber(g->parser), XML_ErrorString(code));
    return false;
}

static bool parse_graphml(graphml *g) {
    XML_SetUserData(g->parser, g);
    XML_SetElementHandler(g->parser, on_start, on_end);
    XML_SetCharacterDataHandler(g->parser, on_text);
    XML_SetEntityDeclHandler(g->parser, on_entity);
    XML_SetSkippedEntityHandler(g->parser, on_skipped_entity);
    bool fine = true;
    while (fine && mo_text_line(&g->r))
        fine =
            (g->r.line == 1 || feed_expat(g, "\n", 1, false)) && feed_expat(g, g->r.cursor, strlen(g->r.cursor), false);
    fine = fine && mo_ok(g->a->ctx) && feed_expat(g, "", 0, true);
    if (fine && !g->graphs)
        fail_graphml_at(g, g->r.line, "an element graph", "none");
    return mo_ok(g->a->ctx);
}

bool mo_read_graphml(mo_attributed *a, const char *path) {
    graphml g = {.a = a};
    a->fail = fail_graphml_place;
    a->reader = &g;
    if (mo_text_open(&g.r, a->ctx, path)) {
        g.parser = XML_ParserCreate(NULL);
        if (g.parser)
            parse_graphml(&g);
        else
            mo_fail(a->ctx, MO_MEMORY, "%s: out of memory for the parser", path);
    }
    if (g.parser)
        XML_ParserFree(g.parser);
    mo_text_close(&g.r);
    graphml_keys_release(&g.keys);
    free(g.value);
    return mo_ok(a->ctx);
}
