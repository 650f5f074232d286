/* tensor/files/number_json.c - jansson in the locale C. The backends of devices contain number_text.c, and no jansson.
 */
#include "tensor/files/number_text.h"

json_t *mo_json_decode(const char *text, size_t n, size_t flags, json_error_t *error) {
    locale_t before = mo_locale_enter_c();
    json_t *value = json_loadb(text, n, flags, error);
    mo_locale_leave_c(before);
    return value;
}

char *mo_json_encode(const json_t *value, size_t flags) {
    locale_t before = mo_locale_enter_c();
    char *text = json_dumps(value, flags);
    mo_locale_leave_c(before);
    return text;
}
