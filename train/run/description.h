/* train/run/description.h - what is made of parts as a JSON object, or not at all (library internal). */
#ifndef MO_DESCRIPTION_H
#define MO_DESCRIPTION_H

#include <jansson.h>
#include <stdbool.h>

/* An object of jansson, and whether there was memory for all of its members so far. */
typedef struct mo_description {
    json_t *object;
    bool whole;
} mo_description;

/* An empty description, or one that begins with an object that was packed; NULL: jansson lacked memory. */
static inline mo_description mo_description_of(json_t *object) {
    return (mo_description){object, object};
}
/* Adds a member, or (of a list, key NULL) an element, and takes it over; NULL: jansson lacked memory. */
static inline void mo_describe(mo_description *d, const char *key, json_t *value) {
    d->whole &= !(key ? json_object_set_new(d->object, key, value) : json_array_append_new(d->object, value));
}
/* The object, owned; NULL, and nothing left of it, where a part is missing. */
static inline json_t *mo_description_end(const mo_description *d) {
    if (d->whole)
        return d->object;
    json_decref(d->object);
    return NULL;
}

#endif
