/* models/heads/heads.c - the heads that come with the library, by name. */
#include "models/models.h"

#include <string.h>

const mo_head *mo_find_head(const char *name) {
    static const mo_head *const heads[] = {&mo_head_ridge, &mo_head_prototype, &mo_head_prototype_euclidean};
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++)
        if (!strcmp(heads[i]->name, name))
            return heads[i];
    return NULL;
}
