/* train/features/pairs/pair_rows.c - rows of links: the columns of pair_reader.c, standardised over the pairs;
 * "block_moments", "extras_moments", "walks_moments" and "matches_moments" hold the moments. */
#include "tensor/hidden.h"
#include "train/features/pairs/pair_reader.h"

#include <stdlib.h>
#include <string.h>

/* The ends of the positives, then of the negatives; owned. */
static bool list_pairs(mo_context *ctx, const mo_links *links, int64_t *end[2]) {
    for (int side = 0; side < 2; side++) {
        end[side] = mo_host_array(ctx, links->n_positive + links->n_negative, sizeof(int64_t));
        if (!end[side])
            return false;
        memcpy(end[side], links->positive[side], (size_t)links->n_positive * sizeof(int64_t));
        memcpy(end[side] + links->n_positive, links->negative[side], (size_t)links->n_negative * sizeof(int64_t));
    }
    return true;
}

/* Standardises rows, and stores them and their moments under two names. */
static void write_rows(mo_features *f, mo_rows r, double epsilon, mo_tensor *rows, const char *name) {
    mo_context *ctx = f->arrays->ctx;
    float *moments = mo_host_array(ctx, 2 * r.outer * r.w, sizeof *moments);
    mo_tensor *kept = mo_own_array(f, name, 3, (int64_t[]){2, r.outer, r.w});
    if (mo_ok(ctx)) {
        mo_standardize(r, NULL, 0, epsilon, moments);
        mo_tensor_write(kept, moments, (size_t)(2 * r.outer * r.w) * sizeof *moments);
        mo_tensor_write(rows, r.x, (size_t)(r.outer * r.n * r.w) * sizeof *r.x);
    }
    free(moments);
}

static void store_pairs(mo_pair_reader *r, const mo_pair_list *list, mo_pair_values *x, mo_features *f) {
    int64_t n = list->n, hops = r->hops + 1;
    mo_tensor *blocks = mo_own_array(f, "blocks", 4, (int64_t[]){MO_BLOCKS, hops, n, r->n_bands});
    mo_tensor *spectrum = mo_own_array(f, "spectrum", 2, (int64_t[]){MO_BLOCKS, r->n_bands});
    mo_tensor *extras = mo_own_array(f, "extras", 2, (int64_t[]){n, r->n_extras});
    mo_tensor *walks = mo_own_array(f, "walks", 2, (int64_t[]){n, MO_WALK_COLUMNS});
    mo_tensor *matches = mo_own_array(f, "matches", 2, (int64_t[]){n, MO_MATCH_COLUMNS});
    if (!mo_ok(r->ctx) || mo_pair_reader_read(r, list, x) != MO_OK)
        return;
    mo_rows of_bands = {x->bands, MO_BLOCKS * hops, n, r->n_bands};
    mo_pair_reader_spectrum(r, spectrum);
    write_rows(f, of_bands, MO_BLOCK_EPSILON, blocks, "block_moments");
    write_rows(f, (mo_rows){x->extras, 1, n, r->n_extras}, MO_EXTRAS_EPSILON, extras, "extras_moments");
    write_rows(f, (mo_rows){x->walks, 1, n, MO_WALK_COLUMNS}, MO_EXTRAS_EPSILON, walks, "walks_moments");
    write_rows(f, (mo_rows){x->matches, 1, n, MO_MATCH_COLUMNS}, MO_EXTRAS_EPSILON, matches, "matches_moments");
}

bool mo_pair_rows(const mo_links *links, const mo_feature_options *o, mo_features *f) {
    mo_context *ctx = links->masked->ctx;
    mo_pair_reader *r = mo_pair_reader_open(links->masked, o);
    int64_t n = links->n_positive + links->n_negative, *end[2] = {NULL, NULL};
    mo_pair_values x = {0};
    if (r && list_pairs(ctx, links, end) && mo_pair_values_reserve(r, n, &x)) {
        store_pairs(r, &(mo_pair_list){r->graph, n, end}, &x, f);
        f->svd_residual = r->basis.svd_residual;
        f->svd_orthogonality = r->basis.svd_orthogonality;
        f->from_cache = r->basis.from_cache;
    }
    mo_pair_reader_release(r);
    mo_pair_values_release(&x);
    free(end[0]);
    free(end[1]);
    return mo_ok(ctx);
}
