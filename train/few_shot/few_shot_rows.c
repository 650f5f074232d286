/* train/few_shot/few_shot_rows.c - the embeddings of all examples as short rows, and as points of a plane.
 *
 * Rows of more than `MOST_COLUMNS` numbers are multiplied with a random matrix, which keeps inner products to about 4%
 * (Johnson and Lindenstrauss 1984). The plane is spanned by the first two principal components: with centred rows Z and
 * the eigenvectors v1, v2 of the largest eigenvalues of Z^T Z, an example's point is (z v1, z v2). */
#include "train/evaluation/evaluation.h"
#include "train/few_shot/few_shot.h"

#include "tensor/library.h"

#include <math.h>
#include <stdlib.h>

enum { MOST_COLUMNS = 512, SKETCH = 1 /* stream of random numbers */ };

/* An owned random matrix [d, MOST_COLUMNS]; NULL where rows are short enough, and on failure. */
static mo_tensor *few_shot_sketch(mo_context *ctx, int64_t d) {
    int64_t shape[] = {d, MOST_COLUMNS};
    float *x = d > MOST_COLUMNS ? mo_host_array(ctx, d * MOST_COLUMNS, sizeof *x) : NULL;
    mo_random r = mo_random_at(0, MO_PURPOSE_SVD, SKETCH);
    for (int64_t i = 0; x && i < d * MOST_COLUMNS; i++)
        x[i] = (float)(mo_random_normal(&r) / sqrt(MOST_COLUMNS));
    mo_tensor *S = x ? mo_tensor_create_from(ctx, MO_F32, 2, shape, x) : NULL;
    free(x);
    return S;
}

/* The caller's rows in float32, shortened if they are long. */
static mo_tensor *few_shot_short_given(mo_few_shot *f) {
    int64_t n = mo_dim(f->rows, 0), d = mo_dim(f->rows, 1);
    mo_tensor *S = few_shot_sketch(f->ctx, d),
              *Z = mo_tensor_create(f->ctx, MO_F32, 2, (int64_t[]){n, S ? MOST_COLUMNS : d});
    mo_tape *t = mo_tape_create(f->ctx, MO_EVAL);
    if (mo_ok(f->ctx)) {
        mo_tensor *rows = mo_cast(t, f->rows, MO_F32);
        mo_tensor_copy(Z, S ? mo_matmul(t, rows, S) : rows);
    }
    mo_tape_release(t);
    mo_tensor_release(S);
    return Z;
}

mo_tensor *mo_few_shot_short_rows(mo_few_shot *f) {
    if (!f->candidate.model)
        return few_shot_short_given(f);
    mo_tensor *S = few_shot_sketch(f->ctx, mo_embedding_width(f->candidate.model, &f->source));
    mo_tensor *Z = mo_embed_sketched(f->candidate.model, &f->source, f->max_rows, S);
    mo_tensor_release(S);
    return Z;
}

/* The first two principal directions of centred rows Z [N, r], as [r, 1] or [r, 2]. */
static mo_tensor *principal_directions(mo_tape *t, mo_tensor *Z) {
    int64_t r = mo_dim(Z, 1), first = r > 2 ? r - 2 : 0;
    mo_tensor *values, *V;
    mo_eigh(t, mo_cast(t, mo_matmul(t, mo_transpose(t, Z), Z), MO_F64), &values, &V); /* values rise */
    return mo_cast(t, mo_slice(t, V, MO_AXIS(1), first, r), MO_F32);
}

/* Points from the products P [N, components] with the directions, the larger component first. An eigenvector's sign is
 * arbitrary, so it is chosen here: the coordinate of largest magnitude, or the first of several, is positive. */
static void place_points(const double *P, int64_t N, int64_t components, double *xy) {
    for (int64_t k = 0; k < 2; k++) {
        double largest = 0;
        for (int64_t i = 0; i < N; i++) {
            xy[2 * i + k] = k < components ? P[i * components + components - 1 - k] : 0;
            largest = fabs(xy[2 * i + k]) > fabs(largest) ? xy[2 * i + k] : largest;
        }
        for (int64_t i = 0; i < N && largest < 0; i++)
            xy[2 * i + k] = -xy[2 * i + k];
    }
}

mo_code mo_few_shot_plane(mo_few_shot *f, double *xy) {
    if (!f)
        return MO_INVALID;
    if (!mo_given(f->ctx, "few-shot", "the points", xy) || !mo_ok(f->ctx))
        return mo_code_of(f->ctx);
    mo_tape *t = mo_tape_create(f->ctx, MO_EVAL);
    mo_tensor *rows = mo_few_shot_short_rows(f);
    mo_tensor *Z = mo_sub(t, rows, mo_mean(t, rows, MO_AXIS(0), MO_KEEP_AXES));
    mo_tensor *P = mo_matmul(t, Z, principal_directions(t, Z));
    double *host = mo_ok(f->ctx) ? mo_host_values(P, MO_F64) : NULL;
    if (host)
        place_points(host, mo_dim(P, 0), mo_dim(P, 1), xy);
    free(host);
    mo_tensor_release(rows);
    mo_tape_release(t);
    return mo_code_of(f->ctx);
}
