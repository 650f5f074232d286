/* train/graphs/label_column.h - one label per row, as numbers, from an array or from text (library internal). */
#ifndef MO_LABEL_COLUMN_H
#define MO_LABEL_COLUMN_H

#include "train/graph.h"
#include "train/graphs/node_names.h"

/* Zero-initialise; release. */
typedef struct mo_label_column {
    int64_t n, *value; /* [n]; negative: unlabelled */
    int64_t empty;     /* number of empty texts at the end, which can be lines behind the last row */
    int64_t names;
    char **name;  /* [names]: texts of the values 0 .. names - 1; NULL: labels are numbers */
    mo_words row; /* [n]: what a table has in its first column, beside the labels; else empty */
} mo_label_column;

/* Takes numbers [n] or [n, 1] of any dtype, which must be whole. False on failure; name starts the message. */
bool mo_label_column_of(const mo_tensor *label, const char *name, mo_label_column *column);
/* Reads a file's labels: an array of numbers or texts (.npy; numbers from .npz and .safetensors, where FILE:NAME picks
 * an array); .txt with one label per line; .csv or .tsv with a header: the only column, the one named `label`, or NAME
 * of FILE:NAME. Texts that are all whole numbers become these numbers; other texts are classes in byte order; text of
 * mo_plain_label that is empty is unlabelled. A real number is an error. False on failure. */
bool mo_label_column_read(mo_context *ctx, const char *path, mo_label_column *column);
/* Takes labels from texts (of mo_plain_label): whole numbers if all texts are, else class names. A real number counts
 * as a name. Raises if two texts spell one number (1 and 01); path starts the message. */
bool mo_label_column_of_texts(mo_context *ctx, const char *path, const mo_words *words, mo_label_column *column);
/* One rule for texts as labels, in every file: "" for what marks the unknown (mo_is_unknown, and any negative whole
 * number), 1 for 1.0, else the text itself. A number of up to 63 digits is written to plain. */
const char *mo_plain_label(const char *text, char plain[64]);
/* The marks of the unknown that a file has, and how often. Zero-initialise. */
typedef struct mo_unknown_marks {
    char text[6][12];
    int64_t n[6], kinds, empty, others;
} mo_unknown_marks;
void mo_unknown_marks_count(mo_unknown_marks *marks, const char *text);
/* Notes how many of a file's lines have no class, and what marks that, if there are any. False when out of memory. */
bool mo_unknown_marks_note(mo_context *ctx, const mo_unknown_marks *marks, const char *path, int64_t rows, char **note);
/* Whether a text is a number that is not whole: a value for regression, not a class. */
bool mo_is_real_text(const char *text);
/* Drops empty texts behind the first n labels; returns whether there are n labels. */
bool mo_label_column_fits(mo_label_column *column, int64_t n);
/* Puts the labels, read from the file at path, in the order of the graph's examples: by a table's first column or the
 * names beside the file, or else as mo_rows_of_examples says. An example that has no row is unlabelled. False after
 * raising. */
bool mo_label_column_bind(mo_label_column *column, const mo_graph *graph, const char *path, bool listed);
void mo_label_column_release(mo_label_column *column);

/* Reads FILE or FILE:NAME into a tensor; returns the null tensor on failure. */
mo_tensor *mo_array_read(mo_context *ctx, const char *path);
/* Reads rows [nodes, w], put in the order of the nodes of a single graph by the names beside the file, or else as
 * mo_rows_of_examples says; rows of other shapes stay as they are. Returns the null tensor on failure. */
mo_tensor *mo_node_rows_read(const mo_graph *graph, const char *path);

#endif
