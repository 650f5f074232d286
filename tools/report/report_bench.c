/* tools/report/report_bench.c - the section of `mochi bench step`: the cost of a step, and the time of its ops. */
#include "tools/report/report.h"

#include <stdlib.h>

enum { MOST_OPS = 15 };

static int slowest_first(const void *a, const void *b) {
    double x = number_of(*(json_t *const *)a, "ms"), y = number_of(*(json_t *const *)b, "ms");
    return (x < y) - (x > y);
}

/* Writes the slowest ops of a case, with bars for their shares of the time. */
static void put_profile(report *r, const json_t *bench) {
    const json_t *lines = r->lines[LINE_OP];
    size_t n = 0;
    const json_t **ops = calloc(json_array_size(lines) + 1, sizeof *ops);
    double total = 0;
    for (size_t i = 0; ops && i < json_array_size(lines); i++)
        if (same_members(bench, json_array_get(lines, i), "#file,case")) {
            ops[n++] = json_array_get(lines, i);
            total += number_of(ops[n - 1], "ms");
        }
    if (n) {
        qsort(ops, n, sizeof *ops, slowest_first);
        fputs("<h3>Where the time of ", r->page);
        put_text(r->page, text_of(bench, "case"));
        fputs(" goes</h3>\n<div class='wide'><table>\n<tr><th>op</th><th class='t'>where</th><th>calls</th><th>ms</th>"
              "<th>GFLOP/s</th><th>%</th><th></th></tr>\n",
            r->page);
    }
    for (size_t i = 0; i < n && i < MOST_OPS; i++) {
        double ms = number_of(ops[i], "ms"), share = 100 * ms / total;
        fputs("<tr><td>", r->page);
        put_text(r->page, text_of(ops[i], "op"));
        fputs("</td><td class='t'>", r->page);
        put_text(r->page, text_of(ops[i], "where"));
        fprintf(r->page, "</td><td>%.0f</td>", number_of(ops[i], "calls"));
        put_number(r->page, ms, 1);
        put_number(r->page, ms > 0 ? 1e3 * number_of(ops[i], "gflop") / ms : NAN, 1);
        put_number(r->page, share, 1);
        fprintf(r->page, "<td class='t'><span class='bar' style='width:%.2frem'></span></td></tr>\n", share / 8);
    }
    fputs(n ? "</table></div>\n" : "", r->page);
    free(ops);
}

void report_benches(report *r) {
    const json_t *lines = r->lines[LINE_BENCH];
    if (!json_array_size(lines))
        return;
    open_section(r, "Profile of a training step");
    fputs("<div class='wide'><table>\n<tr><th>case</th><th class='t'>variant</th><th>rows</th><th>GFLOP</th><th>ms, "
          "median</th>"
          "<th>GFLOP/s</th><th>of the GEMM rate, %</th><th>peak MB</th></tr>\n",
        r->page);
    for (size_t i = 0; i < json_array_size(lines); i++) {
        const json_t *o = json_array_get(lines, i);
        double ms = number_of(o, "med_ms"), gflop = number_of(o, "gflop");
        fputs("<tr><td>", r->page);
        put_text(r->page, text_of(o, "case"));
        fputs("</td><td class='t'>", r->page);
        put_text(r->page, text_of(o, "variant"));
        fprintf(r->page, "</td><td>%.0f</td>", number_of(o, "rows"));
        put_number(r->page, gflop, 1);
        put_number(r->page, ms, 1);
        put_number(r->page, 1e3 * gflop / ms, 0);
        put_number(r->page, 100 * number_of(o, "gemm_share"), 0);
        put_number(r->page, number_of(o, "peak_mb"), 0);
        fputs("</tr>\n", r->page);
    }
    fputs("</table></div>\n", r->page);
    for (size_t i = 0; i < json_array_size(lines); i++)
        put_profile(r, json_array_get(lines, i));
    close_section(r);
}
