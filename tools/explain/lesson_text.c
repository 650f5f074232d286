/* tools/explain/lesson_text.c - a lesson on the terminal, in at most 80 columns. */
#include "tools/explain/lesson.h"

#include <math.h>
#include <string.h>

enum { WIDTH = 9, INDENT = 5, COLUMNS = 79, BESIDE = 17 };

/* Words of text between the indents, without the backquotes around formulas. */
static void print_wrapped(const char *text, int indent) {
    int column = 0;
    while (*text) {
        int width = 0, length = (int)strcspn(text, " ");
        for (int i = 0; i < length; i++)
            width += text[i] != '`';
        if (column && column + 1 + width > COLUMNS) {
            putchar('\n');
            column = 0;
        }
        column += printf("%*s", column ? 1 : indent, "");
        for (int i = 0; i < length; i++)
            if (text[i] != '`')
                putchar(text[i]);
        column += width;
        text += length;
        text += strspn(text, " ");
    }
    putchar('\n');
}

/* A formula without the quotes around its words. */
static int print_formula(const char *formula) {
    int used = 0;
    for (; *formula; formula++)
        if (*formula != '"') {
            putchar(*formula);
            used++;
        }
    return used;
}

static int formula_width(const char *formula) {
    int width = 0;
    for (; *formula; formula++)
        width += *formula != '"';
    return width;
}

static void print_row(const matrix *m, int row) {
    for (int j = 0; j < m->columns; j++) {
        double v = m->values[row * m->columns + j];
        v = fabs(v) < 5e-5 ? 0 : v; /* no -0.0000 */
        printf(fabs(v) < 1e3 ? "%*.4f" : "%*.2e", WIDTH, v);
    }
}

/* As many matrices from m on as fit beside each other; at least one. */
static int fitting(const matrix *m, int n) {
    int used = INDENT - 2, count = 0;
    while (count < n && (count == 0 || used + 4 + m[count].columns * WIDTH <= COLUMNS + 1)) {
        int name = formula_width(m[count].name);
        used += 4 + (m[count].columns * WIDTH > name ? m[count].columns * WIDTH : name);
        count++;
    }
    return count;
}

static void print_beside(const matrix *m, int n) {
    int most = 0;
    printf("%*s", INDENT - 2, "");
    for (int i = 0; i < n; i++) {
        printf("    ");
        int used = print_formula(m[i].name);
        printf("%*s", i + 1 < n && used < m[i].columns * WIDTH ? m[i].columns * WIDTH - used : 0, "");
        most = m[i].rows > most ? m[i].rows : most;
    }
    putchar('\n');
    for (int r = 0; r < most; r++) {
        printf("%*s", INDENT - 2, "");
        for (int i = 0; i < n; i++) {
            int name = formula_width(m[i].name), width = m[i].columns * WIDTH;
            printf("    ");
            if (r < m[i].rows)
                print_row(&m[i], r);
            else
                printf("%*s", width, "");
            if (i + 1 < n && name > width)
                printf("%*s", name - width, "");
        }
        putchar('\n');
    }
}

static void print_matrices(const matrix *m, int n) {
    for (int i = 0; i < n;) {
        int count = fitting(m + i, n - i);
        print_beside(m + i, count);
        i += count;
    }
}

/* Two matrices, with a word between them: beside each other if they fit, else one below the other. */
static void print_both(const matrix *m, const char *between) {
    bool beside = INDENT + BESIDE + 2 * m->columns * WIDTH <= COLUMNS + 1;
    for (int which = 0; which < (beside ? 1 : 2); which++) {
        if (which)
            printf("%*s%s\n", INDENT, "", between);
        for (int r = 0; r < m->rows; r++) {
            printf("%*s", INDENT, "");
            print_row(&m[which], r);
            if (beside) {
                printf("%*s", BESIDE, r == 0 ? between : "");
                print_row(&m[1], r);
            }
            putchar('\n');
        }
    }
}

static void print_line(lesson *l, const block *b) {
    if (l->ask)
        ask_for_matrix(l, b->text, &b->matrices[0]);
    printf("%3d. ", b->number);
    print_formula(b->text);
    putchar('\n');
    print_both(b->matrices, "by differences:");
}

static void print_title(const lesson *l, const block *b) {
    int used = printf("%s: ", l->topic) + print_formula(b->text), source = (int)strlen(l->source) + 2;
    if (used + 1 + source > COLUMNS) {
        putchar('\n');
        used = 0;
    }
    printf("%*s(%s)\n", COLUMNS - 1 - used - source, "", l->source);
}

void put_on_terminal(lesson *l, const block *b) {
    if (l->ask && (b->kind == BLOCK_SECTION || b->kind == BLOCK_AGREE))
        wait_for_reader();
    switch (b->kind) {
    case BLOCK_TITLE:
        print_title(l, b);
        break;
    case BLOCK_SECTION:
        printf("\n%s\n", b->text);
        break;
    case BLOCK_PROSE:
        print_wrapped(b->text, 2);
        break;
    case BLOCK_FORMULA:
        printf("%*s", INDENT, "");
        print_formula(b->text);
        putchar('\n');
        break;
    case BLOCK_MATRICES:
        print_matrices(b->matrices, b->n);
        break;
    case BLOCK_LINE:
        print_line(l, b);
        break;
    case BLOCK_AGREE:
        printf("  check: ");
        print_formula(b->text);
        putchar('\n');
        print_both(b->matrices, "and:");
        break;
    case BLOCK_END:
        putchar('\n');
        print_wrapped(b->text, 0);
        break;
    }
}
