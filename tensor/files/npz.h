/* tensor/files/npz.h - what reader and writer of .npz share: errors of libzip (library internal). */
#ifndef MO_NPZ_H
#define MO_NPZ_H

#include "tensor/inside.h"

#include <zip.h>

bool mo_zip_out_of_memory(const zip_error_t *error);
/* Raises what libzip says, after label and what; code unless it lacks memory or a feature. Always false. */
bool mo_zip_failed(mo_context *ctx, mo_code code, const char *label, const char *what, zip_error_t *error);

#endif
