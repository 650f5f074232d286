/* tensor/files/number_text.h - numbers as text, written and read with a point whatever locale the host has set (library
 * internal).
 *
 * printf, strtod and jansson take the decimal separator from the locale: under LC_NUMERIC=de_DE they write "0,25" and
 * read no more of "0.25" than the 0. The functions here do their work in the locale C. It is set for the calling thread
 * alone (uselocale) and put back before they return. */
#ifndef MO_NUMBER_TEXT_H
#define MO_NUMBER_TEXT_H

#include "tensor/inside.h"
#include "tensor/platform.h"

#include <jansson.h>
#include <locale.h>
#include <stdarg.h>
#include <stddef.h>

/* Gives the calling thread the locale "C". Returns the locale to put back. Every libc holds that locale ready, so this
 * allocates nothing and cannot fail. */
locale_t mo_locale_enter_c(void);
void mo_locale_leave_c(locale_t before);

/* As snprintf and vsnprintf; to be used for every format with %e, %f or %g. */
int mo_format(char *buffer, size_t bytes, const char *format, ...) __attribute__((format(printf, 3, 4)));
int mo_format_list(char *buffer, size_t bytes, const char *format, va_list list) __attribute__((format(printf, 3, 0)));
/* As strtod, but decimal: of "0x10" only the 0 is read, as in a table such a word is a name or a mistake. */
double mo_read_number(const char *text, char **end);

/* json_loadb and json_dumps. To be used for all JSON, because jansson ends the process (by an assert) at a number with
 * a point if the locale's separator has several bytes, as in ps_AF. error may be NULL. If memory runs out,
 * mo_json_decode returns NULL with the text "out of memory" and the code json_error_out_of_memory in error; jansson
 * itself would report damage where there is none, or return a value with letters missing from its strings. */
json_t *mo_json_decode(const char *text, size_t n, size_t flags, json_error_t *error);
/* Returns the decoded metadata of a file; NULL if there are none or they are not JSON. Raises if memory runs out. */
json_t *mo_json_metadata(mo_context *ctx, const char *label, const char *text);
/* The code for an error of mo_json_decode: MO_MEMORY or MO_FORMAT. */
mo_code mo_json_code(const json_error_t *error);
char *mo_json_encode(const json_t *value, size_t flags);

#endif
