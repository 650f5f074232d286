/* tools/fit/labelled_rows.c - the files of labelled rows, and the heads and scaling that a command line names. */
#include "tools/fit/labelled_rows.h"
#include "train/graphs/loaders.h"
#include "train/graphs/table_reader.h"
#include "train/inside.h"

#include <string.h>

void take_row_file(labelled_rows *in, const char *word, const struct argp_state *state) {
    if (in->rows && in->labels)
        refuse_command_line(state, EXIT_USAGE, "'%s': expected two files, rows and labels", word);
    *(in->rows ? &in->labels : &in->rows) = word;
}

void check_row_files(const labelled_rows *in, const char *command, const struct argp_state *state) {
    bool table = in->label || (in->rows && !in->labels && (mo_is_table(in->rows) || mo_foreign_rows(in->rows)));
    if (in->label && in->labels)
        refuse_command_line(
            state, EXIT_USAGE, "--label: expected one file, the table with that column, found '%s' too", in->labels);
    if (!(table ? in->rows : in->labels))
        refuse_command_line(state, EXIT_USAGE,
            "expected two files, rows and labels: mochi %s Z.npy y.npy; or a table and its column of labels: mochi %s "
            "table.csv --label COLUMN",
            command, command);
}

void take_row_heads(labelled_rows *in, const char *text, const mo_head *further, const struct argp_state *state) {
    names list = parse_names(state, "--head", text);
    in->n_heads = 0;
    for (int i = 0; i < list.count; i++) {
        bool all = !strcmp(list.items[i], "all");
        bool other = further && !strcmp(list.items[i], further->name);
        const mo_head *head = all ? mo_head_at(0) : other ? further : parse_head(state, list.items[i]);
        for (int j = 0; head; head = all ? mo_head_at(++j) : NULL) {
            if (in->n_heads == ROW_HEADS)
                usage_error(state, "--head", "at most 32 heads", text);
            in->heads[in->n_heads++] = head;
        }
    }
    free_names(&list);
}

bool settle_row_options(labelled_rows *in, const given_options *given) {
    bool lambda = false, tunable = false;
    for (int i = 0; i < in->n_heads; i++) {
        lambda |= mo_head_has(in->heads[i], "lambda");
        tunable |= mo_regularisation(in->heads[i]) >= 0;
    }
    refuse_given(given, "lambda", !lambda, "none of these heads has it");
    refuse_given(given, "tune", !tunable, "none of these heads has a regularisation");
    if (in->standardise + in->centre + in->normalise > 1)
        refuse_given(given, "standardise centre normalise", true,
            "expected one of --standardise, --centre and --normalise, found several");
    in->fit.tune = in->tune;
    in->fixed = is_given(given, "lambda");
    in->scaling = in->standardise ? MO_SCALING_STANDARDISE
                  : in->centre    ? MO_SCALING_CENTRE
                  : in->normalise ? MO_SCALING_NORMALISE
                                  : MO_SCALING_NONE;
    return tunable;
}

mo_candidate row_candidate(const labelled_rows *in, int i) {
    return (mo_candidate){.features = "rows",
        .head = in->heads[i],
        .fixed = in->fixed && mo_head_has(in->heads[i], "lambda"),
        .value = in->lambda,
        .seed = in->fit.seed,
        .scaling = in->scaling};
}

mo_embeddings *open_labelled_rows(mo_context *ctx, const labelled_rows *in, mo_graph **table) {
    *table = NULL;
    if (in->labels)
        return mo_embeddings_open(ctx, in->rows, in->labels);
    mo_feature_options options = {.notice = in->quiet ? NULL : print_notice};
    *table = mo_rows_open(ctx, in->rows, in->label, &options);
    mo_embeddings *E = mo_embeddings_of_rows(*table);
    if (E && !in->quiet)
        print_left_out(*table);
    return E;
}
