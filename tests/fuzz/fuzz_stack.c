/* tests/fuzz/fuzz_stack.c - puts any bytes into a cache as a hop stack: whatever the file holds, features equal those
 * of the graph. */
#include "fuzz_stack.h"
#include "fuzz_files.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static double expected;
    char file[MO_CACHE_NAME + 16], path[160];
    fuzz_folder folder;
    int64_t live;
    fuzz_stack_name(file);
    fuzz_open(&folder, &(const char *){"unused"}, 0, data, 0);
    mo_context *ctx = fuzz_start(&live);
    if (expected == 0) {
        expected = fuzz_open_stack(ctx, folder.path);
        unlink(fuzz_path(&folder, file, path));
    }
    fuzz_put(&folder, file, data, size);
    if (expected == 0 || fuzz_open_stack(ctx, folder.path) != expected)
        abort();
    fuzz_finish(ctx, live, true);
    fuzz_remove(&folder);
    return 0;
}
