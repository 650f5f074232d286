/* tools/lessons/lab_table.c - the table of an experiment: printed row by row. */
#include "tools/lessons/lab.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static int series_width(const lab_table *table) {
    int width = 0;
    for (int i = 0; i < LAB_SERIES && table->series[i]; i++) {
        int n = snprintf(NULL, 0, "%s", table->series[i]);
        width = n > width ? n : width;
    }
    int head = snprintf(NULL, 0, "%s", table->series_head);
    width = width > head ? width : head;
    return width > 9 ? width : 9;
}

static double printed_value(const lab_column *column, double y) {
    return y / (column->unit > 0 ? column->unit : 1);
}

void lab_table_open(const lab_table *table, const char *lines) {
    if (table->json)
        return;
    printf("%s\n\n%-*s %10s", lines, series_width(table), table->series_head, table->x_head);
    for (int i = 0; i < table->n_columns; i++) {
        int width = snprintf(NULL, 0, table->columns[i].format, 1.0);
        printf("  %*s", width, table->columns[i].head);
    }
    putchar('\n');
}

static json_t *json_value(bool whole, double value) {
    return whole ? json_integer((json_int_t)value) : json_number(value);
}

static bool print_json_row(const lab_table *table, const lab_table_row *row) {
    json_t *object = json_object();
    if (table->problem)
        json_object_set_new(object, "problem", json_string(table->problem));
    json_object_set_new(object, table->series_name, json_string(table->series[row->series]));
    json_object_set_new(object, table->x_name, json_value(table->x_whole, row->x));
    for (int i = 0; i < table->n_columns; i++)
        json_object_set_new(object, table->columns[i].name, json_value(table->columns[i].whole, row->y[i]));
    return print_json(object);
}

bool lab_table_add(lab_table *table, lab_table_row row) {
    if (table->json)
        return print_json_row(table, &row);
    printf("%-*s ", series_width(table), table->series[row.series]);
    printf(table->x_whole ? "%10.0f" : "%10.0e", row.x);
    for (int i = 0; i < table->n_columns; i++) {
        int width = snprintf(NULL, 0, table->columns[i].format, 1.0);
        printf("  ");
        if (isnan(row.y[i]))
            printf("%*s", width, "-");
        else
            printf(table->columns[i].format, printed_value(&table->columns[i], row.y[i]));
    }
    return putchar('\n') != EOF;
}

/* In lines of at most 79 columns. */
static void print_paragraph(const char *text) {
    int column = 0;
    while (*text) {
        int n = (int)strcspn(text, " ");
        if (column + n + (column > 0) > 79) {
            putchar('\n');
            column = 0;
        }
        column += printf("%s%.*s", column ? " " : "", n, text);
        text += n + (text[n] == ' ');
    }
    putchar('\n');
}

void lab_table_close(const lab_table *table) {
    if (table->json || !table->reading)
        return;
    putchar('\n');
    print_paragraph(table->reading);
}
