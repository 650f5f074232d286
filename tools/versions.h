/* tools/versions.h - versions of the libraries that are loaded. */
#ifndef VERSIONS_H
#define VERSIONS_H

#include <jansson.h>

/* A new object: a name, "mochi" first, and its version, "" where it has none. */
json_t *library_versions(void);
/* What OpenBLAS says of its build; "" where another library stands behind CBLAS. */
const char *blas_build(void);

#endif
