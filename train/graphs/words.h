/* train/graphs/words.h - a list of texts in one block of memory, and its order (library internal). */
#ifndef MO_WORDS_H
#define MO_WORDS_H

#include "tensor/inside.h"

/* Zero-initialise; release. */
typedef struct mo_words {
    int64_t n, starts, bytes, room; /* starts, room: capacities */
    int64_t *start;                 /* [n]: where a text begins */
    char *text;                     /* each with its zero byte */
} mo_words;

/* A text of the list and its position in the list. */
typedef struct mo_word {
    const char *text;
    int64_t at;
} mo_word;

/* Copies a text to the end of the list. False when out of memory. */
bool mo_words_add(mo_context *ctx, mo_words *w, const char *text);
static inline const char *mo_words_get(const mo_words *w, int64_t i) {
    return w->text + w->start[i];
}
/* Sorts all texts by their bytes, equal ones by position; free() the result. The list must not grow afterwards. NULL on
 * failure. */
mo_word *mo_words_sort(mo_context *ctx, const mo_words *w);
/* The first of n sorted words with that text; NULL: none. */
const mo_word *mo_words_find(const mo_word *sorted, int64_t n, const char *text);
void mo_words_release(mo_words *w);

#endif
