/* train/run/description.h - a JSON object that is built from parts, whole or not at all (library internal). */
#ifndef MO_DESCRIPTION_H
#define MO_DESCRIPTION_H

#include <jansson.h>
#include <stdbool.h>

/* A jansson object, and whether memory sufficed for all of its members so far. */
typedef struct mo_description {
    json_t *object;
    bool whole;
} mo_description;

/* A description that starts from `object` (NULL: out of memory), which it takes over. */
static inline mo_description mo_description_of(json_t *object) {
    return (mo_description){object, object};
}
/* Adds value, which it takes over, as member `key` or (key NULL) as a list's next element. value NULL: out of
 * memory. */
static inline void mo_describe(mo_description *d, const char *key, json_t *value) {
    d->whole &= !(key ? json_object_set_new(d->object, key, value) : json_array_append_new(d->object, value));
}
/* Returns the object, owned by the caller. If a member is missing, frees the object and returns NULL. */
static inline json_t *mo_description_end(const mo_description *d) {
    if (d->whole)
        return d->object;
    json_decref(d->object);
    return NULL;
}

#endif
