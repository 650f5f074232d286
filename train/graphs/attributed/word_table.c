/* train/graphs/attributed/word_table.c - an open-addressed table of texts. The hash decides no order and no result. */
#include "train/graphs/attributed/word_table.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

enum { FIRST_SLOTS = 64 };

/* The slot of a text: where it is, or where it would be put. */
static int64_t slot_of(const mo_word_table *t, const char *text) {
    uint64_t at = XXH3_64bits(text, strlen(text)), mask = (uint64_t)t->slots - 1;
    while (t->slot[at & mask] && strcmp(mo_words_get(&t->words, t->slot[at & mask] - 1), text) != 0)
        at++;
    return (int64_t)(at & mask);
}

int64_t mo_word_table_find(const mo_word_table *t, const char *text) {
    return t->slots ? t->slot[slot_of(t, text)] - 1 : -1;
}

static bool grow_table(mo_context *ctx, mo_word_table *t) {
    int64_t slots = t->slots ? 2 * t->slots : FIRST_SLOTS, *slot = mo_host_array(ctx, slots, sizeof *slot);
    if (!slot)
        return false;
    free(t->slot);
    t->slot = slot;
    t->slots = slots;
    for (int64_t i = 0; i < t->words.n; i++)
        t->slot[slot_of(t, mo_words_get(&t->words, i))] = i + 1;
    return true;
}

bool mo_word_table_add(mo_context *ctx, mo_word_table *t, const char *text) {
    if ((2 * t->words.n >= t->slots && !grow_table(ctx, t)) || !mo_words_add(ctx, &t->words, text))
        return false;
    t->slot[slot_of(t, text)] = t->words.n;
    return true;
}

void mo_word_table_release(mo_word_table *t) {
    mo_words_release(&t->words);
    free(t->slot);
    *t = (mo_word_table){0};
}
