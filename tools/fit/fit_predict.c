/* tools/fit/fit_predict.c - `mochi fit` as a tool rather than a measurement: one head, kept and applied to rows that
 * have no labels. */
#include "tools/fit/fit.h"
#include "tools/memory.h"
#include "tools/predict/predict.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static void print_fit_summary(const mo_row_readout *r) {
    fprintf(stderr, "%s on %" PRId64 " rows of %" PRId64 ", %" PRId64 " classes", r->head->name, mo_dim(r->Z, 0),
        mo_dim(r->Z, 1), r->classes);
    if (!isnan(r->value))
        fprintf(stderr, ", regularisation %.3g chosen by its held-out rows", r->value);
    if (r->held_out)
        fprintf(stderr, "; held out in turn, %" PRId64 " of %" PRId64 " are predicted right: %.1f%%", r->right,
            r->held_out, 100.0 * (double)r->right / (double)r->held_out);
    fputc('\n', stderr);
}

/* Predicts the rows of a file and writes them. */
static bool predict_rows(mo_context *ctx, const fit_options *o, const mo_row_readout *r) {
    mo_tensor *rows = mo_embedding_rows_read(ctx, o->predict);
    if (!mo_ok(ctx)) {
        mo_tensor_release(rows);
        return false;
    }
    int64_t m = mo_dim(rows, 0);
    double *probability = needed(malloc((size_t)(m * r->classes) * sizeof *probability + 1));
    int64_t *id = needed(malloc((size_t)m * sizeof *id + 1));
    mo_graph *numbers = mo_graph_from_edges(ctx, "rows", m, 0, NULL, NULL);
    predictions p = {.graph = numbers,
        .n = m,
        .classes = r->classes,
        .id = id,
        .probability = probability,
        .name = r->name,
        .what = "row",
        .all = o->probabilities,
        .least = o->least};
    for (int64_t i = 0; i < m; i++)
        id[i] = i;
    bool written = mo_row_readout_probabilities(r, rows, probability) == MO_OK;
    if (written && !o->quiet)
        print_number_of_predictions(&p);
    written = written && write_predictions(ctx, &p, o->out);
    mo_graph_release(numbers);
    mo_tensor_release(rows);
    free(probability);
    free(id);
    return written;
}

bool use_fit(mo_context *ctx, const fit_options *o, const mo_embeddings *E) {
    mo_row_readout r = {0};
    bool fine = E ? mo_row_readout_fit(E, o->heads[0], &o->fit, &r) == MO_OK : load_row_readout(ctx, o->readout, &r);
    if (fine && E && !o->quiet)
        print_fit_summary(&r);
    fine = fine && (!o->save || save_row_readout(ctx, o->save, &r)) && (!o->predict || predict_rows(ctx, o, &r));
    mo_row_readout_release(&r);
    return fine;
}
