/* tests/fuzz/fuzz_loader.c - any bytes as what a loader of graphs reads, plain or gzipped: one file, or the FILES of a
 * folder, each but the last ended by '|' and those behind the end of the bytes missing. LOAD(path) is the loader's
 * call. */
#include "fuzz_files.h"
#include "fuzz_graph.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    int64_t live;
    mo_context *ctx = fuzz_start(&live);
#ifdef FILES
    static const char *const names[] = {FILES};
    fuzz_folder folder;
    fuzz_open(&folder, names, sizeof names / sizeof *names, data, size);
    fuzz_finish_graph(ctx, live, LOAD(folder.path));
    fuzz_remove(&folder);
#else
    char path[64];
    int fd = fuzz_file(data, size, path, sizeof path);
    fuzz_finish_graph(ctx, live, LOAD(path));
    close(fd);
#endif
    return 0;
}
