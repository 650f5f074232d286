/* Predicts the classes of a graph's nodes from four labels per class, with the weights that come with mochi:
 * probabilities for the other nodes, and the accuracy to expect, estimated from the labels alone.
 *     cc few_shot.c $(pkg-config --cflags --libs mochi) -o few_shot && ./few_shot */
#include <mochi/mochi.h>
#include <stdio.h>
#include <stdlib.h>

enum { CLASSES = 7 };

/* Nodes of Cora (papers) with their labels: four papers on each of seven subjects. */
static const int64_t node[] = {
    3, 6, 10, 11, 18, 36, 54, 85, 5, 9, 16, 28, 0, 4, 7, 8, 1, 2, 12, 22, 20, 37, 47, 50, 23, 26, 31, 41};
static const int64_t subject[] = {0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 6, 6, 6, 6};

/* The first error ends the program. */
static void stop(const mo_status *status, void *unused) {
    (void)unused;
    fprintf(stderr, "%s\n", status->message);
    exit(1);
}

int main(void) {
    mo_context *ctx = mo_context_create(&(mo_context_options){.on_error = stop});
    mo_register_ops(ctx);
    mo_graph *cora = mo_graph_open(ctx, "cora");
    mo_few_shot *f = mo_few_shot_open(cora, MO_TASK_NC, NULL);
    mo_few_shot_fit(f, node, subject, sizeof node / sizeof *node);
    mo_few_shot_estimate e = mo_few_shot_expect(f);
    printf("%d labels: expected accuracy %.0f%%, between %.0f and %.0f\n", (int)e.labelled, 100 * e.accuracy,
        100 * e.low, 100 * e.high);
    double p[CLASSES];
    for (int64_t paper = 100; paper < 2700 && mo_few_shot_probabilities(f, &paper, 1, p) == MO_OK; paper += 900) {
        int best = 0;
        for (int c = 1; c < CLASSES; c++)
            best = p[c] > p[best] ? c : best;
        printf("paper %4d: subject %d, probability %.2f\n", (int)paper, best, p[best]);
    }
    mo_few_shot_release(f);
    mo_graph_release(cora);
    return mo_context_release(ctx) != MO_OK;
}
