/* train/fit/confusion.c - counts which classes a head mistakes for which. */
#include "tensor/library.h"
#include "train/inside.h"

#include <math.h>
#include <stdlib.h>

mo_code mo_confusion_count(const mo_embeddings *E, const mo_eval_row *row, mo_confusion *confusion) {
    if (confusion)
        *confusion = (mo_confusion){0};
    if (!E)
        return MO_INVALID;
    mo_context *ctx = mo_tensor_context(E->Z);
    if (!mo_given(ctx, "confusion", "confusion", confusion) || !mo_given(ctx, "confusion", "row", row) ||
        !mo_given(ctx, "confusion", "the predictions of a row", row->predicted))
        return mo_code_of(ctx);
    int64_t C = confusion->classes = E->graph->classes;
    confusion->count = mo_host_array(ctx, C * C, sizeof *confusion->count);
    const int64_t *predicted = row->predicted;
    for (int64_t i = 0; confusion->count && i < row->n_plans; i++)
        for (int64_t q = 0; q < row->plans[i].n_query; q++)
            confusion->count[E->graph->label[row->plans[i].query[0][q]] * C + *predicted++]++;
    return mo_code_of(ctx);
}

void mo_confusion_release(mo_confusion *confusion) {
    if (!confusion)
        return;
    free(confusion->count);
    *confusion = (mo_confusion){0};
}

mo_class_figures mo_confusion_class(const mo_confusion *confusion, int64_t c) {
    mo_class_figures f = {.precision = NAN, .recall = NAN, .f1 = NAN};
    if (!confusion || c < 0 || c >= confusion->classes)
        return f;
    int64_t C = confusion->classes, right = confusion->count[c * C + c];
    for (int64_t j = 0; j < C; j++) {
        f.n += confusion->count[c * C + j];
        f.predicted += confusion->count[j * C + c];
    }
    if (f.predicted)
        f.precision = (double)right / (double)f.predicted;
    if (f.n)
        f.recall = (double)right / (double)f.n;
    if (f.n + f.predicted)
        f.f1 = 2.0 * (double)right / (double)(f.n + f.predicted);
    return f;
}

int64_t mo_confusion_worst(const mo_confusion *confusion, int64_t n, int64_t *pair) {
    if (!confusion || !pair)
        return 0;
    int64_t C = confusion->classes, found = 0;
    for (int64_t i = 0; i < C * C; i++) {
        int64_t count = i / C == i % C ? 0 : confusion->count[i], at = found;
        while (at > 0 && count > confusion->count[pair[2 * at - 2] * C + pair[2 * at - 1]])
            at--;
        if (!count || at >= n)
            continue;
        found += found < n;
        for (int64_t j = found - 1; j > at; j--) {
            pair[2 * j] = pair[2 * j - 2];
            pair[2 * j + 1] = pair[2 * j - 1];
        }
        pair[2 * at] = i / C;
        pair[2 * at + 1] = i % C;
    }
    return found;
}
