/* tools/lessons/explain_prototypes.c - the lessons `shift` and `hull`: the paper's two worked examples in which class
 * means fail as weights. */
#include "tools/lessons/explain.h"

#include <math.h>
#include <stdio.h>

/* Logits of rows Z [n, d] by a head fitted on those same rows. */
static mo_tensor *logits_of(lesson *l, const mo_head *head, mo_tensor *Z, mo_tensor *Y, double lambda) {
    mo_tensor *parameters[MO_MAX_HEAD_PARAMETERS];
    mo_head_start(l->t, head, MO_F64, mo_dim(Z, 1), lambda > 0 ? &lambda : NULL, 0, parameters);
    return mo_head_apply(l->t, head, Z, Y, Z, parameters);
}

static int64_t best_of(const double *logits, int64_t classes) {
    int64_t best = 0;
    for (int64_t c = 1; c < classes; c++)
        best = logits[c] > logits[best] ? c : best;
    return best;
}

static void show_points(lesson *l, const double z[4], double shift) {
    static const int64_t y[] = {0, 0, 1, 1};
    double moved[4], p[8], r[8];
    for (int i = 0; i < 4; i++)
        moved[i] = z[i] + shift;
    mo_tensor *Z = mo_from(l->t, MO_F64, 2, (int64_t[]){4, 1}, moved);
    mo_tensor *Y = mo_one_hot(l->t, mo_from(l->t, MO_I64, 1, (int64_t[]){4}, y), 2, MO_F64);
    mo_tensor *prototype = logits_of(l, &mo_head_prototype_inner, Z, Y, 0);
    mo_tensor *ridge = logits_of(l, mo_find_head("ridge_intercept"), Z, Y, 0.1);
    if (mo_tensor_read(prototype, p, sizeof p) != MO_OK || mo_tensor_read(ridge, r, sizeof r) != MO_OK)
        return;
    double p0 = (moved[0] + moved[1]) / 2, p1 = (moved[2] + moved[3]) / 2;
    int right[2] = {0, 0};
    printf("\nThe points moved by %g: prototypes p0 = %g, p1 = %g, %g apart\n\n"
           "                       prototypes                  ridge with an intercept\n"
           "      z  class   <z, p0>  <z, p1>  predicts      class 0  class 1  predicts\n",
        shift, p0, p1, p1 - p0);
    for (int i = 0; i < 4; i++) {
        int64_t by_p = best_of(p + 2 * i, 2), by_r = best_of(r + 2 * i, 2);
        right[0] += by_p == y[i];
        right[1] += by_r == y[i];
        printf("%7.1f%7d%10.2f%9.2f%7d %-5s%12.2f%9.2f%7d%s\n", moved[i], (int)y[i], p[2 * i] + 0.0, p[2 * i + 1],
            (int)by_p, by_p == y[i] ? "" : "wrong", r[2 * i], r[2 * i + 1], (int)by_r, by_r == y[i] ? "" : " wrong");
    }
    printf("  accuracy: prototypes %d %%, ridge with an intercept %d %%\n", 25 * right[0], 25 * right[1]);
}

void explain_shift(lesson *l) {
    static const double z[] = {-1, 0, 1, 2};
    puts("shift: a boundary that is tied to the origin               (paper, section 2.1)\n\n"
         "Prototypes are class means; a query goes to the class whose prototype has the\n"
         "larger inner product with it. Between two classes the boundary is\n"
         "    { z : <z, p0 - p1> = 0 },   through the origin, wherever the data lie.");
    show_points(l, z, 0);
    show_points(l, z, 5);
    puts("\nThe shift changed no distance between points, and p0 - p1 is what it was: the\n"
         "task is the same. But all z are now on one side of z = 0, where one prototype is\n"
         "the larger one for all. An intercept moves with the data; so do squared\n"
         "distances to prototypes (--head prototype_euclidean) and rows less the mean of\n"
         "the support (--head prototype_centred). `mochi fit` counts such pairs.");
}

void explain_hull(lesson *l) {
    static const double P[] = {2, 2, 1, 1, 0, 0}, others[] = {2, 2, 0, 0};
    static const double queries[][2] = {{1, 1}, {2, 0.5}, {0.1, 0.1}, {-1, 0.5}, {-2, -1}};
    static const char names[] = "ABC";
    double weight[2], distance = mo_hull_distance(l->ctx, others, 2, 2, P + 2, weight);
    puts("hull: a prototype between the others never wins             (paper, section 2.2)\n");
    SHOW(l, NAMES("prototypes A, B, C (rows)"), mo_from(l->t, MO_F64, 2, (int64_t[]){3, 2}, P));
    printf("\n  distance of p_B to the convex hull of p_A and p_C: %.4f\n"
           "  nearest point: %.2f p_A + %.2f p_C\n\n",
        distance, weight[0], weight[1]);
    puts("  For every z, <z, p_B> is then that mean of <z, p_A> and <z, p_C>, and no mean\n"
         "  exceeds the larger of both: B is never the only winner, whatever its rows are.\n\n"
         "                      prototypes                    three linear scores\n"
         "       z          <z, p_A> <z, p_B> <z, p_C> wins        A      B      C  wins");
    for (size_t i = 0; i < sizeof queries / sizeof *queries; i++) {
        const double *z = queries[i], s = z[0] + z[1];
        double score[3], linear[3] = {s / 2 - 1, 0.5, 1 - s / 2};
        for (int c = 0; c < 3; c++)
            score[c] = z[0] * P[2 * c] + z[1] * P[2 * c + 1] + 0.0; /* not -0 */
        printf("  (%4.1f, %4.1f)%12.2f%9.2f%9.2f%4c%13.2f%7.2f%7.2f%5c\n", z[0], z[1], score[0], score[1], score[2],
            names[best_of(score, 3)], linear[0], linear[1], linear[2], names[best_of(linear, 3)]);
    }
    puts("\nThe linear readout has an intercept for each class, (z1 + z2) / 2 - 1, 1/2 and\n"
         "1 - (z1 + z2) / 2, and B wins where z1 + z2 is between 1 and 3: the failure is\n"
         "one of prototypes as weights, not of the classes. Near the hull is nearly as\n"
         "bad: at distance epsilon, B wins by at most epsilon |z|. `mochi fit` prints the\n"
         "distances.");
}
