/* tools/fit/labelled_rows.h - labelled rows from files, and how heads are fitted to them: what `mochi fit` and `mochi
 * readouts` have in common. */
#ifndef LABELLED_ROWS_H
#define LABELLED_ROWS_H

#include "tools/cli/options.h"

enum { ROW_HEADS = 32 };

typedef struct labelled_rows {
    const char *rows, *labels; /* files */
    const char *label;         /* the column of the table `rows` that has the labels, or NULL */
    const mo_head *heads[ROW_HEADS];
    int n_heads;
    mo_eval_options fit;
    mo_scaling scaling;
    double lambda;
    bool fixed;                          /* lambda is given */
    const char *tune;                    /* "loo", or NULL */
    bool standardise, centre, normalise; /* at most one is set */
    bool quiet;
} labelled_rows;

/* Option rows; T is the struct of a command's options, f its labelled_rows. */
#define LABEL_OPTION(T, f, ...)                                                                                        \
    {                                                                                                                  \
        OPTION_TEXT, "label", "COLUMN", offsetof(T, f.label),                                                          \
            "the rows are a table with a header (.csv, .tsv): the column that has their labels", __VA_ARGS__           \
    }
#define SCALING_OPTIONS(T, f)                                                                                          \
    {OPTION_FLAG, "standardise", NULL, offsetof(T, f.standardise),                                                     \
        "before every fit, subtract each column's mean in the support and divide by its standard deviation there; a "  \
        "column that is constant there becomes 0"},                                                                    \
        {OPTION_FLAG, "centre", NULL, offsetof(T, f.centre),                                                           \
            "before every fit, subtract each column's mean in the support"},                                           \
    {                                                                                                                  \
        OPTION_FLAG, "normalise", NULL, offsetof(T, f.normalise),                                                      \
            "before every fit, divide each row by its Euclidean norm"                                                  \
    }
#define ROWS_HELP                                                                                                      \
    "Z: rows [n, d] of numbers (.npy, .npz or .safetensors; FILE:NAME takes one array of several); y: the class of "   \
    "each row, a whole number (negative: unlabelled) or a text (empty: unlabelled), as such an array, as .txt with "   \
    "one label a line, or as .csv or .tsv with a header (its only column, the one named label, or FILE:NAME). Real "   \
    "numbers are refused. Or one table with a header, .csv or .tsv, and --label COLUMN: all other columns are "        \
    "attributes, read and scaled as those of a graph's nodes (numbers, words, yes and no, gaps), but a column of "     \
    "names. Computes in float32, or in float64 where the rows are float64 or integers that float32 cannot hold."

/* Takes a word of the command line as the next file. */
void take_row_file(labelled_rows *in, const char *word, const struct argp_state *state);
/* Ends the program unless the files and the scaling fit together. command: "readouts", for the message. */
void check_row_files(const labelled_rows *in, const char *command, const struct argp_state *state);
/* Takes a list of heads, of which `further` (NULL: none) is one that the library has not. */
void take_row_heads(labelled_rows *in, const char *text, const mo_head *further, const struct argp_state *state);
/* Sets in->fit and the scaling from the options that were given, and refuses those that no head of the list reads.
 * Returns whether one of the heads has a regularisation to tune. */
bool settle_row_options(labelled_rows *in, const given_options *given);
/* Head i as a candidate. */
mo_candidate row_candidate(const labelled_rows *in, int i);
/* Opens the labelled rows; a table is kept in *table. quiet: does not say how it was read. NULL on failure. */
mo_embeddings *open_labelled_rows(mo_context *ctx, const labelled_rows *in, mo_graph **table);

#endif
