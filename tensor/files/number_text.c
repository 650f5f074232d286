/* tensor/files/number_text.c - printf, strtod and jansson in the locale C. */
#include "tensor/files/number_text.h"

#include <locale.h>
#include <stdio.h>
#include <stdlib.h>

/* Gives the calling thread the locale C. Returns the locale to put back. The C libraries keep C ready: this allocates
 * nothing and cannot fail. */
static locale_t enter_c(void) {
    return uselocale(newlocale(LC_ALL_MASK, "C", (locale_t)0));
}

static void leave_c(locale_t before) {
    locale_t c = uselocale(before);
    if (c != before)
        freelocale(c);
}

int mo_format_list(char *buffer, size_t bytes, const char *format, va_list list) {
    locale_t before = enter_c();
    int n = vsnprintf(buffer, bytes, format, list);
    leave_c(before);
    return n;
}

int mo_format(char *buffer, size_t bytes, const char *format, ...) {
    va_list list;
    va_start(list, format);
    int n = mo_format_list(buffer, bytes, format, list);
    va_end(list);
    return n;
}

double mo_read_number(const char *text, char **end) {
    locale_t before = enter_c();
    double value = strtod_l(text, end, uselocale((locale_t)0));
    leave_c(before);
    return value;
}

json_t *mo_json_decode(const char *text, size_t n, size_t flags, json_error_t *error) {
    locale_t before = enter_c();
    json_t *value = json_loadb(text, n, flags, error);
    leave_c(before);
    return value;
}

char *mo_json_encode(const json_t *value, size_t flags) {
    locale_t before = enter_c();
    char *text = json_dumps(value, flags);
    leave_c(before);
    return text;
}
