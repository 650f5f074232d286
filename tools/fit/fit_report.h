/* tools/fit/fit_report.h - the output of `mochi fit`. */
#ifndef FIT_REPORT_H
#define FIT_REPORT_H

#include "tools/command.h"

/* Prints the number of rows without a label, if there are any. */
void fit_print_unlabelled(const mo_embeddings *E);
/* The table: a title line of the data, with the classes of an episode if the data have more, or the rows of a split;
 * column names; one line per row. */
void fit_print_title(const mo_embeddings *E, const char *rows, int64_t ways, const mo_draws *split);
void fit_print_row(const mo_fit_row *row);
/* The diagnosis: three lines, or one per class and head; rows: all rows of the table. */
void fit_print_diagnosis(
    const mo_embeddings *E, const mo_diagnosis *x, const mo_fit_row *rows, int n_rows, bool whole, double epsilon);
/* The row whose confidence differs most between the outer quarters of the norms, in one sentence. */
void fit_print_norm_line(const mo_fit_row *rows, int n_rows);

/* The same as JSON lines; returns false if a line could not be written. */
bool fit_print_row_object(const mo_fit_row *row);
bool fit_print_diagnosis_objects(const mo_embeddings *E, const mo_diagnosis *x, const mo_fit_row *rows, int n_rows);

#endif
