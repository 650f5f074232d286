/* tensor/shared_object.c - opening a user's shared object for the struct that it exports. */
#include "tensor/files/file.h"
#include "tensor/platform.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#if defined(__ELF__)
/* Returns whether an ELF file ends before its segments do: the loader would map the missing part and die of SIGBUS.
 * Every other defect is reported by the loader itself. */
static bool is_cut(const char *path) {
    Elf64_Ehdr header;
    Elf64_Phdr segment;
    struct stat file;
    bool cut = false;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return false;
    if (fstat(fd, &file) == 0 && S_ISREG(file.st_mode) &&
        mo_read_at(fd, &header, sizeof header, 0) == (ssize_t)sizeof header &&
        memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 && header.e_ident[EI_CLASS] == ELFCLASS64 &&
        header.e_phentsize == sizeof segment)
        for (int i = 0; !cut && i < header.e_phnum; i++) {
            uint64_t at = header.e_phoff + (uint64_t)i * sizeof segment, size = (uint64_t)file.st_size;
            cut =
                mo_read_at(fd, &segment, sizeof segment, (int64_t)at) != (ssize_t)sizeof segment ||
                (segment.p_type == PT_LOAD && (segment.p_offset > size || segment.p_filesz > size - segment.p_offset));
        }
    close(fd);
    return cut;
}
#else
static bool is_cut(const char *path) { /* macOS's loader refuses such a file itself */
    (void)path;
    return false;
}
#endif

/* Raises the loader's reason. The library is not found if it lies in a folder that the loader does not search. */
static void fail_loading(mo_context *ctx, const char *label, const char *reason) {
    bool library = reason && strstr(reason, "libmochi.so") && strstr(reason, "cannot open shared object");
    mo_fail(ctx, MO_IO, "%s: %s%s", label, reason ? reason : "cannot be opened",
        library ? "; put its folder into LD_LIBRARY_PATH (`pkg-config --variable=libdir mochi` prints it)" : "");
}

/* dlopen, after a check that the file is whole. Returns NULL on failure. */
static void *open_object(mo_context *ctx, const char *label, const char *path) {
    void *object = NULL;
    char here[4096];
    if (!strchr(path, '/')) { /* the loader would look for a bare name in its own folders */
        snprintf(here, sizeof here, "./%s", path);
        path = here;
    }
    struct stat file;
    if (stat(path, &file) == 0 && !S_ISREG(file.st_mode)) /* the loader would wait for the writer of a pipe */
        mo_fail(ctx, MO_IO, "%s: %s: expected a shared object, found something that is not a plain file", label, path);
    else if (is_cut(path))
        mo_fail(ctx, MO_IO, "%s: %s: expected a shared object, found one cut short", label, path);
    else if (!(object = dlopen(path, RTLD_NOW | RTLD_LOCAL)))
        fail_loading(ctx, label, dlerror());
    return object;
}

const void *mo_plugin_open(
    mo_context *ctx, const char *label, const char *symbol, mo_plugin expected, const char *path, void **object) {
    *object = mo_given(ctx, label, "path", path) ? open_object(ctx, label, path) : NULL;
    const mo_plugin *plugin = *object ? dlsym(*object, symbol) : NULL;
    if (*object && !plugin)
        mo_fail(ctx, MO_FORMAT, "%s: %s exports no %s", label, path, symbol);
    else if (plugin && (plugin->abi != expected.abi || plugin->size != expected.size))
        mo_fail(ctx, MO_FORMAT,
            "%s: %s was built for version %d, structs of %zu bytes; expected %d and %zu: rebuild it", label, path,
            plugin->abi, plugin->size, expected.abi, expected.size);
    else
        return plugin;
    dlclose(*object);
    return NULL;
}
