/* tools/cli/versions.c - the versions of the loaded libraries. */
#include "tools/cli/versions.h"

#include "tensor/inside.h"

#include <dlfcn.h>
#include <string.h>

static const struct {
    const char *name, *function;
} libraries[] = {{"zlib", "zlibVersion"}, {"libzip", "zip_libzip_version"}, {"jansson", "jansson_version_str"}};

/* oneDNN's version; "" where it is not linked. */
static json_t *onednn_version(void) {
    const int *(*version)(void); /* gives a structure that begins with major, minor and patch */
    void *address = dlsym(RTLD_DEFAULT, "dnnl_version");
    memcpy(&version, &address, sizeof version);
    const int *v = address ? version() : NULL;
    return v ? json_sprintf("%d.%d.%d", v[0], v[1], v[2]) : json_string("");
}

/* Calls a function that takes no arguments and returns a text; "" if the libraries have no such function. */
static const char *version_text_of(const char *function) {
    void *address = dlsym(RTLD_DEFAULT, function);
    const char *(*call)(void);
    memcpy(&call, &address, sizeof call);
    return address ? call() : "";
}

json_t *library_versions(void) {
    unsigned (*xxhash)(void);
    void *address = dlsym(RTLD_DEFAULT, "XXH_versionNumber");
    memcpy(&xxhash, &address, sizeof xxhash);
    unsigned v = address ? xxhash() : 0;
    json_t *versions = json_pack("{s:s}", "mochi", MO_VERSION);
    for (size_t i = 0; i < sizeof libraries / sizeof *libraries; i++)
        json_object_set_new(versions, libraries[i].name, json_string(version_text_of(libraries[i].function)));
    json_object_set_new(
        versions, "xxhash", address ? json_sprintf("%u.%u.%u", v / 10000, v / 100 % 100, v % 100) : json_string(""));
    json_object_set_new(versions, "onednn", onednn_version());
    return versions;
}

const char *blas_build(void) {
    return version_text_of("openblas_get_config");
}
