/* tools/eval_table.c - accuracy by k, trained and baselines side by side. */
#include "tools/eval_table.h"

#include "tools/paper_rows.h"

#include <inttypes.h>
#include <math.h>
#include <stb/stb_ds.h>
#include <stdio.h>
#include <string.h>

enum { MAX_COLUMNS = 8 };

void eval_table_add(eval_table *table, const mo_eval_row *row) {
    eval_cell *c = arraddnptr(table->cells, 1);
    *c = (eval_cell){.k = row->k, .mean = row->mean, .ci95 = row->ci95};
    snprintf(c->data, sizeof c->data, "%s", row->data);
    snprintf(c->task, sizeof c->task, "%s", row->task);
    snprintf(c->head, sizeof c->head, "%s", row->head);
    snprintf(c->features, sizeof c->features, "%s", row->features);
    snprintf(c->metric, sizeof c->metric, "%s", row->metric);
}

static bool same_block(const eval_cell *a, const eval_cell *b) {
    return !strcmp(a->data, b->data) && !strcmp(a->task, b->task) && !strcmp(a->head, b->head) &&
           !strcmp(a->metric, b->metric);
}

/* The columns of a block in order of appearance. Returns their number. */
static int find_columns(const eval_table *table, const eval_cell *block, const char *columns[MAX_COLUMNS]) {
    int n = 0;
    for (int i = 0; i < arrlen(table->cells); i++) {
        int known = 0;
        while (known < n && strcmp(columns[known], table->cells[i].features))
            known++;
        if (same_block(block, &table->cells[i]) && known == n && n < MAX_COLUMNS)
            columns[n++] = table->cells[i].features;
    }
    return n;
}

/* Twelve columns of the terminal: "51.2 ± 3.4"; the sign has two bytes. */
static void print_value(double mean, double width) {
    if (isnan(mean))
        printf("  %12s", "-");
    else if (isnan(width))
        printf("  %5.1f       ", mean);
    else
        printf("  %5.1f ± %4.1f", mean, width);
}

static bool block_in_paper(const eval_table *table, const eval_cell *block) {
    for (int i = 0; i < arrlen(table->cells); i++)
        if (same_block(block, &table->cells[i]) &&
            find_paper_row(block->data, block->task, block->metric, table->cells[i].k))
            return true;
    return false;
}

static void print_line(
    const eval_table *table, const eval_cell *first, const char *const *columns, int n, bool in_paper) {
    printf("%6" PRId64, first->k);
    for (int j = 0; j < n; j++) {
        const eval_cell *found = NULL;
        for (int i = 0; i < arrlen(table->cells) && !found; i++) {
            const eval_cell *c = &table->cells[i];
            if (same_block(first, c) && c->k == first->k && !strcmp(c->features, columns[j]))
                found = c;
        }
        print_value(found ? found->mean : NAN, found ? found->ci95 : NAN);
    }
    const paper_row *paper = find_paper_row(first->data, first->task, first->metric, first->k);
    if (in_paper) {
        print_value(paper ? paper->mochi : NAN, paper ? paper->mochi_sd : NAN);
        print_value(paper ? paper->plus : NAN, paper ? paper->plus_sd : NAN);
    }
    putchar('\n');
}

static bool print_block(const eval_table *table, const eval_cell *block) {
    const char *columns[MAX_COLUMNS];
    int n = find_columns(table, block, columns);
    bool in_paper = block_in_paper(table, block);
    printf("\n%s %s, %s head, %s in %%\n%6s", block->data, block->task, block->head, block->metric, "k");
    for (int j = 0; j < n; j++)
        printf("  %12s", columns[j]);
    printf(in_paper ? "  %12s  %12s\n" : "\n", "paper MOCHI", "MOCHI++");
    for (const eval_cell *c = block; c < table->cells + arrlen(table->cells); c++) {
        const eval_cell *earlier = block;
        while (earlier < c && !(same_block(block, earlier) && earlier->k == c->k))
            earlier++;
        if (same_block(block, c) && earlier == c)
            print_line(table, c, columns, n, in_paper);
    }
    return in_paper;
}

bool eval_table_print(eval_table *table) {
    bool in_paper = false;
    for (int i = 0; i < arrlen(table->cells); i++) {
        int earlier = 0;
        while (earlier < i && !same_block(&table->cells[earlier], &table->cells[i]))
            earlier++;
        if (earlier == i)
            in_paper |= print_block(table, &table->cells[i]);
    }
    arrsetlen(table->cells, 0);
    fflush(stdout);
    return in_paper;
}

void eval_table_free(eval_table *table) {
    arrfree(table->cells);
}
