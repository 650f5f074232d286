/* models/invariant_parts.c - lists of the invariant encoder's parts, as weights files and options write them. */

#include "models/inside.h"

#include <stdio.h>
#include <string.h>

static const char *const names[MO_INVARIANT_PARTS] = {
    "diffused", "initial", "statistics", "subtrees", "waves", "walks", "matches"};

const char *mo_invariant_part_name(mo_invariant_part part) {
    return part < MO_INVARIANT_PARTS ? names[part] : "";
}

/* The part of that name of n characters, or MO_INVARIANT_PARTS. */
static int find_part(const char *name, size_t n) {
    int part = 0;
    while (part < MO_INVARIANT_PARTS && (strlen(names[part]) != n || strncmp(names[part], name, n) != 0))
        part++;
    return part;
}

bool mo_invariant_read_parts(const char *list, unsigned *parts, char *word, size_t bytes) {
    static const char between[] = ", ";
    if (!list || !parts)
        return false;
    *parts = 0;
    for (size_t n; *(list += strspn(list, between)); list += n) {
        n = strcspn(list, between);
        int part = find_part(list, n);
        if (part == MO_INVARIANT_PARTS) {
            if (word)
                snprintf(word, bytes, "%.*s", (int)n, list);
            return false;
        }
        *parts |= 1u << part;
    }
    return true;
}

void mo_invariant_write_parts(unsigned parts, char *list, size_t bytes) {
    size_t at = 0;
    if (!list || !bytes)
        return;
    list[0] = 0;
    for (int part = 0; part < MO_INVARIANT_PARTS; part++)
        if (parts >> part & 1 && at < bytes)
            at += (size_t)snprintf(list + at, bytes - at, "%s%s", at ? " " : "", names[part]);
}
