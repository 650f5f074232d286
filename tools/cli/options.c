/* tools/cli/options.c - reads a command line by a table of options, and prints the table for --help, the manual page
 * and completion; argp formats --help and recognises the options. */
#include "tools/cli/options.h"

#include "tools/cli/memory.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_KEY = 0x100 }; /* argp's key of an option is FIRST_KEY + its row in the table */

static bool is_option(const option *row) {
    return row->kind != OPTION_GROUP;
}

mo_field option_field(const option *row) {
    return (mo_field){
        (mo_field_kind)row->kind, row->name, row->value, row->field, row->help, row->low, row->high, row->choices};
}

bool is_among(const char *name, const char *list) {
    size_t n = strlen(name);
    const char *found = list;
    while ((found = strstr(found, name)) && ((found > list && found[-1] != ' ') || (found[n] && found[n] != ' ')))
        found += n;
    return found;
}

/* ---- the members of structs, as options ---- */

/* The one table with members that a process reads, made when it is first asked for. */
static struct {
    const command_line *line;
    int n;
    option row[MOST_OPTIONS + 1];
    char name[MOST_OPTIONS][32], help[MOST_OPTIONS][512];
} expanded;

/* A member's value as --help shows it. */
static const char *short_value(const mo_field *f, const void *options, char text[64]) {
    double number = mo_field_number(f, options);
    if (!isnan(number))
        snprintf(text, 64, "%.12g", number);
    else
        mo_field_text(f, options, text, 64);
    return text;
}

/* Adds the member's value in each preset to its meaning: "(default 400; paper, paper++ 10000)". Presets with equal
 * values share them, and those of the first preset's value are not named. */
static void put_defaults(const mo_field *f, size_t base, const char *name, char help[512]) {
    int n = 0;
    const preset *p = expanded.line->presets ? expanded.line->presets(&n) : NULL;
    char value[64], other[64], shown[256] = "";
    bool told[16] = {false};
    for (int i = 0; i < n && i < 16; i++) {
        if (told[i] || is_among(name, p[i].lacks))
            continue;
        short_value(f, (const char *)p[i].options + base, value);
        size_t used = strlen(shown);
        snprintf(shown + used, sizeof shown - used, "%s%s", used ? "; " : "", i ? p[i].name : "default");
        for (int j = i + 1; j < n && j < 16; j++) {
            if (told[j] || strcmp(value, short_value(f, (const char *)p[j].options + base, other)) != 0)
                continue;
            told[j] = true;
            used = strlen(shown);
            if (i && !is_among(name, p[j].lacks))
                snprintf(shown + used, sizeof shown - used, ", %s", p[j].name);
        }
        used = strlen(shown);
        snprintf(shown + used, sizeof shown - used, " %s", value);
    }
    snprintf(help, 512, "%s%s%s%s", f->help, *shown ? " (" : "", shown, *shown ? ")" : "");
}

static void expand_fields(const mo_field *table, size_t base) {
    for (const mo_field *f = table; f->kind; f++) {
        bool nested = f->kind == MO_FIELD_STRUCT;
        if (f->help) {
            assert(expanded.n < MOST_OPTIONS);
            option *row = &expanded.row[expanded.n];
            char *name = expanded.name[expanded.n], *help = expanded.help[expanded.n++];
            snprintf(name, sizeof *expanded.name, "%s", f->key);
            for (char *c = name; *c; c++)
                *c = *c == '_' ? '-' : *c;
            if (nested)
                snprintf(help, sizeof *expanded.help, "%s", f->help);
            else
                put_defaults(f, base, name, help);
            *row = (option){nested ? OPTION_GROUP : (option_kind)f->kind, name, f->value, base + f->at, help, f->low,
                f->high, f->choices};
        }
        if (nested)
            expand_fields(f->table, base + f->at);
    }
}

const option *option_table(const command_line *line) {
    const option *row = line->table;
    while (row->kind && row->kind != OPTION_FIELDS)
        row++;
    if (!row->kind || expanded.line == line)
        return row->kind ? expanded.row : line->table;
    expanded.line = line;
    for (row = line->table; row->kind; row++)
        if (row->kind == OPTION_FIELDS)
            expand_fields(row->fields, row->field);
        else
            expanded.row[expanded.n++] = *row;
    return expanded.row;
}

/* ---- values ---- */

static void take_value(const option *row, void *options, const char *text, const struct argp_state *state) {
    void *field = (char *)options + row->field;
    char name[48];
    snprintf(name, sizeof name, "--%s", row->name);
    const mo_field member = option_field(row), word = {MO_FIELD_CHOICE, .choices = row->choices};
    int choice;
    switch ((int)row->kind) {
    case OPTION_FLAG:
        *(bool *)field = true;
        break;
    case OPTION_TEXT:
    case OPTION_INPUT:
        *(const char **)field = text;
        break;
    case OPTION_WORD:
        parse_member(state, name, &word, text, &choice);
        *(const char **)field = text;
        break;
    case OPTION_NAMES:
    case OPTION_INPUTS:
        free_names(field);
        *(names *)field = parse_names(state, name, text);
        if (row->high && ((names *)field)->count > row->high)
            usage_error(state, name, row->high == 8 ? "at most 8 names" : "fewer names", text);
        break;
    case OPTION_BYTES:
        *(int64_t *)field = parse_bytes(state, name, text);
        break;
    case OPTION_OUTPUT:
        *(const char **)field = take_output(state, needed(strdup(name)), text, row->choices); /* take_output keeps the
                                                                                               * copied name */
        break;
    case OPTION_HEAD:
        *(const mo_head **)field = parse_head(state, text);
        break;
    case OPTION_ENCODER:
        *(const mo_encoder **)field = parse_encoder(state, text);
        break;
    case OPTION_OTHER:
        row->take(field, text, state);
        break;
    default:
        parse_member(state, name, &member, text, options);
    }
}

/* ---- reading ---- */

typedef struct reading {
    const command_line *line;
    void *options;
    given_options *given;
} reading;

/* The row of the option of this name, or the table's end. */
static const option *find_option(const option *table, const char *name) {
    while (table->kind && !(is_option(table) && !strcmp(table->name, name)))
        table++;
    return table;
}

static error_t take_argument(int key, char *text, struct argp_state *state) {
    reading *r = state->input;
    if (key >= FIRST_KEY && key < FIRST_KEY + MOST_OPTIONS) {
        const option *row = &r->given->table[key - FIRST_KEY];
        r->given->given[key - FIRST_KEY] = true;
        take_value(row, r->options, text, state);
        if (text && (row->kind == OPTION_INPUT || row->kind == OPTION_INPUTS || row->kind >= OPTION_HEAD))
            note_input(text);
    } else if (key == ARGP_KEY_ARG && r->line->take_word) {
        r->line->take_word(r->options, text, state);
        note_input(text);
    } else if (key == ARGP_KEY_ARG) {
        bool data = find_option(r->given->table, "data")->kind; /* most words beside options are meant to be the data */
        refuse_command_line(state, EXIT_USAGE, "'%s': expected options only%s%s%s", text,
            data ? "; did you mean --data " : "", data ? text : "", data ? "?" : "");
    } else if (key == ARGP_KEY_END && r->line->end) {
        r->line->end(r->options, state);
    } else {
        return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

/* Converts the table to argp's. */
static void list_for_argp(const option *table, struct argp_option *list) {
    int group = 0;
    for (int i = 0; table[i].kind; i++) {
        assert(i < MOST_OPTIONS);
        bool optional = table[i].value && table[i].value[0] == '[';
        if (!is_option(&table[i]))
            list[i] = (struct argp_option){.doc = table[i].help, .group = ++group};
        else
            list[i] = (struct argp_option){.name = table[i].name,
                .key = FIRST_KEY + i,
                .arg = optional ? "N" : table[i].value,
                .flags = optional ? OPTION_ARG_OPTIONAL : 0,
                .doc = table[i].help,
                .group = group};
    }
}

static void refuse_useless(const given_options *g) {
    for (int i = 0; g->table[i].kind; i++) {
        const option *row = &g->table[i];
        if (row->needs && !is_given(g, row->needs))
            refuse_given(g, row->name, true, row->why);
        if (row->not_with && is_given(g, row->not_with))
            refuse_given(g, row->name, true, row->why);
    }
}

/* Returns whether the value of the option "--<word>" is the next word. Ends the program if the word is no option, nor
 * the beginning of one. */
static bool value_follows(const command_line *line, const option *table, const char *word, const char *command) {
    const char *names[MOST_OPTIONS + 3] = {"help", "usage", "version"};
    size_t n = strcspn(word, "=");
    char spelt[32];
    bool known = false, value = false;
    int count = 3;
    for (const option *row = table; row->kind; row++)
        if (is_option(row)) {
            names[count++] = row->name;
            value |= row->value && row->value[0] != '[' && !strncmp(row->name, word, n);
        }
    for (int i = 0; i < count; i++)
        known |= !strncmp(names[i], word, n);
    if (known)
        return value && !word[n];
    snprintf(spelt, sizeof spelt, "%.*s", (int)n, word);
    if (line->other && find_option(option_table(line->other), spelt)->kind)
        refuse_command_line(
            NULL, EXIT_USAGE, "--%s is no option of %s; it is one of %s", spelt, command, line->other_is);
    const char *near = nearest_name(spelt, names, count);
    refuse_command_line(NULL, EXIT_USAGE, "no option is named '--%.*s'%s%s%s; see %s --help", (int)n, word,
        near ? "; did you mean '--" : "", near ? near : "", near ? "'" : "", command);
}

/* Ends the program if an option is unknown: argp would not say which one is near, and would print its control
 * characters. */
static void look_for_unknown(const command_line *line, const option *table, int argc, char **argv) {
    bool value = false; /* the word before is an option whose value comes next */
    for (int i = 1; i < argc && (value || strcmp(argv[i], "--") != 0); i++) {
        bool dashed = !value && argv[i][0] == '-', named = dashed && argv[i][1] == '-';
        for (const char *at = argv[i]; dashed && !named && *at; at++)
            if (*at != printable(*at))
                refuse_command_line(NULL, EXIT_USAGE, "no option is named '%s'; see %s --help", argv[i], argv[0]);
        value = named && value_follows(line, table, argv[i] + 2, argv[0]);
    }
}

void read_command_line(const command_line *line, int argc, char **argv, void *options, given_options *given) {
    struct argp_option list[MOST_OPTIONS + 1] = {0};
    struct argp argp = {
        .parser = take_argument, .args_doc = line->words, .doc = line->about, .help_filter = name_heads};
    reading r = {.line = line, .options = options, .given = given};
    given->table = option_table(line);
    given->command = argv[0];
    list_for_argp(given->table, list);
    argp.options = given->table->kind ? list : NULL; /* glibc loses the memory that it takes for an empty list */
    look_for_unknown(line, given->table, argc, argv);
    error_t code = argp_parse(&argp, argc, argv, 0, NULL, &r);
    if (code == ENOMEM)
        end_out_of_memory();
    if (code)
        refuse_command_line(NULL, EXIT_FAILED, "%s: %s", argv[0], strerror(code));
    check_outputs(argv[0]);
    refuse_useless(given);
}

/* ---- options that were given ---- */

bool is_given(const given_options *g, const char *name) {
    const option *row = find_option(g->table, name);
    assert(row->kind); /* no row has the name: a mistake in the program */
    return g->given[row - g->table];
}

void refuse_given(const given_options *g, const char *names, bool useless, const char *why) {
    while (*names) {
        char name[32];
        snprintf(name, sizeof name, "%.*s", (int)strcspn(names, " "), names);
        names += strlen(name) + (names[strlen(name)] == ' ');
        if (!is_given(g, name) || !useless)
            continue;
        if (!g->silent)
            fprintf(stderr, "%s: --%s: %s\n", g->command, name, why);
        exit(EXIT_USAGE);
    }
}

void refuse_math_on_cpu(const given_options *g, const mo_context_options *device) {
    refuse_given(g, "math", device->device == MO_CPU && device->math == MO_MATH_TF32,
        "expected --device cuda: products on the cpu are of fp32 or bf16");
    refuse_given(g, "device-memory", device->device == MO_CPU, "expected --device cuda beside it");
}

/* ---- shared rows ---- */

void take_device(void *device, const char *text, const struct argp_state *state) {
    mo_context_options *o = device;
    bool numbered = !strncmp(text, "cuda:", 5);
    o->index = numbered ? (int)parse_integer(state, "--device cuda:N", text + 5, 0, INT_MAX) : 0;
    if (!numbered && strcmp(text, "cpu") != 0 && strcmp(text, "cuda") != 0)
        usage_error(state, "--device", "cpu or cuda", text);
    o->device = !strcmp(text, "cpu") ? MO_CPU : MO_CUDA;
}

void take_expand(void *unused, const char *text, const struct argp_state *state) {
    (void)unused;
    set_max_expand(parse_positive(state, "--max-expand", text));
}

void take_memory(void *unused, const char *text, const struct argp_state *state) {
    (void)unused;
    set_memory(parse_bytes(state, "--memory", text));
}

/* ---- the manual page and completion ---- */

/* Prints a text of a table in scdoc syntax; the names of the heads replace @heads. */
static void put_for_manual(const char *text, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (n - i >= strlen(HEADS) && !strncmp(text + i, HEADS, strlen(HEADS))) {
            fputs("a head", stdout);
            i += strlen(HEADS) - 1;
        } else {
            if (strchr("_*\\`#~<>", text[i]))
                putchar('\\');
            putchar(text[i]);
        }
}

void print_manual(const char *command, const char *summary, const command_line *line) {
    printf("## %s", command);
    if (line->words)
        putchar(' '), put_for_manual(line->words, strlen(line->words));
    printf("\n\n");
    put_for_manual(summary, strlen(summary));
    printf(". ");
    put_for_manual(line->about, strcspn(line->about, "\v"));
    printf("\n\n");
    for (const option *row = option_table(line); row->kind; row++) {
        if (is_option(row))
            printf("*--%s*%s%s%s\n\t", row->name, row->value ? " _" : "", row->value ? row->value : "",
                row->value ? "_" : "");
        put_for_manual(row->help, strlen(row->help));
        printf("\n\n");
    }
    const char *more = strchr(line->about, '\v'), *examples = more ? strstr(more, "Example") : NULL;
    if (examples) /* printed unchanged */
        printf("```\n%s\n```\n\n", examples);
}

static void put_graph(const char *name, const char *path, bool embedded, void *state) {
    (void)path, (void)embedded, (void)state;
    puts(name);
}

/* Prints the choices, one per line; for @graphs the names of installed graphs. */
static void put_choices(const char *choices) {
    while (*choices) {
        size_t n = strcspn(choices, "|");
        if (n == 7 && !strncmp(choices, "@graphs", n)) {
            mo_context *ctx = open_context(1);
            if (ctx)
                mo_graph_list(ctx, put_graph, NULL);
            mo_context_release(ctx);
        } else if (*choices != '.') { /* file suffixes: the shell completes files */
            printf("%.*s\n", (int)n, choices);
        }
        choices += n + (choices[n] == '|');
    }
}

void print_completions(const command_line *line, const char *before) {
    for (const option *row = option_table(line); row->kind; row++) {
        if (!is_option(row) || !row->value || strncmp(before, "--", 2) != 0 || strcmp(before + 2, row->name) != 0)
            continue;
        if (row->kind == OPTION_HEAD || (row->choices && !strcmp(row->choices, HEADS)))
            for (int i = 0; mo_head_at(i); i++)
                puts(mo_head_at(i)->name);
        else if (row->choices)
            put_choices(row->choices);
        return; /* else files */
    }
    for (const option *row = option_table(line); row->kind; row++)
        if (is_option(row))
            printf("--%s\n", row->name);
    /* Lists the lower-case words, which the user types literally: "hull" of "hull Z y". */
    for (const char *at = line->words; at && *at; at += strspn(at, " |\n")) {
        const size_t n = strcspn(at, " |\n");
        if (n && strspn(at, "abcdefghijklmnopqrstuvwxyz") == n)
            printf("%.*s\n", (int)n, at);
        at += n;
    }
}
