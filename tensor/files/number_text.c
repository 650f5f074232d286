/* tensor/files/number_text.c - printf and strtod in the locale C. */
#include "tensor/files/number_text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

locale_t mo_locale_enter_c(void) {
    return uselocale(newlocale(LC_ALL_MASK, "C", (locale_t)0));
}

void mo_locale_leave_c(locale_t before) {
    locale_t c = uselocale(before);
    if (c != before)
        freelocale(c);
}

int mo_format_list(char *buffer, size_t bytes, const char *format, va_list list) {
    locale_t before = mo_locale_enter_c();
    int n = vsnprintf(buffer, bytes, format, list);
    mo_locale_leave_c(before);
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
    const char *digits = text + strspn(text, " \t\n\v\f\r");
    digits += *digits == '+' || *digits == '-';
    if (digits[0] == '0' && (digits[1] == 'x' || digits[1] == 'X')) {
        if (end)
            *end = (char *)(uintptr_t)(digits + 1);
        return 0;
    }
    locale_t before = mo_locale_enter_c();
    double value = strtod_l(text, end, uselocale((locale_t)0));
    mo_locale_leave_c(before);
    return value;
}
