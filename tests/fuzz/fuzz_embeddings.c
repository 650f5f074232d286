/* tests/fuzz/fuzz_embeddings.c - reads any bytes as the files of `mochi fit`: labels, ended by '|', then rows. If the
 * first byte is 'l' the labels are a .csv, if another letter or a digit a .txt, else an .npy array. */
#include "fuzz_files.h"
#include "train/fit.h"

#include <ctype.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const char *const names[] = {!size || !isalnum(data[0]) ? "y.npy" : data[0] == 'l' ? "y.csv" : "y.txt", "Z.npy"};
    fuzz_folder folder;
    char rows[160], labels[160];
    int64_t live;
    fuzz_open(&folder, names, 2, data, size);
    mo_context *ctx = fuzz_start(&live);
    mo_embeddings *E =
        mo_embeddings_open(ctx, fuzz_path(&folder, names[1], rows), fuzz_path(&folder, names[0], labels));
    bool read = E;
    if (E && (E->graph->nodes < 1 || E->graph->classes < 2))
        abort();
    mo_embeddings_release(E);
    fuzz_finish(ctx, live, read);
    fuzz_remove(&folder);
    return 0;
}
