/* tensor/files/json_text.h - JSON files that people write: what is wrong with one is said with the place of the value,
 * graphs[1].tasks[0] (library internal). */
#ifndef MO_JSON_TEXT_H
#define MO_JSON_TEXT_H

#include "tensor/files/file.h"

#include <jansson.h>

/* A file's content; owned. */
typedef struct mo_json_text {
    mo_context *ctx;
    const char *path; /* borrowed */
    json_t *root;     /* an object */
} mo_json_text;

/* A position in the text: keys of objects and (key NULL) indices of arrays, from the root on. */
typedef struct mo_json_place {
    int depth;
    struct {
        const char *key;
        size_t index;
    } step[6];
} mo_json_place;

/* Reads a file; returns false on failure. kind starts the message if the file cannot be read. */
bool mo_json_read(mo_context *ctx, const char *kind, const char *path, mo_json_text *text);
void mo_json_release(mo_json_text *text);

mo_json_place mo_json_key(mo_json_place place, const char *key);
mo_json_place mo_json_index(mo_json_place place, size_t index);

/* Raises "path: graphs[1].tasks[0]: ...". */
void mo_json_fail(const mo_json_text *text, mo_json_place place, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Checks that the object at a place has no key but these n. */
bool mo_json_only(const mo_json_text *text, mo_json_place place, const json_t *object, const char *const *keys, int n);
/* Members of the object at a place; a wrong type or value raises. An absent member that is not required reads as the
 * text
 * "", the default, or a NULL array. */
const char *mo_json_string(
    const mo_json_text *text, mo_json_place place, const json_t *object, const char *key, bool required);
double mo_json_real(const mo_json_text *text, mo_json_place place, const json_t *object, const char *key,
    const double domain[3]); /* least, most, default */
const json_t *mo_json_array(
    const mo_json_text *text, mo_json_place place, const json_t *object, const char *key, bool required);
/* The number of the text at a place among the n names; -1 and an error if it is none of them. */
int mo_json_choice(const mo_json_text *text, mo_json_place place, const json_t *value, const char *const *names, int n);

#endif
