/* tests/fuzz/fuzz_compare.c - reads any bytes as lines of `mochi eval --json`, as `mochi compare` does. */
#include "fuzz_files.h"
#include "tools/eval/results.h"

#include <stb/stb_ds.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const char *const names[] = {"eval.jsonl"};
    fuzz_folder folder;
    char path[160], why[400] = "";
    results r;
    fuzz_open(&folder, names, 1, data, size);
    bool read = results_read(&r, fuzz_path(&folder, names[0], path), why, sizeof why);
    if (read ? !arrlen(r.items) : !why[0] || strchr(why, '\n') || strchr(why, '\033'))
        abort();
    fuzz_accepted += read;
    for (int i = 0; read && i < arrlen(r.items); i++) {
        const result *x = &r.items[i];
        if (x->n < 0 || x->k < 0 || !find_result(&r, x, x->k, x->features, x->block))
            abort();
        subtract_results(x, &r.items[0]);
    }
    results_free(&r);
    fuzz_remove(&folder);
    return 0;
}
