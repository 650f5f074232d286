/* tools/report/report_aggregate.c - writes the end of a suite's section: the paper's normalised aggregate of each
 * method, and the tasks that could not run. */
#include "tools/report/report.h"

void report_aggregates(report *r) {
    static const char *const tasks[] = {"nc", "lp", "gc"};
    const json_t *lines = r->lines[LINE_AGGREGATE], *absent = r->lines[LINE_ABSENT];
    if (json_array_size(lines))
        fputs("<h3>Normalised aggregate S: the mean share of the best figure of any method on a cell</h3>\n"
              "<div class='wide'><table>\n<tr><th>features</th><th class='t'>head</th><th>S</th><th>nodes</th>"
              "<th>links</th><th>graphs</th></tr>\n",
            r->page);
    for (size_t i = 0; i < json_array_size(lines); i++) {
        const json_t *line = json_array_get(lines, i);
        fputs("<tr><td>", r->page);
        put_text(r->page, text_of(line, "features"));
        fputs("</td><td class='t'>", r->page);
        put_text(r->page, text_of(line, "head"));
        fputs("</td>", r->page);
        put_number(r->page, number_of(line, "S"), 3);
        for (int task = 0; task < 3; task++)
            put_number(r->page, number_of(json_object_get(line, tasks[task]), "S"), 3);
        fputs("</tr>\n", r->page);
    }
    fputs(json_array_size(lines) ? "</table></div>\n" : "", r->page);
    for (size_t i = 0; i < json_array_size(absent); i++) {
        fputs("<p class='soft'>Not run: ", r->page);
        put_text(r->page, text_of(json_array_get(absent, i), "data"));
        fputs(", ", r->page);
        put_text(r->page, text_of(json_array_get(absent, i), "reason"));
        fputs("</p>\n", r->page);
    }
}
