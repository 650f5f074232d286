/* tools/explain/lesson.h - what runs a topic of `mochi explain`.
 *
 * A topic is a text, topics/NAME.md: its inputs with numbers for a first look, the formulas of a loss and of the named
 * values on the way to it, and the lesson, in which each line of the adjoint is a formula. Every formula is computed as
 * it is written (expression.c). Every line is compared with mo_grad, and with central differences of the loss in the
 * named value: the formulas of forward are computed again with that value moved. */
#ifndef LESSON_H
#define LESSON_H

#include "tools/command.h"

#include <stdio.h>

enum { MOST_N = 8, MOST_VALUES = MOST_N * (MOST_N + 1), MOST_INPUTS = 5, MOST_NAMED = 32, NAME_BYTES = 64 };

typedef struct lesson_input {
    char name[NAME_BYTES], kind[NAME_BYTES];
    char size[2][8]; /* of rows and columns: a number, "n", "m" or "m+1"; "" where the input has fewer axes */
    int rows, columns;
    double values[MOST_VALUES]; /* at the topic's own sizes */
} lesson_input;

/* The set that a value moves in when it is differentiated. */
typedef enum space { SPACE_ALL = 0, SPACE_SYMMETRIC, SPACE_LOWER } space;

typedef struct matrix {
    char name[NAME_BYTES];
    int rows, columns;
    double values[MOST_VALUES];
} matrix;

typedef enum block_kind {
    BLOCK_TITLE,    /* text: the formula */
    BLOCK_SECTION,  /* text: its heading */
    BLOCK_PROSE,    /* text, with formulas in backquotes */
    BLOCK_FORMULA,  /* text: a formula on a line of its own */
    BLOCK_MATRICES, /* n matrices side by side */
    BLOCK_LINE,     /* a line of the adjoint: text is its formula; its value, and the same by differences */
    BLOCK_AGREE,    /* an equation: text; both sides */
    BLOCK_END       /* text */
} block_kind;

typedef struct block {
    block_kind kind;
    const char *text;
    const matrix *matrices;
    int n;
    int number;        /* of a line */
    double difference; /* the largest, of a line or an equation */
} block;

typedef struct named_value {
    char name[NAME_BYTES];
    mo_tensor *value, *gradient; /* gradient NULL: the loss does not depend on it on the tape */
    bool told;                   /* a line has given the gradient */
} named_value;

typedef struct lesson {
    mo_context *ctx;
    mo_tape *t;
    const char *topic, *summary, *source;
    const char *const *text; /* the topic's lines below its heading */
    lesson_input input[MOST_INPUTS];
    mo_tensor *in[MOST_INPUTS];
    int n_inputs, own_n, own_m; /* own: the sizes of the topic's own numbers */
    int n, m;                   /* sizes */
    named_value named[MOST_NAMED];
    int n_named;
    const char *moving; /* the value that differences move; NULL: forward runs for its own sake */
    mo_tensor *moved;
    mo_tensor *held;        /* a value that forward sets once and differences do not move, such as a step size */
    int64_t factorizations; /* of backward */
    int lines;
    double largest,
        from_mo_grad; /* differences of lines so far: from central differences and equations; from mo_grad */
    bool ask;         /* --step */
    int answered;     /* the number of a line that the reader has answered; 0: none */
    const char *answer;
    json_t *json; /* --json: the blocks so far; NULL: the terminal */
} lesson;

/* ---- lesson.c ---- */

/* The lines of all topics; that of a heading is "# NAME: SUMMARY". Ended by NULL. */
extern const char *const lesson_lines[];
/* What follows a word and a blank at the start of a line; NULL where the line starts otherwise. */
const char *behind(const char *line, const char *word);
/* Runs forward, takes the gradients, tells the lesson. Returns the exit code. */
int lesson_run(lesson *l);
/* Computes the formulas of forward and names their values. Returns the loss. */
mo_tensor *lesson_forward(lesson *l);
/* Central differences of the loss in the named value, into slope. Returns false on failure. */
bool lesson_differences(lesson *l, const char *name, mo_tensor *value, space moves, matrix *slope);
/* Reads at most MOST_VALUES elements. Returns false on failure. */
bool read_matrix(lesson *l, const char *name, mo_tensor *T, matrix *m);

/* ---- lesson_inputs.c ---- */

typedef struct lesson_choice {
    const char *matrix; /* a file; NULL: none */
    int64_t n, seed;    /* -1: not given */
} lesson_choice;

/* Makes the inputs that the topic's lines describe: its own numbers, or drawn ones. Raises an error that names the file
 * and what it should hold. */
void lesson_open_inputs(lesson *l, const lesson_choice *choice);

/* ---- lesson_text.c, lesson_step.c, lesson_json.c: what a block looks like ---- */

void put_on_terminal(lesson *l, const block *b);
/* Asks for the matrix on the terminal, reads the answer from standard input and judges it. */
void ask_for_matrix(lesson *l, const char *formula, const matrix *m);
/* Judges an answer to the line `formula`, numbers or a formula, by the matrix: one sentence into text, "Right." or what
 * differs. An error that the answer raises is cleared. */
void judge_answer(lesson *l, const char *answer, const char *formula, const matrix *m, char *text, size_t bytes);
/* Waits for Enter. */
void wait_for_reader(void);
/* Adds the block to l->json. */
void put_in_json(lesson *l, const block *b);

/* ---- expression.c, functions.c, latex.c: formulas ---- */

/* A formula computed on the lesson's values; asked: the name of what is wanted, which is no value of its own formula,
 * or
 * "". Of a function of two results, the second goes to *second (NULL: dropped). Returns NULL with one line in why where
 * the formula cannot be read; failures of ops are in the context. */
mo_tensor *lesson_evaluate(
    lesson *l, const char *formula, const char *asked, mo_tensor **second, char *why, size_t bytes);

/* What formulas call by name. One of the pointers is set. */
typedef struct lesson_function {
    const char *name;
    mo_tensor *(*of_one)(mo_tape *t, mo_tensor *X);
    mo_tensor *(*of_two)(mo_tape *t, mo_tensor *X, mo_tensor *Y);
    int arguments;
    mo_tensor *(*of_more)(mo_tape *t, mo_tensor *const *X);
    void (*two_results)(mo_tape *t, mo_tensor *X, mo_tensor **first, mo_tensor **second);
} lesson_function;
extern const lesson_function lesson_functions[]; /* ended by an empty one */
/* <A, B>: the sum of all products; the sum of all elements; the transpose as a matrix of its own; A^-1. */
mo_tensor *inner(mo_tape *t, mo_tensor *A, mo_tensor *B);
mo_tensor *total(mo_tape *t, mo_tensor *X);
mo_tensor *transposed(mo_tape *t, mo_tensor *M);
mo_tensor *inverse(mo_tape *t, mo_tensor *A);
mo_tensor *symmetric_part(mo_tape *t, mo_tensor *M);

/* Writes a formula of a topic such as "A_bar = -B_bar X^T" in LaTeX. Returns false, with an empty text, where it does
 * not fit. */
enum { LATEX_BYTES = 2048 };
bool lesson_latex(const char *formula, char *text, size_t bytes);

#endif
