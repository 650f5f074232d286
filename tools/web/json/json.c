/* tools/web/json/json.c - JSON as text that grows: an array or object keeps its last bracket open until it is read or
 * put into another. A program that runs out of memory here ends, as a page without memory has nothing left to say. */
#include <jansson.h>

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct json_t {
    char *text;
    size_t n, room;
    char close; /* the bracket that is still open; 0: none, or closed */
};

static void add(json_t *v, const char *text, size_t n) {
    if (v->n + n + 1 > v->room && !(v->text = realloc(v->text, v->room = 2 * (v->n + n) + 32)))
        abort();
    memcpy(v->text + v->n, text, n);
    v->text[v->n += n] = '\0';
}

static json_t *make(const char *text, char close) {
    json_t *v = calloc(1, sizeof *v);
    if (!v)
        abort();
    v->close = close;
    add(v, text, strlen(text));
    return v;
}

const char *json_text(json_t *v) {
    if (v->close)
        add(v, &v->close, 1);
    v->close = 0;
    return v->text;
}

void json_decref(json_t *v) {
    if (v)
        free(v->text);
    free(v);
}

json_t *json_object(void) {
    return make("{", '}');
}

json_t *json_array(void) {
    return make("[", ']');
}

json_t *json_null(void) {
    return make("null", 0);
}

static void add_quoted(json_t *v, const char *text) {
    char code[8];
    add(v, "\"", 1);
    for (; *text; text++)
        if (*text == '"' || *text == '\\' || (unsigned char)*text < 32)
            add(v, code, (size_t)snprintf(code, sizeof code, "\\u%04x", (unsigned char)*text));
        else
            add(v, text, 1);
    add(v, "\"", 1);
}

json_t *json_string(const char *text) {
    json_t *v = make("", 0);
    add_quoted(v, text);
    return v;
}

json_t *json_integer(json_int_t value) {
    char text[32];
    snprintf(text, sizeof text, "%lld", value);
    return make(text, 0);
}

json_t *json_real(double value) {
    char text[40];
    snprintf(text, sizeof text, "%.17g", value);
    return make(text, 0);
}

int json_array_append_new(json_t *array, json_t *value) {
    if (array->n > 1)
        add(array, ",", 1);
    json_text(value);
    add(array, value->text, value->n);
    json_decref(value);
    return 0;
}

int json_object_set_new(json_t *object, const char *key, json_t *value) {
    if (object->n > 1)
        add(object, ",", 1);
    add_quoted(object, key);
    add(object, ":", 1);
    json_text(value);
    add(object, value->text, value->n);
    json_decref(value);
    return 0;
}

int json_object_update_new(json_t *object, json_t *members) {
    if (object->n > 1 && members->n > 1)
        add(object, ",", 1);
    add(object, members->text + 1, members->n - 1);
    json_decref(members);
    return 0;
}

json_t *json_pack(const char *format, ...) {
    json_t *object = json_object();
    va_list list;
    va_start(list, format);
    for (const char *at = strchr(format, ':'); at; at = strchr(at + 1, ':')) {
        const char *key = va_arg(list, const char *);
        json_object_set_new(object, key,
            at[1] == 's'   ? json_string(va_arg(list, const char *))
            : at[1] == 'o' ? va_arg(list, json_t *)
            : at[1] == 'f' ? json_real(va_arg(list, double))
            : at[1] == 'b' ? make(va_arg(list, int) ? "true" : "false", 0)
                           : json_integer(va_arg(list, int)));
    }
    va_end(list);
    return object;
}
