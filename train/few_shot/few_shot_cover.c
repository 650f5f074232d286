/* train/few_shot/few_shot_cover.c - how well the labelled examples cover the unlabelled ones.
 *
 * Two examples are near if the cosine of their embeddings is large. Every example, labelled or not, gets its cosine
 * with the nearest labelled example besides itself. If all examples are drawn from one distribution, the cosine of an
 * unlabelled example has every rank among the n labelled ones with equal probability, so it lies below the r-th
 * smallest of them with probability r / (n + 1) (the argument of conformal prediction: Vovk, Gammerman and Shafer
 * 2005). This holds only nearly, because an unlabelled example can be near n labelled ones, a labelled example near one
 * fewer. Over draws of the labels, the share of unlabelled examples below the r-th smallest cosine has the distribution
 * Beta(r, n + 1 - r), whose mean is r / (n + 1). With r = n / 10, a share far above 10% means that whole regions of the
 * examples have no label.
 *
 * At most MOST examples of each kind are compared, evenly spaced in their order, so that neither time nor memory grows
 * with the graph; the share's standard error is at most 0.8%. */
#include "train/evaluation/evaluation.h"
#include "train/few_shot/few_shot.h"

#include "tensor/library.h"

#include <math.h>
#include <stdlib.h>

enum { MOST = 4096, BLOCK = 512 };

/* Returns the ids [*few] of at most MOST of n examples, evenly spaced, which the caller owns; NULL on failure. */
static int64_t *cover_spread(mo_context *ctx, const int64_t *id, int64_t n, int64_t *few) {
    *few = n < MOST ? n : MOST;
    int64_t *some = mo_host_array(ctx, *few, sizeof *some);
    for (int64_t i = 0; some && i < *few; i++)
        some[i] = id[i * n / *few];
    return some;
}

/* Embeddings [n, d] of examples at unit length, on the tape. */
static mo_tensor *cover_rows(mo_few_shot *f, mo_tape *t, const int64_t *id, int64_t n) {
    mo_tensor *Z = f->rows ? mo_gather_rows(t, f->rows, mo_from(t, MO_I64, 1, &n, id))
                           : mo_embed_listed(t, f->candidate.model, &f->source, id, n);
    return mo_l2_normalize(t, mo_cast(t, Z, MO_F32), 1e-12);
}

/* An owned copy of cover_rows. */
static mo_tensor *cover_kept_rows(mo_few_shot *f, const int64_t *id, int64_t n) {
    mo_tape *t = mo_tape_create(f->ctx, MO_EVAL);
    mo_tensor *Z = cover_rows(f, t, id, n),
              *kept = mo_ok(f->ctx) ? mo_tensor_create(f->ctx, MO_F32, 2, (int64_t[]){n, mo_dim(Z, 1)}) : NULL;
    if (mo_ok(f->ctx))
        mo_tensor_copy(kept, Z);
    mo_tape_release(t);
    return kept;
}

/* nearest[i]: the largest cosine of example id[i] with a labelled row of L [few, d]. self: the examples are the
 * labelled ones; the row itself does not count. */
static bool cover_nearest(mo_few_shot *f, mo_tensor *L, const int64_t *id, int64_t n, bool self, double *nearest) {
    mo_tape *t = mo_tape_create(f->ctx, MO_EVAL);
    int64_t few = mo_dim(L, 0);
    for (int64_t first = 0; first < n && mo_ok(f->ctx); first += BLOCK, mo_tape_reset(t)) {
        int64_t rows = n - first < BLOCK ? n - first : BLOCK;
        mo_tensor *S = mo_matmul(t, cover_rows(f, t, id + first, rows), mo_transpose(t, L));
        float *s = mo_tape_scratch(t, rows * few, sizeof *s);
        if (!s || mo_tensor_read(S, s, (size_t)(rows * few) * sizeof *s) != MO_OK)
            break;
        for (int64_t i = 0; i < rows; i++) {
            nearest[first + i] = -INFINITY;
            for (int64_t j = 0; j < few; j++)
                if (!(self && j == first + i) && s[i * few + j] > nearest[first + i]) /* GCC 12 for Arm fails at fmax */
                    nearest[first + i] = s[i * few + j];
        }
    }
    mo_tape_release(t);
    return mo_ok(f->ctx);
}

/* Computes the shares from the cosines of n labelled and m unlabelled examples; sorts labelled[]. */
static void cover_count(double *labelled, int64_t n, const double *other, int64_t m, mo_few_shot_cover *cover) {
    int64_t r = (n + 5) / 10, far = 0;
    r = r > 1 ? r : 1;
    mo_sort_numbers(labelled, n);
    for (int64_t i = 0; i < m; i++)
        far += other[i] < labelled[r - 1];
    cover->labelled = n;
    cover->others = m;
    cover->far = (double)far / (double)m;
    cover->expected = (double)r / (double)(n + 1);
    cover->most = fmin(1, cover->expected + 2 * sqrt(cover->expected * (1 - cover->expected) / (double)(n + 2)));
}

static bool cover_check(mo_few_shot *f, const int64_t *id, int64_t n) {
    if (mo_ok(f->ctx) && f->n == 0)
        mo_fail(f->ctx, MO_STATE, "few-shot: expected labels (mo_few_shot_fit) before their cover, found none");
    return mo_ok(f->ctx) && mo_few_shot_are_examples(f, id, n);
}

mo_code mo_few_shot_cover_of(mo_few_shot *f, const int64_t *id, int64_t n, mo_few_shot_cover *cover) {
    if (!f)
        return MO_INVALID;
    if (!mo_given(f->ctx, "few-shot", "the cover", cover) || (n > 0 && !mo_given(f->ctx, "few-shot", "ids", id)))
        return mo_code_of(f->ctx);
    *cover = (mo_few_shot_cover){.far = NAN, .expected = NAN, .most = NAN};
    if (!cover_check(f, id, n) || n < 1)
        return mo_code_of(f->ctx);
    int64_t labelled = 0, others = 0;
    int64_t *known = cover_spread(f->ctx, f->id, f->n, &labelled), *asked = cover_spread(f->ctx, id, n, &others);
    double *nearest = known && asked ? mo_host_array(f->ctx, labelled + others, sizeof *nearest) : NULL;
    mo_tensor *L = nearest ? cover_kept_rows(f, known, labelled) : NULL;
    if (mo_ok(f->ctx) && cover_nearest(f, L, known, labelled, true, nearest) &&
        cover_nearest(f, L, asked, others, false, nearest + labelled))
        cover_count(nearest, labelled, nearest + labelled, others, cover);
    mo_tensor_release(L);
    free(nearest);
    free(known);
    free(asked);
    return mo_code_of(f->ctx);
}
