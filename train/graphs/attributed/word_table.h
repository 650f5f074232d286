/* train/graphs/attributed/word_table.h - distinct texts, numbered in the order in which they came, and found by hashing
 * (library internal). */
#ifndef MO_WORD_TABLE_H
#define MO_WORD_TABLE_H

#include "train/graphs/words.h"

/* Zero-initialise; release. */
typedef struct mo_word_table {
    mo_words words;
    int64_t *slot, slots; /* [slots], a power of two, at most half of them full: a word's number from 1, or 0 */
} mo_word_table;

/* The number of a text, or -1. */
int64_t mo_word_table_find(const mo_word_table *table, const char *text);
/* Adds a text that is not there. False when out of memory. */
bool mo_word_table_add(mo_context *ctx, mo_word_table *table, const char *text);
void mo_word_table_release(mo_word_table *table);

#endif
