/* tests/train/few_shot/test_promises.c - what a user trusts, tested by its meaning on graphs whose truth is known: the
 * 95% interval of the expected accuracy holds the accuracy on the other nodes, the estimate is not rosy, and labels of
 * the nodes that `suggest` names are worth more than labels of random ones.
 *
 * Each graph has four communities of unlike sizes; a node's attributes are its community's mean and noise. */
#include "tests/scratch.h"
#include "train/inside.h"

enum { NODES = 400, CLASSES = 4, COLUMNS = 12, DEGREE = 6, GRAPHS = 10, DRAWS = 4 };

/* The share of a node's links that stay within its community, and the noise of its attributes: easy, middling, hard. */
static const struct { double inside, noise; } difficulty[] = {{0.8, 2}, {0.6, 3}, {0.45, 4}};
enum { DIFFICULTIES = sizeof difficulty / sizeof *difficulty };

/* Half of the nodes are of class 0, and each further class has half of what is left. */
static int64_t class_of(int64_t node) {
    return node < NODES / 2 ? 0 : node < 3 * NODES / 4 ? 1 : node < 7 * NODES / 8 ? 2 : 3;
}

static int64_t member_of(mo_random *r, int64_t class) {
    int64_t node = mo_random_below(r, NODES);
    while (class_of(node) != class)
        node = mo_random_below(r, NODES);
    return node;
}

static mo_graph *plant(mo_context *ctx, int d, uint64_t seed) {
    static int64_t u[NODES * DEGREE], v[NODES * DEGREE];
    mo_random r = mo_random_at(seed, MO_PURPOSE_CHECK, (uint64_t)d);
    for (int64_t e = 0; e < NODES * DEGREE; e++) {
        u[e] = e / DEGREE;
        bool inside = mo_random_uniform(&r) < difficulty[d].inside;
        v[e] = inside ? member_of(&r, class_of(u[e])) : mo_random_below(&r, NODES);
    }
    mo_graph *graph = mo_graph_from_edges(ctx, "planted", NODES, NODES * DEGREE, u, v);
    expect_ok(ctx);
    graph->features = COLUMNS;
    graph->feature_pointer = calloc(NODES + 1, sizeof(int64_t));
    graph->feature_column = calloc(NODES * COLUMNS, sizeof(int32_t));
    graph->feature_value = calloc(NODES * COLUMNS, sizeof(float));
    for (int64_t k = 0; k < NODES * COLUMNS; k++) {
        graph->feature_column[k] = (int32_t)(k % COLUMNS);
        graph->feature_value[k] =
            (float)((k % COLUMNS % CLASSES == class_of(k / COLUMNS)) + difficulty[d].noise * mo_random_normal(&r) / 2);
    }
    for (int64_t i = 0; i <= NODES; i++)
        graph->feature_pointer[i] = i * COLUMNS;
    graph->feature_nnz = NODES * COLUMNS;
    graph->hash[0] = seed * 8 + (uint64_t)d; /* a loader would set it */
    return graph;
}

/* Draws n nodes of each class, or any n nodes if class is -1, that are not yet labelled. */
static int64_t add_labels(mo_random *r, int64_t class, int64_t n, bool *labelled, int64_t *id, int64_t at) {
    for (int64_t end = at + n; at < end;) {
        int64_t node = class < 0 ? mo_random_below(r, NODES) : member_of(r, class);
        if (!labelled[node]) {
            labelled[node] = true;
            id[at++] = node;
        }
    }
    return at;
}

/* The accuracy on nodes without a label, as a mean over classes, after a fit to n labels. */
static double accuracy_after(mo_few_shot *f, const int64_t *id, int64_t n) {
    static double p[NODES * CLASSES];
    int64_t label[NODES], other[NODES], m = 0;
    double right[CLASSES] = {0}, all[CLASSES] = {0}, mean = 0;
    bool labelled[NODES] = {false};
    for (int64_t i = 0; i < n; i++) {
        label[i] = class_of(id[i]);
        labelled[id[i]] = true;
    }
    for (int64_t i = 0; i < NODES; i++)
        if (!labelled[i])
            other[m++] = i;
    assert_int_equal(mo_few_shot_fit(f, id, label, n), MO_OK);
    assert_int_equal(mo_few_shot_probabilities(f, other, m, p), MO_OK);
    for (int64_t i = 0; i < m; i++) {
        int64_t best = 0, c = class_of(other[i]);
        for (int64_t j = 1; j < CLASSES; j++)
            best = p[i * CLASSES + j] > p[i * CLASSES + best] ? j : best;
        right[c] += best == c;
        all[c]++;
    }
    for (int c = 0; c < CLASSES; c++)
        mean += right[c] / all[c] / CLASSES;
    return mean;
}

/* Of 120 intervals, 114 should hold; 100 or fewer come by chance once in a million times. An estimate that looked at
 * its own labels would be rosy by more than 5 points at every difficulty. */
TEST_OF(the_interval_holds_what_it_promises, scratch *s) {
    int held = 0, all = 0;
    for (int d = 0; d < DIFFICULTIES; d++) {
        double rosy = 0, width = 0, truth = 0;
        for (uint64_t g = 0; g < GRAPHS; g++) {
            HELD(mo_graph) *graph = plant(s->ctx, d, g);
            HELD(mo_few_shot) *f = mo_few_shot_open(graph, MO_TASK_NC, NULL);
            mo_random r = mo_random_at(g, MO_PURPOSE_CHECK, 99);
            for (int draw = 0; draw < DRAWS; draw++) {
                int64_t id[8 * CLASSES], n = 0;
                bool labelled[NODES] = {false};
                for (int64_t c = 0; c < CLASSES; c++)
                    n = add_labels(&r, c, 8, labelled, id, n);
                double right = accuracy_after(f, id, n);
                mo_few_shot_estimate e = mo_few_shot_expect(f);
                held += e.low <= right && right <= e.high;
                rosy += (e.accuracy - right) / (GRAPHS * DRAWS);
                width += (e.high - e.low) / (GRAPHS * DRAWS);
                truth += right / (GRAPHS * DRAWS);
                all++;
            }
        }
        print_message(
            "difficulty %d: right %.3f, estimate above it by %+.3f, interval %.3f wide\n", d, truth, rosy, width);
        assert_true(fabs(rosy) < 0.05);
        assert_true(width < 0.45); /* an interval that says nothing would hold too */
    }
    print_message("%d of %d intervals hold\n", held, all);
    assert_true(held > 100 * all / 120);
}

/* From two labels of each class: 16 more, those that suggest names or random ones, paired by graph. */
TEST_OF(suggested_labels_are_worth_more_than_random_ones, scratch *s) {
    double sum = 0, squares = 0;
    int n_pairs = 0;
    for (int d = 0; d < DIFFICULTIES; d++)
        for (uint64_t g = 0; g < GRAPHS; g++, n_pairs++) {
            HELD(mo_graph) *graph = plant(s->ctx, d, g);
            HELD(mo_few_shot) *f = mo_few_shot_open(graph, MO_TASK_NC, NULL);
            mo_random r = mo_random_at(g, MO_PURPOSE_CHECK, 98);
            int64_t id[2 * CLASSES + 16], n = 0;
            bool labelled[NODES] = {false};
            for (int64_t c = 0; c < CLASSES; c++)
                n = add_labels(&r, c, 2, labelled, id, n);
            assert_int_equal(mo_few_shot_suggest(f, id, n, 16, id + n), MO_OK);
            double suggested = accuracy_after(f, id, n + 16), random = 0;
            for (int draw = 0; draw < DRAWS; draw++) {
                bool taken[NODES];
                memcpy(taken, labelled, sizeof taken);
                add_labels(&r, -1, 16, taken, id, n);
                random += accuracy_after(f, id, n + 16) / DRAWS;
            }
            sum += suggested - random;
            squares += (suggested - random) * (suggested - random);
        }
    double mean = sum / n_pairs, error = sqrt((squares / n_pairs - mean * mean) / (n_pairs - 1));
    print_message("suggested labels: %+.3f of accuracy, standard error %.3f\n", mean, error);
    assert_true(mean > 2.5 * error);
}
