/* tools/csv_field.h - fields of CSV and TSV. */
#ifndef CSV_FIELD_H
#define CSV_FIELD_H

#include <stdio.h>

/* Writes a field; with a comma, a tab, a quote or a line end inside it stands in quotes, which are doubled (RFC 4180).
 */
void put_csv_field(FILE *out, const char *text);

#endif
