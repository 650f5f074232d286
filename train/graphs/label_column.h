/* train/graphs/label_column.h - one label a row, as numbers, from an array or from text (library internal). */
#ifndef MO_LABEL_COLUMN_H
#define MO_LABEL_COLUMN_H

#include "train/graphs/words.h"

/* Zero-initialise; release. */
typedef struct mo_label_column {
    int64_t n, *value; /* [n]; negative: unlabelled */
    int64_t empty;     /* how many at the end are empty texts, which may be lines behind the last row */
    int64_t names;
    char **name; /* [names]: of the values 0 .. names - 1; NULL: the values are what was given */
} mo_label_column;

/* Numbers [n] or [n, 1] of any dtype, which must be whole. False on failure; name starts the message. */
bool mo_label_column_of(const mo_tensor *label, const char *name, mo_label_column *column);
/* Labels of a file: an array of numbers or of texts (.npy; numbers from .npz and .safetensors, FILE:NAME takes one
 * array of several); .txt, one label a line; .csv or .tsv with a header, whose column is the only one, the one of the
 * name `label`, or that of FILE:NAME. Texts that are all whole numbers are those numbers; others are classes in the
 * order of their bytes, and an empty one is unlabelled. A real number is refused. False on failure. */
bool mo_label_column_read(mo_context *ctx, const char *path, mo_label_column *column);
/* The same of texts, of which a real number is one: the numbers that they are where all are whole, else classes. */
bool mo_label_column_of_texts(mo_context *ctx, const mo_words *words, mo_label_column *column);
/* Drops empty texts behind the first n labels; returns whether there are n labels. */
bool mo_label_column_fits(mo_label_column *column, int64_t n);
void mo_label_column_release(mo_label_column *column);

/* Reads FILE or FILE:NAME into a tensor; returns the null tensor on failure. */
mo_tensor *mo_array_read(mo_context *ctx, const char *path);

#endif
