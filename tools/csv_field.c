/* tools/csv_field.c - fields of CSV and TSV. */
#include "tools/csv_field.h"

#include <string.h>

void put_csv_field(FILE *out, const char *text) {
    if (!strpbrk(text, ",\t\"\n\r")) {
        fputs(text, out);
        return;
    }
    putc('"', out);
    for (; *text; text++) {
        if (*text == '"')
            putc('"', out);
        putc(*text, out);
    }
    putc('"', out);
}
