/* tests/fuzz/fuzz_manifest.c - any bytes as the manifest of known data sets. */
#include "fuzz_files.h"
#include "tools/data/manifest.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const char *const names[] = {"manifest.json"};
    fuzz_folder folder;
    char path[160];
    int64_t live;
    fuzz_open(&folder, names, 1, data, size);
    mo_context *ctx = fuzz_start(&live);
    manifest *m = manifest_read(ctx, fuzz_path(&folder, names[0], path));
    bool read = m;
    for (int i = 0; m && i < m->count; i++) {
        const manifest_entry *e = &m->entries[i];
        if (!e->name || !e->name[0] || manifest_look(m, e->name) == NULL || (e->path && !is_safe_path(e->path)))
            abort();
        for (int k = 0; k < e->n_files; k++)
            if (!is_safe_path(e->files[k].path))
                abort();
    }
    manifest_release(m);
    fuzz_finish(ctx, live, read);
    fuzz_remove(&folder);
    return 0;
}
