/* tests/fuzz/fuzz_predictions.c - any bytes as a table of `mochi predict`, and the section of the page made of it. */
#include "fuzz_files.h"
#include "tools/report/report.h"

static void write_section(report *r) {
    char *text = NULL;
    size_t bytes = 0;
    r->page = open_memstream(&text, &bytes);
    report_predictions(r);
    if (fclose(r->page) != 0 || strcasestr(text, "<script"))
        abort();
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const char *const names[] = {"predictions.csv"};
    fuzz_folder folder;
    char path[160];
    int64_t live;
    fuzz_open(&folder, names, 1, data, size);
    report r = {.ctx = fuzz_start(&live)};
    bool fine = report_read(&r, fuzz_path(&folder, names[0], path)) == MO_OK;
    if (fine)
        write_section(&r);
    report_release(&r);
    fuzz_finish(r.ctx, live, fine);
    fuzz_remove(&folder);
    return 0;
}
