/* tools/web/wasi/dlfcn.h - no shared object can be opened. */
#include <stddef.h>
enum { RTLD_NOW, RTLD_LOCAL };
typedef struct Dl_info {
    const char *dli_fname;
} Dl_info;
#define dladdr(address, info) ((void)(info), 0)
#define dlopen(path, mode) ((void *)NULL)
#define dlerror() "no shared object can be opened here"
#define dlsym(object, name) ((void *)NULL)
#define dlclose(object) ((void)(object))
