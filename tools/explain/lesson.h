/* tools/explain/lesson.h - runs a topic of `mochi explain`.
 *
 * A topic is a text, topics/NAME.md: its inputs with numbers for a first look, the formulas of a loss and of the named
 * values on the way to it, and the lesson, in which each line of the adjoint is a formula. Formulas are computed as
 * written (expression.c). Every line is compared with mo_grad and with central differences of the loss in the named
 * value, which recompute forward with that value moved. */
#ifndef LESSON_H
#define LESSON_H

#include "tools/command.h"

#include <stdio.h>

enum { MOST_N = 8, MOST_VALUES = MOST_N * (MOST_N + 1), MOST_INPUTS = 5, MOST_NAMED = 32, NAME_BYTES = 64 };

typedef struct lesson_input {
    char name[NAME_BYTES], kind[NAME_BYTES];
    char size[2][8]; /* rows, columns: a number, "n", "m" or "m+1"; "" if the input has fewer axes */
    int rows, columns;
    double values[MOST_VALUES]; /* for the topic's own sizes */
} lesson_input;

/* The set in which a value is perturbed. */
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
    BLOCK_LINE,     /* a line of the adjoint: text is its formula; its value, and the value by differences */
    BLOCK_AGREE,    /* an equation: text; both sides */
    BLOCK_END       /* text */
} block_kind;

typedef struct block {
    block_kind kind;
    const char *text;
    const matrix *matrices;
    int n;
    int number;        /* number of a line */
    double difference; /* the largest difference, for a line or an equation */
} block;

typedef struct named_value {
    char name[NAME_BYTES];
    mo_tensor *value, *gradient; /* gradient NULL: the loss on the tape does not depend on it */
    bool told;                   /* a line has given the gradient */
} named_value;

typedef struct lesson {
    mo_context *ctx;
    mo_tape *t;
    const char *topic, *summary, *source;
    const char *const *text; /* the topic's lines below its heading */
    lesson_input input[MOST_INPUTS];
    mo_tensor *in[MOST_INPUTS];
    int n_inputs, own_n, own_m; /* own: sizes of the topic's own numbers */
    int n, m;                   /* sizes */
    named_value named[MOST_NAMED];
    int n_named;
    const char *moving; /* the value that differences perturb; NULL: no perturbation */
    mo_tensor *moved;
    mo_tensor *held;        /* a value that forward computes once and differences leave fixed, such as a step size */
    int64_t factorizations; /* by backward */
    int lines;
    double largest,
        from_mo_grad; /* largest differences of lines so far: from central differences and equations; from mo_grad */
    bool ask;         /* --step */
    int answered;     /* the number of the line that the reader has answered; 0: none */
    const char *answer;
    json_t *json; /* with --json: the blocks so far; NULL: prints to the terminal */
} lesson;

/* ---- lesson.c ---- */

/* The lines of all topics; that of a heading is "# NAME: SUMMARY". Ended by NULL. */
extern const char *const lesson_lines[];
/* The text after a word and a blank at the start of a line; NULL if the line starts otherwise. */
const char *behind(const char *line, const char *word);
/* Parses the line of a topic's heading, "# NAME: SUMMARY". Returns false, with *summary NULL, for other lines. */
bool lesson_heading(const char *line, char name[NAME_BYTES], const char **summary);
/* Runs forward, computes the gradients, tells the lesson. Returns the exit code. */
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

/* Makes the inputs that the topic describes: its own numbers, or drawn ones. On failure raises an error that names the
 * file and what it should contain. */
void lesson_open_inputs(lesson *l, const lesson_choice *choice);

/* ---- lesson_text.c, lesson_step.c, lesson_json.c: output of a block ---- */

void put_on_terminal(lesson *l, const block *b);
/* Asks for the matrix on the terminal, reads the answer from standard input and judges it. */
void ask_for_matrix(lesson *l, const char *formula, const matrix *m);
/* Judges an answer (numbers or a formula) to the line `formula` by the matrix: writes one sentence into text, "Right."
 * or the difference. Clears an error that the answer raises. */
void judge_answer(lesson *l, const char *answer, const char *formula, const matrix *m, char *text, size_t bytes);
/* Waits for Enter. */
void wait_for_reader(void);
/* Adds the block to l->json. */
void put_in_json(lesson *l, const block *b);

/* ---- expression.c, functions.c, latex.c: formulas ---- */

/* Computes a formula on the lesson's values. asked: the name whose formula is requested, which the formula cannot use,
 * or "". If a function has two results, *second receives the second (NULL: dropped). Returns NULL with one line in why
 * if the formula cannot be read; failures of ops are in the context. */
mo_tensor *lesson_evaluate(
    lesson *l, const char *formula, const char *asked, mo_tensor **second, char *why, size_t bytes);

/* A function for formulas. One of the pointers is set. */
typedef struct lesson_function {
    const char *name;
    mo_tensor *(*of_one)(mo_tape *t, mo_tensor *X);
    mo_tensor *(*of_two)(mo_tape *t, mo_tensor *X, mo_tensor *Y);
    int arguments;
    mo_tensor *(*of_more)(mo_tape *t, mo_tensor *const *X);
    void (*two_results)(mo_tape *t, mo_tensor *X, mo_tensor **first, mo_tensor **second);
} lesson_function;
extern const lesson_function lesson_functions[]; /* ended by an empty one */
/* <A, B>: the sum of all products. The sum of all elements. The transpose as a new matrix. A^-1. */
mo_tensor *inner(mo_tape *t, mo_tensor *A, mo_tensor *B);
mo_tensor *total(mo_tape *t, mo_tensor *X);
mo_tensor *transposed(mo_tape *t, mo_tensor *M);
mo_tensor *inverse(mo_tape *t, mo_tensor *A);
mo_tensor *symmetric_part(mo_tape *t, mo_tensor *M);

/* Writes a formula of a topic such as "A_bar = -B_bar X^T" in LaTeX. If it does not fit, returns false with an empty
 * text. */
enum { LATEX_BYTES = 2048 };
bool lesson_latex(const char *formula, char *text, size_t bytes);

#endif
