/* tools/data/data_about.c - prints the manifest's entry of a data set: licence, citation, source, and its counts beside
 * the counts found. */
#include "tools/data/data_about.h"

#include <inttypes.h>
#include <stdio.h>

static bool can_be_downloaded(const manifest_entry *e) {
    for (int i = 0; i < e->n_files; i++)
        if (e->files[i].url)
            return true;
    return false;
}

static void print_about_line(const char *label, const char *text) {
    if (text)
        printf("  %-10s %s\n", label, text);
}

static bool states_counts(const manifest_entry *e) {
    for (int k = 0; k < COUNTS; k++)
        if (e->counts[k] >= 0)
            return true;
    return false;
}

/* "expected   2708 nodes, 5278 edges (found 5279)". */
static void print_expected_counts(const manifest_entry *e, const int64_t *found) {
    bool agree = true;
    const char *between = "";
    printf("  %-10s ", "expected");
    for (int k = 0; k < COUNTS; k++) {
        if (e->counts[k] < 0)
            continue;
        printf("%s%" PRId64 " %s", between, e->counts[k], count_names[k]);
        between = ", ";
        if (found && found[k] != e->counts[k]) {
            printf(" (found %" PRId64 ")", found[k]);
            agree = false;
        }
    }
    puts(!states_counts(e) ? "no counts stated" : !found ? "" : agree ? "; all found" : "; NOT all found");
}

void print_about(const manifest_entry *e, const mo_graph *graph) {
    int64_t found[COUNTS];
    if (graph)
        find_counts(graph, found);
    else if (can_be_downloaded(e))
        printf("%s: not here; mochi data get %s\n", e->name, e->name);
    else
        printf("%s: not here, nor an address to download it from\n", e->name);
    print_expected_counts(e, graph ? found : NULL);
    print_about_line("licence", e->licence);
    for (size_t i = 0; i < json_array_size(e->cite); i++)
        print_about_line(i ? "" : "cite", json_string_value(json_array_get(e->cite, i)));
    print_about_line("source", e->page);
    print_about_line("note", e->note);
}

json_t *about_object(const manifest_entry *e, const mo_graph *graph) {
    int64_t found[COUNTS];
    bool agrees = true;
    json_t *counts = json_object();
    if (graph)
        find_counts(graph, found);
    for (int k = 0; k < COUNTS; k++)
        if (e->counts[k] >= 0) {
            json_object_set_new(counts, count_names[k], json_integer(e->counts[k]));
            agrees &= !graph || found[k] == e->counts[k];
        }
    return json_pack("{s:s, s:s, s:s?, s:O, s:s?, s:o, s:o}", "name", e->name, "licence", e->licence, "page", e->page,
        "cite", e->cite, "note", e->note, "expected", counts, "agrees",
        graph && states_counts(e) ? json_boolean(agrees) : json_null());
}
