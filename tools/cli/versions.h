/* tools/cli/versions.h - versions of the loaded libraries. */
#ifndef VERSIONS_H
#define VERSIONS_H

#include <jansson.h>

/* Returns a new object with the version of each library, "mochi" first; "" if unknown. */
json_t *library_versions(void);
/* OpenBLAS's description of its build; "" if another library implements CBLAS. */
const char *blas_build(void);

#endif
