/* train/svd/basis.c - X0: structure and attributes of a graph's nodes in the coordinates of its own SVDs.
 *
 * Structure, of the normalised adjacency: P_A = (U + V) sqrt(S), which is 2 u sqrt(theta) for an eigenvalue theta > 0
 * and 0 for a negative one. Attributes: P_X = U sqrt(S) of X. In P_A and P_X the largest singular value comes first,
 * and zeros pad the end. In the sum P_A + P_X the columns of P_X are reversed, so that the leading directions do not
 * overlap. Side by side, each gets half of the columns, even if the graph has no attributes. */
#include "train/svd/basis.h"

#include "autograd/tape.h"
#include "ops/inside.h"
#include "tensor/files/number_text.h"
#include "train/svd/adjacency.h"
#include "train/svd/svd.h"

#include <math.h>

/* Streams of the test matrices, so that any two decompositions of a data set use different ones. */
enum { STRUCTURE, ATTRIBUTES, SIDES };

typedef mo_basis_side side;

void mo_tell_quality(const mo_feature_options *o, const mo_graph *graph, const mo_features *f) {
    char line[512];
    if (!o->notice)
        return;
    mo_format(line, sizeof line, "features: %.300s: residual of the SVD %.4f, |U'U - I| at most %.0e%s", graph->name,
        f->svd_residual, f->svd_orthogonality, f->from_cache ? " (from the cache)" : "");
    o->notice(line, o->notice_state);
}

static mo_svd_factors decompose_side(side *s, const mo_csr *M) {
    mo_svd_factors svd;
    int64_t least = M->rows < M->columns ? M->rows : M->columns;
    s->svd.rank = (int)(s->width < least ? s->width : least);
    mo_svd_compute(s->t, M, &s->svd, &svd);
    s->quality.residual = fmax(s->quality.residual, svd.residual);
    s->quality.orthogonality = fmax(s->quality.orthogonality, svd.orthogonality);
    s->S = svd.S;
    return svd;
}

static mo_tensor *basis_padded(side *s, mo_tensor *P, int64_t before, int64_t after) {
    return before + after > 0 ? mo_pad(s->t, P, MO_AXIS(1), before, after) : P;
}

mo_tensor *mo_structure_basis(side *s, const mo_csr *A) {
    mo_tape *t = s->t;
    mo_svd_factors svd = decompose_side(s, A);
    mo_tensor *weight = mo_mul(t, mo_sqrt(t, svd.S), mo_scale(t, svd.sign, 1, 1));
    mo_tensor *P = mo_mul(t, svd.U, mo_mul(t, weight, svd.column_sign));
    return basis_padded(s, P, 0, s->width - s->svd.rank);
}

/* The columns in reversed order: a view. */
static mo_tensor *reversed_columns(mo_tape *t, mo_tensor *P) {
    if (!mo_ok(t->ctx))
        return mo_null_tensor(t->ctx);
    int64_t step = P->stride[1];
    return mo_tape_window(t, P, 2, P->shape, (int64_t[]){P->stride[0], -step}, (P->shape[1] - 1) * step);
}

mo_tensor *mo_attribute_basis(side *s, const mo_csr *X, bool reversed) {
    mo_tape *t = s->t;
    mo_svd_factors svd = decompose_side(s, X);
    mo_tensor *P = mo_mul(t, svd.U, mo_mul(t, mo_sqrt(t, svd.S), svd.column_sign));
    int64_t more = s->width - s->svd.rank;
    return reversed ? basis_padded(s, reversed_columns(t, P), more, 0) : basis_padded(s, P, 0, more);
}

static mo_tensor *structure_side(side *s, const mo_graph *graph, int64_t first, int64_t n) {
    mo_csr *A = mo_normalize_block(s->t->ctx, first, n, graph->row_pointer, graph->column, graph->weight, MO_F32);
    mo_tensor *P = A ? mo_structure_basis(s, A) : mo_null_tensor(s->t->ctx);
    mo_csr_release(A);
    return P;
}

static mo_tensor *attribute_side(side *s, const mo_graph *graph, int64_t first, int64_t n, bool reversed) {
    mo_csr *X = mo_feature_block(s->t->ctx, graph, first, n);
    mo_tensor *P = X ? mo_attribute_basis(s, X, reversed) : mo_null_tensor(s->t->ctx);
    mo_csr_release(X);
    return P;
}

mo_tensor *mo_node_basis(
    mo_tape *t, const mo_graph *graph, int64_t g, const mo_feature_options *options, mo_basis_quality *quality) {
    int64_t first = graph->graph_offset[g], n = graph->graph_offset[g + 1] - first, mark = t->n_tensors;
    bool concat = options->combine == MO_COMBINE_CONCAT, has_attributes = graph->features > 0;
    int64_t half = options->dim / 2;
    side s = mo_basis_side_of(t, concat ? options->dim - half : options->dim, options, (uint64_t)g * SIDES + STRUCTURE);
    mo_tensor *X0 = structure_side(&s, graph, first, n);
    mo_tape_sweep(t, mark, &X0, 1);
    s.svd.stream = (uint64_t)g * SIDES + ATTRIBUTES;
    s.width = concat ? half : options->dim;
    if (concat && !(has_attributes && half > 0))
        X0 = mo_pad(t, X0, MO_AXIS(1), 0, half);
    else if (concat)
        X0 = mo_concat(t, (mo_tensor *[]){X0, attribute_side(&s, graph, first, n, false)}, 2, MO_AXIS(1));
    else if (has_attributes)
        X0 = mo_add(t, X0, attribute_side(&s, graph, first, n, true));
    mo_tape_sweep(t, mark, &X0, 1);
    *quality = s.quality;
    return X0;
}
