/* tools/new.c - `mochi new head NAME`, `mochi new encoder NAME`, `mochi new op NAME`: writes a head, an encoder or an
 * op of the user's own to start from, with its test. */
#include "tools/options.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* In these texts @ stands for the name. */
static const char head_text[] =
    "/* @ - a readout: class means as prototypes, minus the squared distance to them as logits.\n"
    " *\n"
    " *     cc -shared -fPIC @.c $(pkg-config --cflags --libs mochi) -o @.so\n"
    " *     mochi gradcheck --head ./@.so\n"
    " *     mochi eval --weights none --data cora --task nc --head ./@.so,ridge\n"
    " *\n"
    " * The engine derives the gradients; gradcheck proves them. Leading axes \"..\" are a batch of episodes. A head "
    "whose\n"
    " * weights have no closed form gives `residual` in place of `logits`: see mo_head_residual in models/head.h. */\n"
    "#include <mochi/mochi.h>\n"
    "\n"
    "/* Zs [.., n_s, d] support embeddings, Ys [.., n_s, C] their one-hot labels, Zq [.., n_q, d] query embeddings, "
    "and the\n"
    " * parameters in the order of the table below -> logits [.., n_q, C]. */\n"
    "static mo_tensor *logits(mo_tape *t, mo_tensor *Zs, mo_tensor *Ys, mo_tensor *Zq, mo_tensor *const *parameter) {\n"
    "    mo_axes last = MO_AXIS(-1);\n"
    "    mo_tensor *Yt = mo_transpose(t, Ys), *count = mo_sum(t, Yt, last, MO_KEEP_AXES);            /* [.., C, 1] */\n"
    "    mo_tensor *P = mo_div_or_zero(t, mo_matmul(t, Yt, Zs), count);                      /* [.., C, d] */\n"
    "    mo_tensor *cross = mo_scale(t, mo_matmul(t, Zq, mo_transpose(t, P)), 2, 0);         /* 2 <q, p> */\n"
    "    mo_tensor *p2 = mo_transpose(t, mo_sum(t, mo_square(t, P), last, MO_KEEP_AXES));            /* [.., 1, C] */\n"
    "    mo_tensor *q2 = mo_sum(t, mo_square(t, Zq), last, MO_KEEP_AXES);                            /* [.., n_q, 1] "
    "*/\n"
    "    return mo_mul(t, mo_sub(t, mo_sub(t, cross, p2), q2), parameter[0]);\n"
    "}\n"
    "\n"
    "static const mo_head_parameter parameters[] = {{.name = \"scale\", .value = 1}};\n"
    "\n"
    "const mo_head mo_head_plugin = {\n"
    "    .abi = MO_HEAD_ABI,\n"
    "    .size = sizeof(mo_head),\n"
    "    .name = \"@\",\n"
    "    .n_parameters = 1,\n"
    "    .parameters = parameters,\n"
    "    .logits = logits,\n"
    "    .order = 2, /* derivatives that exist */\n"
    "};\n";

static const char test_text[] =
    "/* Test of @: its derivatives, and two classes told apart.\n"
    " *\n"
    " *     cc @_test.c $(pkg-config --cflags --libs mochi) -o @_test && ./@_test */\n"
    "#include <mochi/mochi.h>\n"
    "#include <stdio.h>\n"
    "#include <stdlib.h>\n"
    "\n"
    "static bool tells_classes_apart(mo_context *ctx, const mo_head *head) {\n"
    "    mo_tape *t = mo_tape_create(ctx, MO_EVAL);\n"
    "    double zs[] = {2, 1, 3, 1, -2, 1, -3, 2}, ys[] = {1, 0, 1, 0, 0, 1, 0, 1}, zq[] = {2, 2, -1, 1}, y[4];\n"
    "    mo_tensor *parameter[MO_MAX_HEAD_PARAMETERS], *Zs = mo_from(t, MO_F64, 2, (int64_t[]){4, 2}, zs);\n"
    "    mo_tensor *Ys = mo_from(t, MO_F64, 2, (int64_t[]){4, 2}, ys), *Zq = mo_from(t, MO_F64, 2, (int64_t[]){2, 2}, "
    "zq);\n"
    "    mo_head_start(t, head, MO_F64, 2, NULL, 0, parameter);\n"
    "    bool right = mo_tensor_read(mo_head_apply(t, head, Zs, Ys, Zq, parameter), y, sizeof y) == MO_OK &&\n"
    "                 y[0] > y[1] && y[2] < y[3];\n"
    "    mo_tape_release(t);\n"
    "    return right;\n"
    "}\n"
    "\n"
    "/* The first error ends the program. */\n"
    "static void stop(const mo_status *status, void *unused) {\n"
    "    (void)unused;\n"
    "    fprintf(stderr, \"%s\\n\", status->message);\n"
    "    exit(1);\n"
    "}\n"
    "\n"
    "int main(void) {\n"
    "    mo_context *ctx = mo_context_create(&(mo_context_options){.on_error = stop});\n"
    "    const mo_head *head = mo_register_ops(ctx) == MO_OK ? mo_load_head(ctx, \"./@.so\") : NULL;\n"
    "    bool pass = head && tells_classes_apart(ctx, head);\n"
    "    for (int order = 1; pass && order <= head->order; order++) {\n"
    "        mo_check_result r = mo_check_head(ctx, head, order, 0);\n"
    "        printf(\"%s, order %d: error %.1e, %s\\n\", head->name, order, r.error, r.pass ? \"pass\" : r.worst);\n"
    "        pass = r.pass;\n"
    "    }\n"
    "    puts(pass ? \"pass\" : \"FAIL\");\n"
    "    mo_context_release(ctx);\n"
    "    return !pass;\n"
    "}\n";

static const char encoder_text[] =
    "/* @ - an encoder: every hop's rows through a layer of their own, averaged with learned weights, then a residual\n"
    " * layer.\n"
    " *\n"
    " *     cc -shared -fPIC @.c $(pkg-config --cflags --libs mochi) -o @.so\n"
    " *     mochi gradcheck --encoder ./@.so\n"
    " *     mochi train --encoder ./@.so --out runs/@\n"
    " *     mochi eval --encoder ./@.so --weights runs/@/weights.safetensors --data cora --head ridge,logistic\n"
    " *\n"
    " * The engine derives the gradients; gradcheck proves them. Head, temperature, loss, means over graphs, products "
    "of\n"
    " * links and the weights file come from the library. With `.of_examples = true` an encoder reads rows whose basis "
    "is\n"
    " * that of their SVD, structure and attributes apart: see mo_encode in models/encoder.h. */\n"
    "#include <mochi/mochi.h>\n"
    "\n"
    "enum { WIDTH = 64 }; /* k, of the embeddings */\n"
    "\n"
    "enum { HOP_WEIGHT, LAYER, BIAS, RESIDUAL, N_PARAMETERS };\n"
    "\n"
    "static const mo_encoder_parameter parameters[N_PARAMETERS] = {\n"
    "    [HOP_WEIGHT] = {.name = \"hop_weight\", .ndim = 1, .shape = {MO_ENCODER_BLOCKS}}, /* zeros: equal weights */\n"
    "    [LAYER] = {.name = \"layer\", .spread = 1, .ndim = 3, .shape = {MO_ENCODER_BLOCKS, WIDTH, MO_ENCODER_DIM}},\n"
    "    [BIAS] = {.name = \"bias\", .ndim = 1, .shape = {WIDTH}},\n"
    "    [RESIDUAL] = {.name = \"residual\", .spread = 0.1, .ndim = 2, .shape = {WIDTH, WIDTH}},\n"
    "};\n"
    "\n"
    "/* The rows of the episode X [l + 1, n, d] -> Z [n, WIDTH]; every row by itself. */\n"
    "static mo_tensor *encode(mo_tape *t, mo_tensor *const *parameter, const mo_episode *e) {\n"
    "    mo_tensor *X = mo_episode_rows(t, e, \"hops\");\n"
    "    mo_tensor *H = mo_matmul(t, X, mo_transpose(t, parameter[LAYER]));            /* [l + 1, n, WIDTH] */\n"
    "    mo_tensor *w = mo_softmax(t, parameter[HOP_WEIGHT], MO_AXIS(0));\n"
    "    w = mo_reshape(t, w, 3, (int64_t[]){-1, 1, 1});\n"
    "    mo_tensor *Z = mo_add(t, mo_sum(t, mo_mul(t, H, w), MO_AXIS(0), MO_DROP_AXES), parameter[BIAS]);\n"
    "    return mo_add(t, Z, mo_tanh(t, mo_matmul(t, Z, parameter[RESIDUAL])));\n"
    "}\n"
    "\n"
    "const mo_encoder mo_encoder_plugin = {\n"
    "    .abi = MO_ENCODER_ABI,\n"
    "    .size = sizeof(mo_encoder),\n"
    "    .name = \"@\",\n"
    "    .n_parameters = N_PARAMETERS,\n"
    "    .parameters = parameters,\n"
    "    .encode = encode,\n"
    "};\n";

static const char encoder_test_text[] =
    "/* Test of @: its derivatives, and rows in blocks as all at once.\n"
    " *\n"
    " *     cc @_test.c $(pkg-config --cflags --libs mochi) -o @_test && ./@_test */\n"
    "#include <mochi/mochi.h>\n"
    "#include <stdio.h>\n"
    "#include <stdlib.h>\n"
    "\n"
    "/* The first error ends the program. */\n"
    "static void stop(const mo_status *status, void *unused) {\n"
    "    (void)unused;\n"
    "    fprintf(stderr, \"%s\\n\", status->message);\n"
    "    exit(1);\n"
    "}\n"
    "\n"
    "int main(void) {\n"
    "    mo_context *ctx = mo_context_create(&(mo_context_options){.on_error = stop});\n"
    "    const mo_encoder *encoder = mo_load_encoder(ctx, \"./@.so\");\n"
    "    bool pass = encoder != NULL;\n"
    "    for (int order = 1; pass && order <= 2; order++) {\n"
    "        mo_check_result r = mo_check_encoder(ctx, encoder, order, 0);\n"
    "        printf(\"%s, order %d: error %.1e, %s\\n\", encoder->name, order, r.error, r.pass ? \"pass\" : r.worst);\n"
    "        pass = r.pass;\n"
    "    }\n"
    "    puts(pass ? \"pass\" : \"FAIL\");\n"
    "    mo_context_release(ctx);\n"
    "    return !pass;\n"
    "}\n";

/* The kinds of plug-ins. */
typedef struct kind {
    const char *name, *text, *test;
} kind;

static const kind kinds[] = {{"head", head_text, test_text}, {"encoder", encoder_text, encoder_test_text},
    {"op", new_op_text, new_op_test_text}};
enum { KINDS = sizeof kinds / sizeof *kinds };

static const char description[] =
    "Writes a head, an encoder or an op of your own to start from: NAME.c, a shared object once "
    "built, and NAME_test.c. The code "
    "compiles, and passes `mochi gradcheck`, as it stands; no file is overwritten.\v"
    "Examples:\n"
    "  mochi new head my_head\n"
    "  mochi new encoder my_encoder\n"
    "  mochi new op my_op";

typedef struct new_options {
    const char *word, *name;
    const kind *kind;
} new_options;

static bool is_identifier(const char *name) {
    bool fine = isalpha((unsigned char)*name) && strlen(name) <= 40;
    for (; *name; name++)
        fine &= isalnum((unsigned char)*name) || *name == '_';
    return fine;
}

static const kind *find_plugin_kind(const char *word) {
    for (int i = 0; i < KINDS; i++)
        if (!strcmp(kinds[i].name, word))
            return &kinds[i];
    return NULL;
}

static void take_new_word(void *options, const char *word, const struct argp_state *state) {
    new_options *o = options;
    if (o->name)
        usage_error(state, "arguments", "head|encoder|op NAME and no more", word);
    *(o->word ? &o->name : &o->word) = word;
}

static void check_new_words(void *options, const struct argp_state *state) {
    new_options *o = options;
    if (!o->name)
        refuse_command_line(state, EXIT_USAGE, "expected what to write, and its name: mochi new head my_head");
    else if (!(o->kind = find_plugin_kind(o->word)))
        usage_error(state, "kind", "head, encoder or op", o->word);
    else if (!is_identifier(o->name))
        usage_error(state, "NAME", "at most 40 letters, digits and _, a letter first", o->name);
}

const command_line new_line = {.table = (const option[]){{OPTION_END}},
    .words = "head|encoder|op NAME",
    .about = description,
    .take_word = take_new_word,
    .end = check_new_words};

/* Writes text, with the name in place of every @, to a new file; raises if the file exists. */
static bool write_file(mo_context *ctx, const char *path, const char *text, const char *name) {
    char all[8192];
    size_t n = 0;
    for (; *text && n + strlen(name) < sizeof all; text++)
        n += *text == '@' ? (size_t)snprintf(all + n, sizeof all - n, "%s", name) : (all[n] = *text, (size_t)1);
    return mo_file_replace(ctx, path, all, n) == MO_OK;
}

int new_command(int argc, char **argv) {
    new_options o = {0};
    read_command_line(&new_line, argc, argv, &o, &(given_options){0});
    char file[64], test[64];
    snprintf(file, sizeof file, "%s.c", o.name);
    snprintf(test, sizeof test, "%s_test.c", o.name);
    for (int i = 0; i < 2; i++)
        if (access(i ? test : file, F_OK) == 0) {
            fprintf(stderr, "mochi: %s is there already\n", i ? test : file);
            return EXIT_FAILED;
        }
    mo_context *ctx = open_context(1);
    if (!ctx)
        return EXIT_FAILED;
    bool written = write_file(ctx, file, o.kind->text, o.name) && write_file(ctx, test, o.kind->test, o.name);
    bool linked = o.kind->text == new_op_text; /* into its test, which loads the others */
    if (written)
        printf("%s and %s written; build and check them:\n"
               "  cc -shared -fPIC %s $(pkg-config --cflags --libs mochi) -o %s.so\n"
               "  mochi gradcheck --%s ./%s.so\n"
               "  cc %s%s%s $(pkg-config --cflags --libs mochi) -o %s_test && ./%s_test\n",
            file, test, file, o.name, o.kind->name, o.name, test, linked ? " " : "", linked ? file : "", o.name,
            o.name);
    int code = written ? EXIT_FINE : report_failure(ctx);
    mo_context_release(ctx);
    return code;
}
