/* train/graphs/graph_open.c - opens a data set of any format by name or path. */
#include "tensor/hidden.h"
#include "train/graphs/graph_names.h"
#include "train/graphs/loaders.h"
#include "train/graphs/table_reader.h"
#include "train/graphs/text_reader.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

/* A graph's name from its path: "cora" from "data/cora.npz", "COLLAB" from "COLLAB.txt.gz", "MUTAG" from
 * "tu/MUTAG/". */
static void name_of_path(const char *path, char *name, size_t bytes) {
    static const char *const endings[] = {".gz", ".npz", ".txt", ".gml", ".csv", ".tsv"};
    size_t stop = strlen(path);
    while (stop > 1 && path[stop - 1] == '/')
        stop--;
    size_t start = stop;
    while (start > 0 && path[start - 1] != '/')
        start--;
    for (size_t e = 0; e < sizeof endings / sizeof *endings; e++) {
        size_t length = strlen(endings[e]);
        if (stop - start > length && strncmp(path + stop - length, endings[e], length) == 0)
            stop -= length;
    }
    snprintf(name, bytes, "%.*s", (int)(stop - start), path + start);
}

/* Reads the first bytes of a file, unpacked if it is gzipped; raises and returns false on failure. */
static bool read_head(mo_context *ctx, const char *path, char *head, size_t bytes) {
    gzFile file = gzopen(path, "rb");
    if (!file)
        return mo_fail(ctx, MO_IO, "%s: cannot open: %s", path, strerror(errno));
    int got = gzread(file, head, (unsigned)bytes - 1), code = Z_OK, reason = errno;
    gzerror(file, &code);
    gzclose(file);
    if (code == Z_ERRNO)
        return mo_fail(ctx, MO_IO, "%s: cannot read: %s", path, strerror(reason));
    if (got <= 0)
        return mo_fail(
            ctx, MO_FORMAT, "%s: expected a graph, found %s", path, got < 0 ? "a damaged gzip file" : "an empty file");
    head[got] = '\0';
    return true;
}

/* Whether the first line is one integer: the number of graphs of adjacency lists. */
static bool lone_integer(const char *head) {
    head += strspn(head, " \t");
    size_t digits = strspn(head, "0123456789");
    head += digits;
    head += strspn(head, " \t\r");
    return digits > 0 && (*head == '\n' || *head == '\0');
}

/* ---- files that must be converted to .npz first ---- */

static const char *const foreign[] = {".graphml", ".graphml.gz", ".json", ".mtx", ".mtx.gz", NULL};

bool mo_is_foreign(const char *path) {
    for (int i = 0; foreign[i]; i++)
        if (mo_path_ends_with(path, foreign[i]))
            return true;
    return false;
}

void mo_fail_foreign(mo_context *ctx, const char *path) {
    char found[PATH_MAX], script[PATH_MAX], made[PATH_MAX];
    if ((!mo_data_file("convert.py", found, sizeof found) &&
            !mo_data_file("../../tools/data/convert.py", found, sizeof found)) ||
        !realpath(found, script))
        snprintf(script, sizeof script, "tools/data/convert.py");
    snprintf(made, sizeof made, "%s", path);
    size_t stop = strlen(made);
    while (stop > 1 && made[stop - 1] == '/')
        made[--stop] = '\0';
    for (int i = 0; foreign[i]; i++)
        if (mo_path_ends_with(made, foreign[i]))
            stop = strlen(made) - strlen(foreign[i]);
    const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
    bool features = strncmp(base, "features.mtx", 12) == 0;
    mo_fail(ctx, MO_UNSUPPORTED,
        "%s: expected a form that mochi reads, found GraphML, node-link JSON or Matrix Market: convert it by python3 "
        "'%s' "
        "%s '%s' '%.*s%s'",
        path, script, features ? "features" : "graph", path, (int)stop, made, features ? ".npy" : ".npz");
}

/* Whether the folder has graphs as GraphML or JSON; a run's folder, which has JSON too, does not count. */
static bool has_foreign(const char *folder) {
    char run[PATH_MAX];
    DIR *listing = opendir(folder);
    bool found = false;
    for (struct dirent *entry; listing && !found && (entry = readdir(listing));)
        found = mo_is_foreign(entry->d_name);
    if (listing)
        closedir(listing);
    return found && !mo_text_find(folder, "run.json", run, sizeof run);
}

static mo_graph *open_folder(mo_context *ctx, const char *name, const char *folder, bool with_attributes) {
    if (mo_is_features(folder))
        return mo_load_features(ctx, name, folder);
    if (mo_is_interactions(folder))
        return mo_load_interactions(ctx, name, folder, true);
    if (mo_is_tu(folder) || !has_foreign(folder))
        return mo_load_tu(ctx, name, folder, with_attributes);
    mo_fail_foreign(ctx, folder);
    return NULL;
}

/* train.txt and test.txt are known as LightGCN's by name: their content alone could be another format's. */
static mo_graph *open_text(mo_context *ctx, const char *name, const char *path, const char *head) {
    if (strcmp(name, "train") == 0 || strcmp(name, "test") == 0)
        return mo_load_interactions(ctx, name, path, false);
    return lone_integer(head) && !mo_is_table(path) ? mo_load_adjacency_list(ctx, name, path)
                                                    : mo_load_edge_list(ctx, name, path);
}

static mo_graph *open_path(mo_context *ctx, const char *name, const char *path, bool with_attributes) {
    struct stat status;
    char head[256];
    if (stat(path, &status) != 0) {
        mo_fail(ctx, MO_IO, "%s: cannot open: %s", path, strerror(errno));
        return NULL;
    }
    if (S_ISDIR(status.st_mode))
        return open_folder(ctx, name, path, with_attributes);
    if (!S_ISREG(status.st_mode)) {
        mo_fail(ctx, MO_IO, "%s: expected a file or a folder, found neither", path);
        return NULL;
    }
    if (mo_path_ends_with(path, ".npz"))
        return mo_load_npz(ctx, name, path);
    if (mo_is_foreign(path)) {
        mo_fail_foreign(ctx, path);
        return NULL;
    }
    if (!read_head(ctx, path, head, sizeof head))
        return NULL;
    if (memcmp(head, "PK\003\004", 4) == 0)
        return mo_load_npz(ctx, name, path);
    if (mo_path_ends_with(path, ".gml") || mo_path_ends_with(path, ".gml.gz"))
        return mo_load_gml(ctx, name, path);
    return open_text(ctx, name, path, head);
}

/* Adds the available names to a message, as far as there is room. */
static void fail_unknown(mo_context *ctx, const char *name, const mo_graph_name *entry) {
    char known[512] = "", path[PATH_MAX];
    size_t used = 0;
    bool embedded;
    for (const mo_graph_name *e = mo_graph_names; e->name; e++)
        if (mo_locate_graph(e, path, sizeof path, &embedded) && used < sizeof known)
            used += (size_t)snprintf(known + used, sizeof known - used, " %s", e->name);
    if (entry)
        mo_fail(ctx, MO_IO, "graph '%s': not found: set MOCHI_DATA to a folder that has %s; found:%s", entry->name,
            entry->path, used ? known : " none");
    else
        mo_fail(ctx, MO_INVALID, "graph '%.200s': expected a path or one of:%s; found neither", name,
            used ? known : " none (set MOCHI_DATA)");
}

/* Whether a path can be a graph: a file, or a folder with the files of one. */
static bool may_be_graph(const char *path) {
    struct stat status;
    if (stat(path, &status) != 0)
        return false;
    return S_ISREG(status.st_mode) || mo_is_features(path) || mo_is_interactions(path) || mo_is_tu(path);
}

/* Raises if the known graph at `path` and another graph in the current folder have this name, so that neither is
 * mistaken for the other. */
static bool is_alone(mo_context *ctx, const char *name, const char *path) {
    struct stat known, here;
    if (!may_be_graph(name) || stat(path, &known) != 0 || stat(name, &here) != 0 ||
        (known.st_dev == here.st_dev && known.st_ino == here.st_ino))
        return true;
    return mo_fail(ctx, MO_INVALID,
        "graph '%s': expected one graph of this name, found two: name the one that lies here ./%s, the known one %s",
        name, name, path);
}

bool mo_graph_exists(const char *name_or_path) {
    if (!name_or_path) {
        return false;
    }
    char path[PATH_MAX];
    bool embedded;
    const mo_graph_name *entry = mo_find_graph_name(name_or_path);
    return (entry && mo_locate_graph(entry, path, sizeof path, &embedded)) ||
           (*name_or_path && access(name_or_path, F_OK) == 0);
}

mo_graph *mo_graph_open(mo_context *ctx, const char *name_or_path) {
    if (!mo_given(ctx, "graph", "the name or path", name_or_path)) {
        return NULL;
    }
    char path[PATH_MAX], name[256];
    bool embedded;
    if (!mo_ok(ctx))
        return NULL;
    const mo_graph_name *entry = mo_find_graph_name(name_or_path);
    /* A name means one graph, embedded or not; embedded TU sets lack node attributes, so no set opened by name has
     * them. */
    if (entry && mo_locate_graph(entry, path, sizeof path, &embedded))
        return is_alone(ctx, name_or_path, path) ? open_path(ctx, entry->name, path, false) : NULL;
    if (strchr(name_or_path, '/') || (*name_or_path && access(name_or_path, F_OK) == 0)) {
        name_of_path(name_or_path, name, sizeof name);
        return open_path(ctx, name, name_or_path, true);
    }
    fail_unknown(ctx, name_or_path, entry);
    return NULL;
}

mo_code mo_graph_list(
    mo_context *ctx, void (*visit)(const char *name, const char *path, bool embedded, void *state), void *state) {
    if (!mo_given(ctx, "graph_list", "visit", (const void *)(uintptr_t)visit)) {
        return mo_code_of(ctx);
    }
    char path[PATH_MAX];
    bool embedded;
    if (mo_ok(ctx)) {
        for (const mo_graph_name *entry = mo_graph_names; entry->name; entry++)
            if (mo_locate_graph(entry, path, sizeof path, &embedded))
                visit(entry->name, path, embedded, state);
    }
    return mo_context_status(ctx)->code;
}
