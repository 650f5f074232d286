/* autograd/print_page.c - a recorded graph as a page that steps through the run: a row for each value, forward from the
 * leaves to the loss, then backward, where gradients arrive and values are freed. The page is XML, loads nothing, and
 * without its script shows all rows. */
#include "autograd/picture.h"

#include <inttypes.h>
#include <string.h>

static const char page_head[] =
    "<!DOCTYPE html>\n<html lang=\"en\" xmlns=\"http://www.w3.org/1999/xhtml\">\n<head>\n<meta charset=\"utf-8\"/>\n"
    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; "
    "script-src 'unsafe-inline'\"/>\n"
    "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n<title>A recorded "
    "run</title>\n<style>\n"
    ":root{--paper:#fff;--ink:#1c1c1c;--soft:#5c5c5c;--line:#d9d9d9;--now:#fff2b3;--read:#dceefb;--bar:#0072b2}\n"
    "@media (prefers-color-scheme:dark){:root{--paper:#15181c;--ink:#e6e6e6;--soft:#a6adb5;--line:#363c44;"
    "--now:#4a4210;--read:#14344d;--bar:#58aee6}}\n"
    "body{margin:0 auto;max-width:90rem;padding:1rem;font:1rem/1.5 system-ui,sans-serif;color:var(--ink);"
    "background:var(--paper)}h1{font-size:1.4rem}\n"
    ".steps{position:sticky;top:0;background:var(--paper);padding:.4rem 0;display:flex;flex-wrap:wrap;gap:.5rem;"
    "align-items:center}button{font:inherit;padding:.3rem .9rem}input{flex:1 1 10rem}output{flex:1 0 100%}\n"
    ".wide{overflow-x:auto}table{border-collapse:collapse;width:100%;font-size:.9rem}\n"
    "th,td{padding:.2rem .6rem;text-align:left;vertical-align:top;border-bottom:1px solid var(--line)}\n"
    "td{overflow-wrap:anywhere}td.name,td.type{white-space:nowrap}.elements,.gradient{white-space:pre-line}\n"
    "th:nth-child(4),th:nth-child(5){width:28%}tr.section "
    "th{border-left:.3rem solid var(--bar)}\n"
    "tr.in td.name{border-left:.3rem solid var(--bar)}tr.rule "
    "td{font-style:italic}i,.state{color:var(--soft)}.state{display:block}\n"
    "tr.now{background:var(--now)}tr.read{background:var(--read)}tr.later{display:none}tr{scroll-margin:7rem 0 2rem}\n"
    "tr.freed .elements,.waits .gradient{visibility:hidden}tr.freed .state::after{content:\" freed by backward\"}\n"
    "@media (max-width:40rem){thead{display:none}tbody tr{display:block;padding:.3rem 0}tbody tr.later{display:none}\n"
    "td{display:block;border:0;padding:.05rem .6rem}td.name,td.type{white-space:normal}\n"
    "tr.freed .elements,.waits .gradient{display:none}.gradient:not(:empty)::before{content:\"gradient \"}}\n"
    "@media print{:root{--paper:#fff;--ink:#000}.steps{display:none}body{max-width:none;font-size:9pt}\n"
    "tr.later{display:table-row}tr .elements,tr .gradient{visibility:visible!important}}\n"
    "</style>\n</head>\n<body>\n<h1>A recorded run</h1>\n";

/* Moves between position 0, the leaves; n, all of forward; n + m, all of backward. */
static const char page_script[] =
    "<script>\n"
    "var rows = Array.from(document.querySelectorAll('tr[data-node]'));\n"
    "var last = -1, back = [];\n"
    "rows.forEach(function (r) { r.node = Number(r.dataset.node); last = Math.max(last, r.node);\n"
    "  r.ins = r.dataset.in ? r.dataset.in.split(' ') : []; });\n"
    "rows.forEach(function (r) { if (r.dataset.reached === undefined) return;\n"
    "  if (r.className.includes('made')) { if (!back.includes(r.node)) back.unshift(r.node); } });\n"
    "var leaf = {};\n"
    "rows.forEach(function (r) { r.ins.forEach(function (i) {\n"
    "  if (leaf[i] === undefined) if (back.includes(r.node)) leaf[i] = r.node; }); });\n"
    "var slider = document.querySelector('input'), says = document.querySelector('output');\n"
    "slider.max = last + 1 + back.length;\n"
    "function show(at) {\n"
    "  at = Math.min(Math.max(at, 0), Number(slider.max)); slider.value = at;\n"
    "  var forward = Math.min(at, last + 1) - 1, k = at - last - 2, visited = back.slice(0, Math.max(k + 1, 0));\n"
    "  var current = k === -1 ? last : (0 > k ? forward : back[k]), reads = [];\n"
    "  rows.forEach(function (r) {\n"
    "    var made = r.className.includes('made'), id = r.id.slice(1);\n"
    "    var here = made ? r.node === current : false;\n"
    "    if (here) reads = reads.concat(r.ins);\n"
    "    r.classList.toggle('later', made ? r.node > forward : r.node > forward + 1);\n"
    "    r.classList.toggle('now', here);\n"
    "    var due = made ? r.node : leaf[id];\n"
    "    r.classList.toggle('waits', !(due >= visited[visited.length - 1]));\n"
    "    r.classList.toggle('freed', made ? (r.dataset.kept === undefined ? visited.includes(r.node) : false) : "
    "false);\n"
    "  });\n"
    "  rows.forEach(function (r) { r.classList.toggle('read', reads.includes(r.id.slice(1))); });\n"
    "  var row = document.querySelector('tr.now');\n"
    "  says.textContent = (k >= 0 ? 'Backward' : 'Forward') + ', step ' + at + ' of ' + slider.max + ': ' +\n"
    "    (row ? row.querySelector('.op').textContent : 'the leaves');\n"
    "}\n"
    "function by(d) {\n"
    "  show(Number(slider.value) + d);\n"
    "  var row = document.querySelector('tr.now');\n"
    "  if (row) row.scrollIntoView({block: 'nearest'});\n"
    "}\n"
    "document.querySelector('.steps').hidden = false;\n"
    "document.getElementById('before').onclick = function () { by(-1); };\n"
    "document.getElementById('next').onclick = function () { by(1); };\n"
    "slider.oninput = function () { by(0); };\n"
    "document.onkeydown = function (e) { if (e.target === slider) return;\n"
    "  if (e.key === 'ArrowRight') by(1); if (e.key === 'ArrowLeft') by(-1); };\n"
    "show(last + 1);\n"
    "</script>\n";

static void put_escaped(mo_printer *p, const char *text) {
    for (; *text; text++)
        if (strchr("<>&\"", *text))
            mo_put(p, "&#%d;", *text);
        else
            mo_put(p, "%c", *text);
}

/* Text that mo_put_name writes, escaped. */
static void put_name_escaped(mo_printer *p, int64_t i) {
    const char *name = mo_member(mo_value_of(p->picture, i), "name");
    if (name)
        put_escaped(p, name);
    else
        mo_put_name(p, i);
}

/* "matmul(W, %3)", with the sentence of the rule that recorded it. */
static void put_op(mo_printer *p, json_t *node) {
    json_t *rule = json_object_get(node, "vjp_of");
    mo_put(p, "<td class=\"op\">");
    put_escaped(p, mo_member(node, "op"));
    mo_put(p, "(");
    for (size_t i = 0; i < mo_n_listed(node, "in"); i++) {
        mo_put(p, "%s", i ? ", " : "");
        put_name_escaped(p, mo_listed(node, "in", i));
    }
    mo_put(p, ")%s", mo_is_set(node, "view") ? ", a view" : "");
    if (rule)
        mo_put(p, ", in the vjp of %%%" JSON_INTEGER_FORMAT, json_integer_value(rule));
    mo_put(p, "</td>");
}

static void put_cells(mo_printer *p, int64_t i) {
    json_t *value = mo_value_of(p->picture, i);
    const mo_tensor *T = mo_elements_of(p, 'v', i), *g = mo_elements_of(p, 'g', i);
    mo_put(p, "<td class=\"type\">");
    mo_put_type(p, i);
    mo_put(p, "</td><td><span class=\"elements\">");
    if (T)
        mo_put_elements(p, T);
    mo_put(p, "</span><span class=\"state\">%s%s</span></td><td><span class=\"gradient\">",
        mo_is_set(value, "released") ? "freed by backward" : "", mo_is_set(value, "kept") ? " kept" : "");
    if (g)
        mo_put_elements(p, g);
    mo_put(p, "</span></td></tr>\n");
}

/* node: which made the value, or reads the leaf first. */
static void put_row(mo_printer *p, int64_t i, int64_t node, bool made) {
    json_t *value = mo_value_of(p->picture, i), *maker = mo_node_of(p->picture, node);
    const char *label = mo_member(value, "label");
    mo_put(p, "<tr id=\"v%" PRId64 "\" data-node=\"%" PRId64 "\" class=\"%s%s%s\"%s%s", i, node, made ? "made" : "leaf",
        made && mo_member(maker, "section") ? " in" : "", made && json_object_get(maker, "vjp_of") ? " rule" : "",
        mo_is_set(value, "reached") ? " data-reached=\"\"" : "",
        mo_is_set(value, "kept") || i == p->picture->loss ? " data-kept=\"\"" : "");
    for (size_t k = 0; made && k < mo_n_listed(maker, "in"); k++)
        mo_put(p, "%s%" PRId64, k ? " " : " data-in=\"", mo_listed(maker, "in", k));
    mo_put(p, "%s><td class=\"name\"><b>", made && mo_n_listed(maker, "in") ? "\"" : "");
    put_name_escaped(p, i);
    mo_put(p, "</b>");
    if (label) {
        mo_put(p, " ");
        put_escaped(p, label);
    }
    mo_put(p, "</td>");
    if (made)
        put_op(p, maker);
    else
        mo_put(p, "<td class=\"op\"><i>%s</i></td>",
            mo_member(value, "name")   ? "parameter"
            : mo_is_set(value, "leaf") ? "leaf"
                                       : "data");
    put_cells(p, i);
}

static void put_section(mo_printer *p, json_t *node, const char **section) {
    const char *now = mo_member(node, "section");
    if (now && (!*section || strcmp(now, *section))) {
        mo_put(p, "<tr class=\"section\"><th colspan=\"5\">");
        put_escaped(p, now);
        mo_put(p, "</th></tr>\n");
    }
    *section = now;
}

void mo_print_page(mo_printer *p) {
    const char *section = NULL;
    int64_t next = 0;
    p->write(page_head, p->state);
    p->write("<p>Each row is a value: what made it, its shape, its elements if they are few, and the gradient of the "
             "loss in it. Forward computes the rows from the top; backward visits them from the bottom, and frees a "
             "value as soon as its rule has run.</p>\n<div class=\"steps\" hidden=\"hidden\"><button id=\"before\">Back"
             "</button><button id=\"next\">Next</button><input type=\"range\" min=\"0\" aria-label=\"step\"/>"
             "<output></output></div>\n<div class=\"wide\"><table>\n<thead><tr><th>value</th><th>made by</th><th>type"
             "</th><th>elements</th><th>gradient</th></tr></thead>\n<tbody>\n",
        p->state);
    for (int64_t i = 0; i < (int64_t)json_array_size(p->picture->nodes) && mo_ok(p->picture->ctx); i++) {
        json_t *node = mo_node_of(p->picture, i);
        put_section(p, node, &section);
        for (; next < mo_listed(node, "out", 0); next++)
            put_row(p, next, i, false);
        for (size_t k = 0; k < mo_n_listed(node, "out"); k++)
            put_row(p, next++, i, true);
    }
    p->write("</tbody>\n</table></div>\n", p->state);
    p->write(page_script, p->state);
    p->write("</body>\n</html>\n", p->state);
}
