/* train/few_shot/few_shot_rows.c - the embeddings of all examples as short rows.
 *
 * Rows of more than `MOST_COLUMNS` numbers are multiplied with a random matrix, which keeps inner products to about 4%
 * (Johnson and Lindenstrauss 1984). */
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
