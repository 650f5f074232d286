/* models/heads/ridge_loo.h - axes of experts and penalties (library internal). */
#ifndef MO_RIDGE_LOO_H
#define MO_RIDGE_LOO_H

#include "models/models.h"

/* X with a new axis of n equal entries, which becomes `axis` (-1: the last): a view. */
mo_tensor *mo_with_axis(mo_tape *t, mo_tensor *X, int axis, int64_t n);

#endif
