/* tests/train/graphs/test_loaders.c - every available data set (data_at_hand.h) and the embedded graphs have the counts
 * that were verified without this code (PROVENANCE.md beside the data). */
#include "tests/data_at_hand.h"
#include "tests/scratch.h"

/* The known counts of a data set; a 0 ends the list of counts per label. */
typedef struct known {
    const char *name, *path;
    int64_t graphs, nodes, edges, features, feature_nnz, classes;
    int64_t loops, duplicates, unlabelled;
    int64_t counts[16];
} known;

static const known data_sets[] = {
    {"cora", "cora/planetoid_cora.npz", 1, 2708, 5278, 1433, 49216, 7, 0, 0, 0, {351, 217, 418, 818, 426, 298, 180}},
    {"citeseer", "citeseer/planetoid_citeseer.npz", 1, 3327, 4552, 3703, 105165, 6, 0, 0, 15,
        {249, 590, 668, 701, 596, 508}},
    {"pubmed", "pubmed/planetoid_pubmed.npz", 1, 19717, 44324, 500, 988031, 3, 0, 0, 0, {4103, 7739, 7875}},
    {"cora-linqs", "cora/gnn-benchmark/cora.npz", 1, 2708, 5278, 1433, 49216, 7, 0, 0, 0,
        {298, 418, 818, 426, 217, 180, 351}},
    {"citeseer-linqs", "citeseer/gnn-benchmark/citeseer.npz", 1, 3312, 4536, 3703, 105165, 6, 124, 0, 0,
        {249, 596, 701, 508, 668, 590}},
    {"photo", "amazon_photo/amazon_electronics_photo.npz", 1, 7650, 119081, 745, 1979909, 8, 1, 0, 0,
        {369, 1686, 703, 915, 882, 823, 1941, 331}},
    {"computers", "amazon_computers/amazon_electronics_computers.npz", 1, 13752, 245861, 767, 3675081, 10, 0, 0, 0,
        {436, 2142, 1414, 542, 5158, 308, 487, 818, 2156, 291}},
    {"physics", "coauthor_physics/ms_academic_phy.npz", 1, 34493, 247962, 8415, 1137311, 5, 0, 0, 0,
        {5750, 5045, 17426, 2753, 3519}},
    {"mutag", "tu/MUTAG", 188, 3371, 3721, 7, 3371, 2, 0, 0, 0, {63, 125}},
    {"proteins", "tu/PROTEINS", 1113, 43471, 81044, 3, 43471, 2, 0, 0, 0, {663, 450}},
    {"enzymes", "tu/ENZYMES", 600, 19580, 37282, 3, 19580, 6, 0, 0, 0, {100, 100, 100, 100, 100, 100}},
    {"imdb-binary", "tu/IMDB-BINARY", 1000, 19773, 96531, 0, 0, 2, 0, 193062, 0, {500, 500}},
    {"dd", "tu/DD", 1178, 334925, 843046, 82, 334925, 2, 0, 0, 0, {691, 487}},
    {"gnutella06", "snap/p2p-Gnutella06.txt.gz", 1, 8717, 31525, 0, 0, 0, 0, 0, 0, {0}},
    {"epinions1", "snap/soc-Epinions1.txt.gz", 1, 75879, 405740, 0, 0, 0, 0, 0, 0, {0}},
    {"enron", "snap/email-Enron.txt.gz", 1, 36692, 183831, 0, 0, 0, 0, 0, 0, {0}},
    {"astroph", "snap/ca-AstroPh.txt.gz", 1, 18772, 198050, 0, 0, 0, 60, 0, 0, {0}},
};
enum { DATA_SETS = sizeof data_sets / sizeof *data_sets };

/* Fails unless the adjacency is as train.h promises: rising columns, no loops, symmetric, edges only within a graph. */
static void assert_adjacency(const mo_graph *g) {
    assert_int_equal(g->row_pointer[0], 0);
    assert_int_equal(g->row_pointer[g->nodes], g->nnz);
    assert_int_equal(g->graph_offset[0], 0);
    assert_int_equal(g->graph_offset[g->graphs], g->nodes);
    HELD_MEMORY int64_t *met = calloc((size_t)g->nodes + 1, sizeof *met); /* number of entries of each row that earlier
                                                                           * rows have matched */
    for (int64_t k = 0, wrong = 0; k < g->graphs; k++) {
        for (int64_t u = g->graph_offset[k]; u < g->graph_offset[k + 1]; u++) {
            for (int64_t i = g->row_pointer[u]; i < g->row_pointer[u + 1]; i++) {
                int64_t v = g->column[i];
                wrong += v < g->graph_offset[k] || v >= g->graph_offset[k + 1] || v == u;
                wrong += i > g->row_pointer[u] && g->column[i - 1] >= v;
                /* Columns rise, so the next unmatched entry of row v must be u. */
                wrong += g->column[g->row_pointer[v] + met[v]++] != u;
            }
        }
        assert_int_equal(wrong, 0);
    }
}

static void assert_features(const mo_graph *g) {
    if (g->features == 0) {
        assert_null(g->feature_pointer);
        return;
    }
    assert_int_equal(g->feature_pointer[0], 0);
    assert_int_equal(g->feature_pointer[g->nodes], g->feature_nnz);
    int64_t highest = -1;
    for (int64_t i = 0; i < g->feature_nnz; i++) {
        assert_true(g->feature_column[i] >= 0 && g->feature_column[i] < g->features);
        highest = g->feature_column[i] > highest ? g->feature_column[i] : highest;
    }
    assert_int_equal(highest, g->features - 1);
}

static void assert_known(const mo_graph *g, const known *k) {
    int64_t counts[16] = {0}, unlabelled = 0;
    assert_string_equal(g->name, k->name);
    assert_int_equal(g->graphs, k->graphs);
    assert_int_equal(g->nodes, k->nodes);
    assert_int_equal(g->nnz, 2 * k->edges);
    assert_int_equal(g->features, k->features);
    assert_int_equal(g->feature_nnz, k->feature_nnz);
    assert_int_equal(g->classes, k->classes);
    assert_int_equal(g->n_labels, k->classes == 0 ? 0 : k->graphs > 1 ? k->graphs : k->nodes);
    for (int64_t i = 0; i < g->n_labels; i++) {
        if (g->label[i] < 0)
            unlabelled++;
        else
            counts[g->label[i]]++;
    }
    assert_int_equal(unlabelled, k->unlabelled);
    assert_memory_equal(counts, k->counts, sizeof counts);
    assert_true(mo_graph_has_task(g, MO_TASK_GC) == (k->graphs > 1));
    assert_true(mo_graph_has_task(g, MO_TASK_LP) == (k->graphs == 1));
    assert_true(mo_graph_has_task(g, MO_TASK_NC) == (k->graphs == 1 && k->classes > 0));
    assert_adjacency(g);
    assert_features(g);
}

/* Sets MOCHI_DATA to the available data sets, and hides the embedded graphs. */
static void use_sources(scratch *s) {
    setenv("MOCHI_DATA", data_at_hand(), 1);
    setenv("MOCHI_EMBEDDED", s->folder, 1);
}

TEST_OF(every_data_set_at_hand_has_its_verified_counts, scratch *s) {
    int found = 0;
    use_sources(s);
    for (int i = 0; i < DATA_SETS; i++) {
        if (!mo_graph_exists(data_sets[i].name))
            continue;
        HELD(mo_graph) *graph = mo_graph_open(s->ctx, data_sets[i].name);
        expect_ok(s->ctx);
        assert_known(graph, &data_sets[i]);
        assert_int_equal(graph->dropped_loops, data_sets[i].loops);
        assert_int_equal(graph->dropped_duplicates, data_sets[i].duplicates);
        assert_non_null(strstr(graph->source, data_sets[i].path));
        found++;
    }
    print_message("%d of %d data sets below %s\n", found, DATA_SETS, data_at_hand());
    assert_true(found >= 1 && (strcmp(data_at_hand(), "tests/sources") == 0 || found == DATA_SETS));
}

typedef struct listed {
    int count, embedded;
    char names[32][32];
} listed;

static void collect(const char *name, const char *path, bool embedded, void *state) {
    listed *l = state;
    assert_int_equal(access(path, R_OK), 0);
    snprintf(l->names[l->count++], sizeof l->names[0], "%s", name);
    l->embedded += embedded;
}

TEST_OF(embedded_graphs_equal_their_sources, scratch *s) {
    listed l = {0};
    setenv("MOCHI_DATA", s->folder, 1);
    unsetenv("MOCHI_EMBEDDED");
    assert_int_equal(mo_graph_list(s->ctx, collect, &l), MO_OK);
    assert_true(l.count >= 7);
    assert_int_equal(l.count, l.embedded);
    int sources = 0;
    for (int i = 0; i < l.count; i++) {
        use_sources(s);
        if (!mo_graph_exists(l.names[i]))
            continue;
        sources++;
        unsetenv("MOCHI_EMBEDDED");
        setenv("MOCHI_DATA", s->folder, 1);
        HELD(mo_graph) *embedded = mo_graph_open(s->ctx, l.names[i]);
        use_sources(s);
        HELD(mo_graph) *source = mo_graph_open(s->ctx, l.names[i]);
        expect_ok(s->ctx);
        assert_string_not_equal(embedded->source, source->source);
        assert_string_equal(embedded->name, source->name);
        assert_memory_equal(embedded->hash, source->hash, sizeof source->hash);
        assert_true(!embedded->division == !source->division);
        if (source->division)
            assert_memory_equal(embedded->division, source->division, (size_t)source->nodes);
    }
    assert_true(sources >= 1); /* at least MUTAG, which comes with the tests */
}

TEST_OF(embedded_graphs_have_their_verified_counts, scratch *s) {
    int found = 0;
    setenv("MOCHI_DATA", s->folder, 1);
    unsetenv("MOCHI_EMBEDDED");
    for (int i = 0; i < DATA_SETS; i++) {
        HELD(mo_graph) *graph = mo_graph_open(s->ctx, data_sets[i].name);
        if (graph) {
            assert_known(graph, &data_sets[i]);
            found++;
        } else {
            assert_failed(s->ctx, MO_IO, PARTS(data_sets[i].name, "MOCHI_DATA", data_sets[i].path));
        }
    }
    assert_true(found >= 7);
}

TEST_OF(unknown_names_are_errors_that_list_what_is_known, scratch *s) {
    unsetenv("MOCHI_EMBEDDED");
    assert_null(mo_graph_open(s->ctx, "corra"));
    assert_failed(s->ctx, MO_INVALID, PARTS("'corra'", "path", " cora", " mutag"));
    assert_null(mo_graph_open(s->ctx, ""));
    assert_failed(s->ctx, MO_INVALID, PARTS("''"));
    setenv("MOCHI_EMBEDDED", s->folder, 1);
    setenv("MOCHI_DATA", s->folder, 1);
    assert_null(mo_graph_open(s->ctx, "cora"));
    assert_failed(s->ctx, MO_IO, PARTS("'cora'", "MOCHI_DATA", "none"));
}

TEST_OF(data_lies_where_the_environment_says, scratch *s) {
    char path[300];
    setenv("MOCHI_DATA", s->folder, 1);
    assert_true(mo_data_folder(path, sizeof path));
    assert_string_equal(path, s->folder);
    assert_false(mo_data_folder(path, strlen(s->folder)));
    unsetenv("MOCHI_DATA");
    setenv("XDG_DATA_HOME", s->folder, 1);
    const char *expected = scratch_path(s, "mochi");
    assert_true(mo_data_folder(path, sizeof path));
    assert_string_equal(path, expected);
    unsetenv("MOCHI_EMBEDDED");
    assert_true(mo_data_file("cora.npz", path, sizeof path));
    assert_int_equal(access(path, R_OK), 0);
    assert_false(mo_data_file("corra.npz", path, sizeof path));
}
