/* tensor/files/fields.c - checks, writes and reads the members of a struct of options by their table. */
#include "tensor/files/fields.h"

#include "tensor/files/number_text.h"
#include "tensor/library.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const mo_field *mo_field_find(const mo_field *table, const char *key, size_t *outer) {
    size_t at = 0;
    for (const mo_field *f = table; f && key && f->kind; f++) {
        const mo_field *found = f->kind == MO_FIELD_STRUCT ? mo_field_find(f->table, key, &at)
                                : strcmp(f->key, key)      ? NULL
                                                           : f;
        if (outer && found)
            *outer = found == f ? 0 : f->at + at;
        if (found)
            return found;
    }
    return NULL;
}

/* ---- words ---- */

/* Writes word i of the choices to text; returns false if there are fewer. */
static bool word_at(const char *choices, int64_t i, char *text, size_t bytes) {
    for (; *choices && i > 0; i--) {
        choices += strcspn(choices, "|");
        choices += *choices == '|';
    }
    snprintf(text, bytes, "%.*s", (int)strcspn(choices, "|"), choices);
    return i == 0 && *text;
}

/* The index of a word among the choices; -1 if it is none of them. */
static int index_of(const char *choices, const char *word) {
    char choice[64];
    for (int i = 0; word && word_at(choices, i, choice, sizeof choice); i++)
        if (!strcmp(choice, word))
            return i;
    return -1;
}

const char *mo_field_expected(const mo_field *f, char *text, size_t bytes) {
    char word[64], next[64];
    bool real = f && f->kind == MO_FIELD_REAL;
    size_t used = 0;
    if (!f || !text)
        return "";
    switch (f->kind) {
    case MO_FIELD_EITHER:
    case MO_FIELD_CHOICE:
        for (int i = 0; word_at(f->choices, i, word, sizeof word) && used < bytes; i++) {
            bool last = !word_at(f->choices, i + 1, next, sizeof next);
            used += (size_t)snprintf(text + used, bytes - used, "%s%s", i == 0 ? "" : last ? " or " : ", ", word);
        }
        return text;
    case MO_FIELD_INT:
    case MO_FIELD_INT64:
    case MO_FIELD_REAL:
        if (f->high)
            mo_format(text, bytes, real ? "a number from %g to %g" : "an integer from %.0f to %.0f", f->low, f->high);
        else
            mo_format(text, bytes, real ? "a number of at least %g" : "an integer of at least %.0f", f->low);
        return text;
    case MO_FIELD_SEED:
        snprintf(text, bytes, "an integer from 0 to %" PRIu64, UINT64_MAX);
        return text;
    case MO_FIELD_POSITIVE:
        snprintf(text, bytes, "a number above 0");
        return text;
    case MO_FIELD_RANGE:
        snprintf(text, bytes, "A:B with 1 <= A <= B, or one number");
        return text;
    default:
        mo_format(text, bytes, f->kind == MO_FIELD_STRUCT ? "an object" : "%.0f integers of at least 0", f->high);
        return text;
    }
}

/* ---- checks ---- */

static bool within(const mo_field *f, double value) {
    bool whole = f->kind == MO_FIELD_INT || f->kind == MO_FIELD_INT64;
    double most = f->high ? f->high : f->kind == MO_FIELD_INT ? (double)INT_MAX : HUGE_VAL;
    if (!isfinite(value) || (whole && value != trunc(value)))
        return false;
    return f->kind == MO_FIELD_POSITIVE ? value > 0 : value >= f->low && value <= most;
}

static bool range_is_valid(const int64_t range[2]) {
    return 1 <= range[0] && range[0] <= range[1] && range[1] <= INT32_MAX;
}

double mo_field_number(const mo_field *f, const void *options) {
    if (!f || !options)
        return NAN;
    const void *member = (const char *)options + f->at;
    bool real = f->kind == MO_FIELD_REAL || f->kind == MO_FIELD_POSITIVE;
    return real                        ? *(const double *)member
           : f->kind == MO_FIELD_INT   ? *(const int *)member
           : f->kind == MO_FIELD_INT64 ? (double)*(const int64_t *)member
                                       : NAN;
}

/* Whether a member has a value in its range. */
static bool is_valid(const mo_field *f, const void *options) {
    const void *member = (const char *)options + f->at;
    char word[64];
    switch (f->kind) {
    case MO_FIELD_CHOICE:
        return *(const int *)member >= f->low &&
               word_at(f->choices, *(const int *)member - (int)f->low, word, sizeof word);
    case MO_FIELD_RANGE:
        return range_is_valid(member);
    case MO_FIELD_INT:
    case MO_FIELD_INT64:
    case MO_FIELD_REAL:
    case MO_FIELD_POSITIVE:
        return within(f, mo_field_number(f, options));
    default:
        return true;
    }
}

bool mo_fields_check(mo_context *ctx, const char *label, const mo_field *table, const void *options) {
    char value[64], expected[160];
    if (!mo_given(ctx, "fields", "the table", table) || !mo_given(ctx, "fields", "the options", options))
        return false;
    for (const mo_field *f = table; f->kind && mo_ok(ctx); f++) {
        if (f->kind == MO_FIELD_STRUCT)
            mo_fields_check(ctx, label, f->table, (const char *)options + f->at);
        else if (!is_valid(f, options))
            mo_fail(ctx, MO_INVALID, "%s: %s is %s, expected %s", label, f->key,
                mo_field_text(f, options, value, sizeof value), mo_field_expected(f, expected, sizeof expected));
    }
    return mo_ok(ctx);
}

/* ---- writing ---- */

const char *mo_field_text(const mo_field *f, const void *options, char *text, size_t bytes) {
    if (!f || !options || !text)
        return "";
    const void *member = (const char *)options + f->at;
    const int64_t *whole = member;
    switch (f->kind) {
    case MO_FIELD_EITHER:
        word_at(f->choices, *(const bool *)member, text, bytes);
        return text;
    case MO_FIELD_CHOICE:
        if (!is_valid(f, options) || !word_at(f->choices, *(const int *)member - (int)f->low, text, bytes))
            snprintf(text, bytes, "%d", *(const int *)member);
        return text;
    case MO_FIELD_INT:
        snprintf(text, bytes, "%d", *(const int *)member);
        return text;
    case MO_FIELD_INT64:
        snprintf(text, bytes, "%" PRId64, *whole);
        return text;
    case MO_FIELD_SEED:
        snprintf(text, bytes, "%" PRIu64, *(const uint64_t *)member);
        return text;
    case MO_FIELD_RANGE:
        if (whole[0] == whole[1])
            snprintf(text, bytes, "%" PRId64, whole[0]);
        else
            snprintf(text, bytes, "%" PRId64 ":%" PRId64, whole[0], whole[1]);
        return text;
    default:
        mo_format(text, bytes, "%.17g", *(const double *)member);
        return text;
    }
}

static json_t *factors(const mo_field *f, const int *factor) {
    json_t *list = json_array();
    for (int i = 0; i < (int)f->high && list; i++)
        if (json_array_append_new(list, json_integer(factor[i]))) {
            json_decref(list);
            list = NULL;
        }
    return list;
}

/* A member as a JSON value; NULL if out of memory. */
static json_t *value_of(const mo_field *f, const void *options) {
    const void *member = (const char *)options + f->at;
    const int64_t *whole = member;
    double real;
    char text[64];
    json_t *object;
    switch (f->kind) {
    case MO_FIELD_STRUCT:
        object = json_object();
        if (object && mo_fields_write(f->table, member, object, false))
            return object;
        json_decref(object);
        return NULL;
    case MO_FIELD_INT:
        return json_integer(*(const int *)member);
    case MO_FIELD_INT64:
    case MO_FIELD_SEED:
        return json_integer(*whole);
    case MO_FIELD_REAL:
    case MO_FIELD_POSITIVE:
        real = *(const double *)member;
        return isfinite(real) ? json_real(real) : json_null();
    case MO_FIELD_RANGE:
        return json_pack("[I, I]", (json_int_t)whole[0], (json_int_t)whole[1]);
    case MO_FIELD_FACTORS:
        return factors(f, member);
    default:
        return json_string(mo_field_text(f, options, text, sizeof text));
    }
}

bool mo_fields_write(const mo_field *table, const void *options, json_t *object, bool as_text) {
    char text[64];
    for (const mo_field *f = table; f && options && f->kind; f++)
        if (json_object_set_new(object, f->key,
                as_text ? json_string(mo_field_text(f, options, text, sizeof text)) : value_of(f, options)))
            return false;
    return true;
}

/* ---- reading ---- */

/* Reads the integer at the start of text; *end is where it ends, or text if there is none or it does not fit. */
static int64_t scan_integer(const char *text, const char **end) {
    char *stop;
    errno = 0;
    long long value = strtoll(text, &stop, 10);
    *end = errno || !strchr("0123456789-", *text) ? text : stop;
    return value;
}

/* Reads a number of the member's kind, or its text; NaN if it is neither. */
static double number_of(const mo_field *f, const json_t *value) {
    const char *text = json_string_value(value), *end;
    char *stop;
    bool real = f->kind == MO_FIELD_REAL || f->kind == MO_FIELD_POSITIVE;
    if (!text)
        return json_is_number(value) && (real || json_is_integer(value)) ? json_number_value(value) : NAN;
    double number = real ? mo_read_number(text, &stop) : (double)scan_integer(text, &end);
    end = real ? stop : end;
    return end != text && !*end ? number : NAN;
}

static bool read_range(const json_t *value, int64_t range[2]) {
    const char *text = json_string_value(value), *end;
    json_int_t low, high;
    if (json_is_integer(value)) {
        range[0] = range[1] = json_integer_value(value);
        return range_is_valid(range);
    }
    if (text) {
        low = high = scan_integer(text, &end);
        if (end != text && *end == ':') {
            text = end + 1;
            high = scan_integer(text, &end);
        }
        if (end == text || *end)
            return false;
    } else if (json_unpack((json_t *)value, "[I, I!]", &low, &high)) {
        return false;
    }
    range[0] = low;
    range[1] = high;
    return range_is_valid(range);
}

static bool read_seed(const json_t *value, uint64_t *seed) {
    const char *text = json_string_value(value);
    if (!text) {
        *seed = (uint64_t)json_integer_value(value);
        return json_is_integer(value);
    }
    errno = 0;
    *seed = strtoull(text, NULL, 10);
    return !errno && *text && !text[strspn(text, "0123456789")];
}

static bool read_factors(const mo_field *f, const json_t *value, int *factor) {
    size_t n = (size_t)f->high;
    bool fine = json_is_array(value) && json_array_size(value) == n;
    for (size_t i = 0; i < n && fine; i++) {
        json_int_t x = json_integer_value(json_array_get(value, i));
        fine = json_is_integer(json_array_get(value, i)) && x >= 0 && x <= INT_MAX;
        factor[i] = fine ? (int)x : factor[i];
    }
    return fine;
}

bool mo_field_read(const mo_field *f, const json_t *value, void *options) {
    if (!f || !options)
        return false;
    void *member = (char *)options + f->at;
    int64_t range[2];
    uint64_t seed;
    int choice;
    double number;
    switch (f->kind) {
    case MO_FIELD_EITHER:
    case MO_FIELD_CHOICE:
        choice = index_of(f->choices, json_string_value(value));
        if (choice >= 0 && f->kind == MO_FIELD_EITHER)
            *(bool *)member = choice;
        else if (choice >= 0)
            *(int *)member = (int)f->low + choice;
        return choice >= 0;
    case MO_FIELD_RANGE:
        if (!read_range(value, range))
            return false;
        memcpy(member, range, sizeof range);
        return true;
    case MO_FIELD_SEED:
        if (!read_seed(value, &seed))
            return false;
        *(uint64_t *)member = seed;
        return true;
    case MO_FIELD_FACTORS:
        return read_factors(f, value, member);
    default:
        number = number_of(f, value);
        if (!within(f, number))
            return false;
        if (f->kind == MO_FIELD_INT)
            *(int *)member = (int)number;
        else if (f->kind == MO_FIELD_INT64)
            *(int64_t *)member = (int64_t)number;
        else
            *(double *)member = number;
        return true;
    }
}

mo_code mo_fields_read(mo_context *ctx, const char *label, const mo_field *table, const json_t *object, void *options) {
    char expected[160];
    if (!mo_given(ctx, "fields", "the table", table) || !mo_given(ctx, "fields", "the options", options))
        return mo_code_of(ctx);
    for (const mo_field *f = table; f->kind && mo_ok(ctx); f++) {
        const json_t *value = json_object_get(object, f->key);
        if (f->kind == MO_FIELD_STRUCT)
            mo_fields_read(ctx, label, f->table, value, (char *)options + f->at);
        else if (!value && !f->optional)
            mo_fail(ctx, MO_FORMAT, "%s: expected %s, found none", label, f->key);
        else if (value && !mo_field_read(f, value, options)) {
            char *found = mo_json_encode(value, JSON_ENCODE_ANY | JSON_COMPACT);
            mo_fail(ctx, MO_FORMAT, "%s: expected %s as %s, found %.60s", label, f->key,
                mo_field_expected(f, expected, sizeof expected), found ? found : "another value");
            free(found);
        }
    }
    return mo_code_of(ctx);
}
