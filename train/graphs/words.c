/* train/graphs/words.c - a list of texts in one block of memory, and its order. */
#include "train/graphs/words.h"
#include "tensor/hidden.h"

#include <stdlib.h>
#include <string.h>

bool mo_words_add(mo_context *ctx, mo_words *w, const char *text) {
    int64_t bytes = (int64_t)strlen(text) + 1;
    if (!mo_host_array_grow(ctx, &w->start, &w->starts, w->n + 1, sizeof *w->start) ||
        !mo_host_array_grow(ctx, &w->text, &w->room, w->bytes + bytes, 1))
        return false;
    w->start[w->n++] = w->bytes;
    memcpy(w->text + w->bytes, text, (size_t)bytes);
    w->bytes += bytes;
    return true;
}

static int word_by_text(const void *a, const void *b) {
    const mo_word *x = a, *y = b;
    int order = strcmp(x->text, y->text);
    return order ? order : (x->at > y->at) - (x->at < y->at);
}

mo_word *mo_words_sort(mo_context *ctx, const mo_words *w) {
    mo_word *sorted = mo_host_array(ctx, w->n, sizeof *sorted);
    for (int64_t i = 0; sorted && i < w->n; i++)
        sorted[i] = (mo_word){mo_words_get(w, i), i};
    if (sorted)
        qsort(sorted, (size_t)w->n, sizeof *sorted, word_by_text);
    return sorted;
}

const mo_word *mo_words_find(const mo_word *sorted, int64_t n, const char *text) {
    int64_t low = 0, high = n;
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (strcmp(sorted[middle].text, text) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low < n && strcmp(sorted[low].text, text) == 0 ? &sorted[low] : NULL;
}

void mo_words_release(mo_words *w) {
    free(w->start);
    free(w->text);
    *w = (mo_words){0};
}
