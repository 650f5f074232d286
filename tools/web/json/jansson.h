/* tools/web/json/jansson.h - the part of JSON that lessons and the page write (json.c); a value is its text. The names
 * are jansson's, the library that the program uses elsewhere. */
#ifndef JANSSON_H
#define JANSSON_H

typedef struct json_t json_t;
typedef long long json_int_t;
typedef struct json_error_t {
    char text[160];
} json_error_t;

json_t *json_object(void);
json_t *json_array(void);
json_t *json_null(void);
json_t *json_string(const char *text);
json_t *json_integer(json_int_t value);
json_t *json_real(double value); /* written with 17 digits; must be finite */
/* For formats of {s:s, s:o, s:i, s:f, s:b}; takes ownership of the objects. */
json_t *json_pack(const char *format, ...);
/* These take ownership of their last argument. */
int json_array_append_new(json_t *array, json_t *value);
int json_object_set_new(json_t *object, const char *key, json_t *value);
int json_object_update_new(json_t *object, json_t *members);
void json_decref(json_t *value);
/* Returns the value's text with all brackets closed, valid until the value is freed. */
const char *json_text(json_t *value);

#endif
