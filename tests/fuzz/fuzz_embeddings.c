/* tests/fuzz/fuzz_embeddings.c - reads any bytes as the files of `mochi readouts`: labels, ended by '|', then rows. If
 * the first byte is 'l' the labels are a .csv, if another letter or a digit a .txt, else an .npy array. A .csv without
 * rows behind it is a table of rows with a column label. */
#include "fuzz_files.h"
#include "train/fit.h"
#include "train/frozen_features.h"

#include <ctype.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const char *const names[] = {!size || !isalnum(data[0]) ? "y.npy" : data[0] == 'l' ? "y.csv" : "y.txt", "Z.npy"};
    fuzz_folder folder;
    char rows[160], labels[160];
    int64_t live;
    bool table = fuzz_open(&folder, names, 2, data, size) == 1 && data[0] == 'l';
    mo_context *ctx = fuzz_start(&live);
    fuzz_path(&folder, names[0], labels);
    fuzz_path(&folder, names[1], rows);
    mo_graph *people = table ? mo_rows_open(ctx, labels, "label", &(mo_feature_options){0}) : NULL;
    mo_embeddings *E = table ? mo_embeddings_of_rows(people) : mo_embeddings_open(ctx, rows, labels);
    bool read = E;
    if (E && (E->graph->nodes < 1 || E->graph->classes < 2))
        abort();
    mo_embeddings_release(E);
    mo_graph_release(people);
    fuzz_finish(ctx, live, read);
    fuzz_remove(&folder);
    return 0;
}
