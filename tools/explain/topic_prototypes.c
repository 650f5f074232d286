/* tools/explain/topic_prototypes.c - the topics `shift` and `hull`: the paper's two worked examples in which class
 * means fail as weights. */
#include "tools/explain/lesson.h"
#include "tools/memory.h"

#include <math.h>
#include <stdlib.h>

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

static void put_points(FILE *f, const double z[4], const double *p, const double *r) {
    static const int64_t y[] = {0, 0, 1, 1};
    int right[2] = {0, 0};
    fprintf(f, "\n                       prototypes                  ridge with an intercept\n"
               "      z  class   <z, p0>  <z, p1>  predicts      class 0  class 1  predicts\n");
    for (int i = 0; i < 4; i++) {
        int64_t by_p = best_of(p + 2 * i, 2), by_r = best_of(r + 2 * i, 2);
        right[0] += by_p == y[i];
        right[1] += by_r == y[i];
        fprintf(f, "%7.1f%7d%10.2f%9.2f%7d %-5s%12.2f%9.2f%7d%s\n", z[i], (int)y[i], p[2 * i] + 0.0, p[2 * i + 1],
            (int)by_p, by_p == y[i] ? "" : "wrong", r[2 * i], r[2 * i + 1], (int)by_r, by_r == y[i] ? "" : " wrong");
    }
    fprintf(f, "  accuracy: prototypes %d %%, ridge with an intercept %d %%\n\n", 25 * right[0], 25 * right[1]);
}

static void tell_points(lesson *l, const double z[4], double shift) {
    static const int64_t y[] = {0, 0, 1, 1};
    double moved[4], p[8], r[8];
    char *text = NULL;
    size_t bytes = 0;
    for (int i = 0; i < 4; i++)
        moved[i] = z[i] + shift;
    mo_tensor *Z = mo_from(l->t, MO_F64, 2, (int64_t[]){4, 1}, moved);
    mo_tensor *Y = mo_one_hot(l->t, mo_from(l->t, MO_I64, 1, (int64_t[]){4}, y), 2, MO_F64);
    mo_tensor *prototype = logits_of(l, &mo_head_prototype_inner, Z, Y, 0);
    mo_tensor *ridge = logits_of(l, mo_find_head("ridge_intercept"), Z, Y, 0.1);
    if (mo_tensor_read(prototype, p, sizeof p) != MO_OK || mo_tensor_read(ridge, r, sizeof r) != MO_OK)
        return;
    double p0 = (moved[0] + moved[1]) / 2, p1 = (moved[2] + moved[3]) / 2;
    lesson_say(l, "The points moved by %g: prototypes p0 = %g, p1 = %g, %g apart", shift, p0, p1, p1 - p0);
    FILE *f = open_text(&text, &bytes);
    put_points(f, moved, p, r);
    close_text(f, &text);
    lesson_table(l, text);
    free(text);
}

static void shift_tell(lesson *l) {
    static const double z[] = {-1, 0, 1, 2};
    lesson_section(l, "A boundary that is tied to the origin (paper, section 2.1)");
    lesson_say(l, "Prototypes are class means; a query goes to the class whose prototype has the larger inner product "
                  "with it. Between two classes the boundary is `<z, p0 - p1> = 0`, through the origin, wherever the "
                  "data lie.");
    tell_points(l, z, 0);
    tell_points(l, z, 5);
    lesson_say(l,
        "The shift changed no distance between points, and p0 - p1 is what it was: the task is the same. But "
        "all z are now on one side of z = 0, where one prototype is the larger one for all. An intercept moves "
        "with the data; so do squared distances to prototypes (--head prototype_euclidean) and rows less the "
        "mean of the support (--head prototype_centred). mochi fit counts such pairs.");
}

const topic topic_shift = {
    .name = "shift",
    .summary = "four points on a line, moved by 5: prototypes fail, ridge does not",
    .title = "<z, p0 - p1> = 0",
    .source = "models/heads/prototype.c",
    .tell = shift_tell,
};

static void put_queries(FILE *f, const double P[6]) {
    static const double queries[][2] = {{1, 1}, {2, 0.5}, {0.1, 0.1}, {-1, 0.5}, {-2, -1}};
    static const char names[] = "ABC";
    fprintf(f, "\n                      prototypes                    three linear scores\n"
               "       z          <z, p_A> <z, p_B> <z, p_C> wins        A      B      C  wins\n");
    for (size_t i = 0; i < sizeof queries / sizeof *queries; i++) {
        const double *z = queries[i], s = z[0] + z[1];
        double score[3], linear[3] = {s / 2 - 1, 0.5, 1 - s / 2};
        for (int c = 0; c < 3; c++)
            score[c] = z[0] * P[2 * c] + z[1] * P[2 * c + 1] + 0.0; /* not -0 */
        fprintf(f, "  (%4.1f, %4.1f)%12.2f%9.2f%9.2f%4c%13.2f%7.2f%7.2f%5c\n", z[0], z[1], score[0], score[1], score[2],
            names[best_of(score, 3)], linear[0], linear[1], linear[2], names[best_of(linear, 3)]);
    }
    fputc('\n', f);
}

static void hull_tell(lesson *l) {
    static const double P[] = {2, 2, 1, 1, 0, 0}, others[] = {2, 2, 0, 0};
    double weight[2], distance = mo_hull_distance(l->ctx, others, 2, 2, P + 2, weight);
    char *text = NULL;
    size_t bytes = 0;
    lesson_section(l, "A prototype between the others never wins (paper, section 2.2)");
    lesson_say(l, "Prototypes A, B, C as rows:");
    lesson_show_as(l, "P", mo_from(l->t, MO_F64, 2, (int64_t[]){3, 2}, P));
    lesson_say(l, "Distance of p_B to the convex hull of p_A and p_C: %.4f; nearest point: %.2f p_A + %.2f p_C.",
        distance, weight[0], weight[1]);
    lesson_say(l,
        "For every z, `<z, p_B>` is then that mean of `<z, p_A>` and `<z, p_C>`, and no mean exceeds the larger "
        "of both: B is never the only winner, whatever its rows are.");
    FILE *f = open_text(&text, &bytes);
    put_queries(f, P);
    close_text(f, &text);
    lesson_table(l, text);
    free(text);
    lesson_say(l,
        "The linear readout has an intercept for each class, (z1 + z2) / 2 - 1, 1/2 and 1 - (z1 + z2) / 2, and "
        "B wins where z1 + z2 is between 1 and 3: the failure is one of prototypes as weights, not of the "
        "classes. Near the hull is nearly as bad: at distance epsilon, B wins by at most epsilon |z|. mochi fit "
        "prints the distances.");
}

const topic topic_hull = {
    .name = "hull",
    .summary = "prototypes (2, 2), (1, 1), (0, 0): the middle one never wins",
    .title = "p_B = w_A p_A + w_C p_C",
    .source = "models/heads/prototype.c",
    .tell = hull_tell,
};
