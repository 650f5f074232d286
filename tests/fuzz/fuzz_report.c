/* tests/fuzz/fuzz_report.c - any bytes as what `mochi report` reads: lines of --json; behind '|' a run's run.json, and
 * behind another its log.jsonl. The page escapes every text of them. Charts are described, not drawn. */
#include "fuzz_files.h"
#include "tools/report/report.h"
#include "tools/train/recipe.h"

/* The text of the page's sections. */
static void write_sections(report *r) {
    static void (*const sections[])(report *) = {report_predictions, report_cells, report_costs, report_trainings,
        report_fits, report_hulls, report_pitfalls, report_benches, report_repeat};
    char *text = NULL;
    size_t bytes = 0;
    r->page = open_memstream(&text, &bytes);
    for (size_t i = 0; i < sizeof sections / sizeof *sections; i++)
        sections[i](r);
    if (fclose(r->page) != 0 || strcasestr(text, "<script"))
        abort();
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const char *const names[] = {"lines.jsonl", "run.json", "log.jsonl"};
    static FILE *nothing;
    FILE *standard_error = stderr;
    fuzz_folder folder;
    char path[160], *settings = NULL;
    int64_t live;
    int files = fuzz_open(&folder, names, 3, data, size);
    report r = {.ctx = fuzz_start(&live)};
    bool fine = report_read(&r, fuzz_path(&folder, names[0], path)) == MO_OK;
    if (fine && files > 1)
        fine = report_read(&r, folder.path) == MO_OK;
    if (fine)
        write_sections(&r);
    report_release(&r);
    fuzz_finish(r.ctx, live, fine);
    recipe settled;
    mo_math math;
    nothing = nothing ? nothing : fopen("/dev/null", "w");
    stderr = nothing; /* where the line would go */
    if (files > 1 && recipe_read(&settled, folder.path, &settings, &math))
        free(settings);
    stderr = standard_error;
    fuzz_remove(&folder);
    return 0;
}
