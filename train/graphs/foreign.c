/* train/graphs/foreign.c - graphs and rows that Python reads (tools/python/mochi/convert): which form a path has, and
 * the command that converts it. Python looks more closely; here the form only has to be named. */
#include "tensor/files/foreign_text.h"
#include "train/graphs/loaders.h"
#include "train/graphs/text_reader.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

typedef struct ending {
    const char *text, *form;
} ending;

/* Of files, plain or gzipped. */
static const ending of_files[] = {{".gml", "GML"}, {".graphml", "GraphML"}, {".gexf", "GEXF"}, {".net", "Pajek"},
    {".paj", "Pajek"}, {".adjlist", "lists of neighbours"}, {".json", "node-link JSON"}, {".mtx", "Matrix Market"},
    {".npy", "a dense adjacency or edges as .npy"}, {NULL, NULL}};
/* Of a file that tells the form of its folder; of two, the first here: MUSAE has .json too. */
static const ending of_folders[] = {{".content", "LINQS"}, {"edges.csv", "MUSAE"}, {"edge.csv", "OGB"},
    {"train.txt", "LightGCN's interactions"}, {"test.txt", "LightGCN's interactions"}, {"trn_mat.pkl", "AnyGraph"},
    {".graph", "Planetoid"}, {".gml", "GML"}, {".graphml", "GraphML"}, {".gexf", "GEXF"}, {".json", "node-link JSON"},
    {NULL, NULL}};

/* Of rows: tables, which become .csv, all others arrays in .npz. */
static const ending of_tables[] = {{".parquet", "Parquet"}, {".pq", "Parquet"}, {".feather", "Feather"},
    {".arff", "ARFF"}, {".h5ad", "AnnData"}, {NULL, NULL}};
static const ending of_arrays[] = {
    {".svm", "svmlight"}, {".libsvm", "svmlight"}, {".svmlight", "svmlight"}, {".mat", "MATLAB's form"}, {NULL, NULL}};

/* The first ending of the list that the path has; NULL: none. */
static const ending *find_ending(const ending *known, const char *path) {
    size_t stop = strlen(path);
    if (mo_path_ends_with(path, ".gz"))
        stop -= 3;
    for (; known->text; known++) {
        size_t length = strlen(known->text);
        if (stop >= length && strncmp(path + stop - length, known->text, length) == 0)
            return known;
    }
    return NULL;
}

/* The form of a folder; that of a run has JSON too, but is none. */
static const char *form_of_folder(const char *folder) {
    char run[PATH_MAX];
    DIR *listing = opendir(folder);
    const ending *first = NULL;
    for (struct dirent *entry; listing && (entry = readdir(listing));) {
        const ending *found = find_ending(of_folders, entry->d_name);
        first = found && (!first || found < first) ? found : first;
    }
    if (listing)
        closedir(listing);
    return !first || mo_text_find(folder, "run.json", run, sizeof run) ? NULL : first->form;
}

static bool read_first_line(const char *path, char *line, int bytes) {
    gzFile file = gzopen(path, "rb");
    bool found = file && gzgets(file, line, bytes);
    if (file)
        gzclose(file);
    return found;
}

/* Whether the first line is one integer, the number of graphs of DGCNN's lists. */
static bool begins_with_a_count(const char *path) {
    char line[32];
    if (!read_first_line(path, line, sizeof line))
        return false;
    size_t digits = strspn(line, "0123456789"), rest = strspn(line + digits, " \t\r\n");
    return digits > 0 && line[digits + rest] == '\0' && line[digits] != '\0';
}

/* Whether the first line has the columns of CSTAG: without them a third column would be no weight, and lost. */
static bool begins_as_cstag(const char *path) {
    char line[512], *rest = line;
    int found = 0;
    if (!read_first_line(path, line, sizeof line))
        return false;
    line[strcspn(line, "\r\n")] = '\0';
    for (const char *word; (word = strsep(&rest, ","));)
        found += !strcmp(word, "node_id") || !strcmp(word, "label") || !strcmp(word, "neighbour");
    return found == 3;
}

/* Whether a file EGO.edges has EGO.feat beside it. */
static bool has_features_of_an_ego(const char *path) {
    char beside[PATH_MAX];
    size_t stop = strlen(path) - strlen(".edges");
    struct stat status;
    int length = snprintf(beside, sizeof beside, "%.*s.feat", (int)stop, path);
    return length > 0 && (size_t)length < sizeof beside && stat(beside, &status) == 0 && S_ISREG(status.st_mode);
}

const char *mo_foreign_form(const char *path) {
    struct stat status;
    if (stat(path, &status) != 0)
        return NULL;
    if (S_ISDIR(status.st_mode))
        return form_of_folder(path);
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    const ending *known = find_ending(of_files, path);
    known = known ? known : find_ending(of_tables, path); /* of edges */
    if (known || !S_ISREG(status.st_mode))
        return known ? known->form : NULL;
    if (strncmp(name, "train.txt", 9) == 0 || strncmp(name, "test.txt", 8) == 0)
        return "LightGCN's interactions";
    if (mo_path_ends_with(path, ".edges") && has_features_of_an_ego(path))
        return "SNAP's ego networks";
    if (mo_path_ends_with(path, ".csv") && begins_as_cstag(path))
        return "CSTAG";
    bool text = mo_path_ends_with(path, ".txt") || mo_path_ends_with(path, ".txt.gz");
    return text && begins_with_a_count(path) ? "DGCNN's lists of graphs" : NULL;
}

const char *mo_foreign_arrays(const mo_arrays *arrays) {
    static const char *const of_scipy[] = {"indices", "row", "offsets"};
    bool matrix = mo_arrays_find(arrays, "shape") && mo_arrays_find(arrays, "data"), entries = false;
    for (int i = 0; i < 3; i++)
        entries |= mo_arrays_find(arrays, of_scipy[i]) != NULL;
    return mo_arrays_find(arrays, "adj_shape")    ? NULL
           : mo_arrays_find(arrays, "edge_index") ? "edge_index in an .npz"
           : matrix && entries                    ? "SciPy's save_npz"
                                                  : NULL;
}

/* Writes the path beside a file or folder that has another ending. */
static void name_beside(const char *path, const char *made_ending, char *made, size_t bytes) {
    size_t stop = strlen(path);
    while (stop > 1 && path[stop - 1] == '/')
        stop--;
    if (stop > 3 && strncmp(path + stop - 3, ".gz", 3) == 0)
        stop -= 3;
    size_t point = stop;
    while (point > 0 && path[point - 1] != '.' && path[point - 1] != '/')
        point--;
    if (point > 1 && path[point - 1] == '.' && path[point - 2] != '/' && path[point - 2] != '.')
        stop = point - 1;
    snprintf(made, bytes, "%.*s%s", (int)stop, path, made_ending);
}

/* Writes the words that run the converter, behind `python3`. */
static void name_converter(char *command, size_t bytes) {
    char found[PATH_MAX], folder[PATH_MAX];
    bool there = mo_data_file("convert/__main__.py", found, sizeof found) ||
                 mo_data_file("../../tools/python/mochi/convert/__main__.py", found, sizeof found);
    snprintf(command, bytes, "-m mochi.convert");
    if (there && realpath(found, folder)) {
        *strrchr(folder, '/') = '\0';
        snprintf(command, bytes, "'%s'", folder);
    }
}

void mo_fail_foreign(mo_context *ctx, const char *path, const char *form) {
    char converter[PATH_MAX + 8], beside[PATH_MAX + 8];
    const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
    name_converter(converter, sizeof converter);
    name_beside(path,
        strncmp(base, "features.mtx", 12) == 0 ? ".npy"
        : find_ending(of_tables, path)         ? ".csv"
        : mo_path_ends_with(path, ".npz")      ? ".graph.npz"
                                               : ".npz",
        beside, sizeof beside);
    mo_fail(ctx, MO_UNSUPPORTED, "%s: expected a form that mochi reads, found %s: convert it by python3 %s '%s' '%s'",
        path, form, converter, path, beside);
}

const char *mo_foreign_rows(const char *path) {
    const ending *table = find_ending(of_tables, path), *known = table ? table : find_ending(of_arrays, path);
    return known ? known->form : NULL;
}

void mo_fail_foreign_rows(mo_context *ctx, const char *path, const char *form, const char *label) {
    char converter[PATH_MAX + 8], made[PATH_MAX + 8], option[300] = "", fit[2 * PATH_MAX + 300];
    bool table = find_ending(of_tables, path), sparse = mo_path_ends_with(path, ".npz");
    name_converter(converter, sizeof converter);
    name_beside(path, table ? ".csv" : sparse ? ".npy" : ".npz", made, sizeof made);
    if (label)
        snprintf(option, sizeof option, " --label '%.256s'", label);
    if (table)
        snprintf(fit, sizeof fit, "'%s'%s", made, label ? option : " --label COLUMN");
    else
        snprintf(fit, sizeof fit, sparse ? "'%s' y.npy" : "'%s:Z' '%s:y'", made, made);
    if (form)
        mo_fail(ctx, MO_UNSUPPORTED,
            "%s: expected rows that mochi reads, found %s: convert them by python3 %s '%s' '%s'%s, then mochi readouts "
            "%s",
            path, form, converter, path, made, option, fit);
    else
        mo_fail(ctx, MO_UNSUPPORTED,
            "%s: expected a table with a header, .csv or .tsv, whose column --label names; rows in an array have their "
            "labels in another: mochi readouts Z.npy y.npy",
            path);
}
