/* tools/versions.h - versions of the loaded libraries. */
#ifndef VERSIONS_H
#define VERSIONS_H

#include <jansson.h>

/* A new object: library names, "mochi" first, with their versions, "" if unknown. */
json_t *library_versions(void);
/* OpenBLAS's description of its build; "" if another library implements CBLAS. */
const char *blas_build(void);

#endif
