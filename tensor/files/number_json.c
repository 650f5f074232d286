/* tensor/files/number_json.c - jansson in the locale C. Not in number_text.c, because device backends contain that file
 * but no jansson. */
#include "tensor/files/number_text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Returns whether decoding the text again gives an equal value or the same error: jansson's lexer drops a character,
 * even a quote or a bracket, for which it has no memory, and the next number in the text resets errno. */
static bool decodes_again(const json_t *value, const json_error_t *error, const char *text, size_t n, size_t flags) {
    json_error_t other = {.text = ""};
    json_t *again = json_loadb(text, n, flags, &other);
    bool equal =
        value ? json_equal(value, again)
              : !again && errno != ENOMEM && other.position == error->position && !strcmp(other.text, error->text);
    json_decref(again);
    return equal;
}

json_t *mo_json_decode(const char *text, size_t n, size_t flags, json_error_t *error) {
    locale_t before = mo_locale_enter_c();
    errno = 0; /* malloc sets ENOMEM if it fails */
    json_error_t first = {.text = ""};
    json_t *value = json_loadb(text, n, flags, &first);
    bool lacked = errno == ENOMEM || !decodes_again(value, &first, text, n, flags);
    mo_locale_leave_c(before);
    if (error)
        *error = first;
    if (!lacked)
        return value;
    json_decref(value);
    if (error) {
        snprintf(error->text, sizeof error->text, "out of memory");
        error->text[sizeof error->text - 1] = json_error_out_of_memory; /* where json_error_code looks */
    }
    return NULL;
}

mo_code mo_json_code(const json_error_t *error) {
    return json_error_code(error) == json_error_out_of_memory ? MO_MEMORY : MO_FORMAT;
}

json_t *mo_json_metadata(mo_context *ctx, const char *label, const char *text) {
    json_error_t error;
    json_t *value = text ? mo_json_decode(text, strlen(text), 0, &error) : NULL;
    if (text && !value && mo_json_code(&error) == MO_MEMORY)
        mo_fail(ctx, MO_MEMORY, "%s: out of memory for its metadata", label);
    return value;
}

char *mo_json_encode(const json_t *value, size_t flags) {
    locale_t before = mo_locale_enter_c();
    size_t n = json_dumpb(value, NULL, 0, flags); /* json_dumps silently drops parts for which it has no memory */
    char *text = n ? malloc(n + 1) : NULL;
    bool whole = text && json_dumpb(value, text, n, flags) == n;
    mo_locale_leave_c(before);
    if (whole)
        text[n] = '\0';
    else
        free(text);
    return whole ? text : NULL;
}
