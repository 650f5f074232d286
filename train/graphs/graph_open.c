/* train/graphs/graph_open.c - opens a data set of any format by name or path.
 *
 * Embedded graphs are NAME.npz in the first of these folders that has it: $MOCHI_EMBEDDED (if it is set, only this),
 * the folder mochi-data beside the shared library (in the Python package), the installed data folder, the source tree.
 * All other graphs are searched below mo_data_folder, text also gzipped. train/data/manifest.json lists the origin of
 * each name but kitchen, which was written for mochi. */
#include "tensor/files/foreign_text.h"
#include "tensor/library.h"
#include "train/data_folders.h"
#include "train/graph.h"
#include "train/graphs/loaders.h"
#include "train/graphs/table_reader.h"
#include "train/graphs/text_reader.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

/* ---- known names, and where each lies ---- */

/* A name that mo_graph_open accepts. */
typedef struct graph_name {
    const char *name;
    const char *path; /* below mo_data_folder */
} graph_name;

static const graph_name graph_names[] = {
    {"cora", "cora/planetoid_cora.npz"},
    {"citeseer", "citeseer/planetoid_citeseer.npz"},
    {"pubmed", "pubmed/planetoid_pubmed.npz"},
    {"cora-linqs", "cora/gnn-benchmark/cora.npz"},
    {"citeseer-linqs", "citeseer/gnn-benchmark/citeseer.npz"},
    {"photo", "amazon_photo/amazon_electronics_photo.npz"},
    {"computers", "amazon_computers/amazon_electronics_computers.npz"},
    {"physics", "coauthor_physics/ms_academic_phy.npz"},
    {"mutag", "tu/MUTAG"},
    {"proteins", "tu/PROTEINS"},
    {"enzymes", "tu/ENZYMES"},
    {"imdb-binary", "tu/IMDB-BINARY"},
    {"dd", "tu/DD"},
    {"collab", "tu/COLLAB.npz"},
    {"reddit-binary", "tu/REDDIT-BINARY.npz"},
    {"gnutella06", "snap/p2p-Gnutella06.txt.gz"},
    {"epinions1", "snap/soc-Epinions1.txt.gz"},
    {"enron", "snap/email-Enron.txt.gz"},
    {"astroph", "snap/ca-AstroPh.txt.gz"},
    {"cs", "coauthor_cs/ms_academic_cs.npz"},
    {"arxiv", "ogb/arxiv.npz"},
    {"fitness", "cstag/Fitness.npz"},
    {"goodreads", "anygraph/Goodreads.npz"},
    {"gowalla", "gowalla.npz"},
    {"collab-links", "ogb/collab.npz"},
    {"web-stanford", "snap/web-Stanford.txt.gz"},
    {"roadnet-pa", "snap/roadNet-PA.txt.gz"},
    {"nci1", "tu/NCI1"},
    {"products-tech", "anygraph/products_tech.npz"},
    {"yelp2018", "yelp2018.npz"},
    {"yelp-text", "anygraph/yelp_textfeat.npz"},
    {"products-home", "anygraph/products_home.npz"},
    {"steam-text", "anygraph/steam_textfeat.npz"},
    {"amazon-text", "anygraph/amazon_textfeat.npz"},
    {"amazon-book", "amazon-book.npz"},
    {"citation-2019", "anygraph/citation-2019.npz"},
    {"citation-classic", "anygraph/citation-classic.npz"},
    {"ppa", "ogb/ppa.npz"},
    {"reddit-multi-5k", "tu/REDDIT-MULTI-5K"},
    {"ogbg-ppa", "ogb/ppa-graphs.npz"},
    {"kitchen", "kitchen.npz"},
    {"karate", "classics/karate.npz"},
    {"football", "classics/football.npz"},
    {"lesmis", "classics/lesmis.npz"},
    {"polbooks", "classics/polbooks.npz"},
    {"dolphins", "classics/dolphins.npz"},
    {NULL, NULL},
};

/* The entry of a name in any case; NULL if unknown. */
static const graph_name *find_graph_name(const char *name) {
    for (const graph_name *entry = graph_names; entry->name; entry++)
        if (strcasecmp(entry->name, name) == 0)
            return entry;
    return NULL;
}

static bool is_readable(char *path, size_t bytes, const char *folder, const char *name, const char *ending) {
    int length = snprintf(path, bytes, "%s/%s%s", folder, name, ending);
    return length > 0 && (size_t)length < bytes && access(path, R_OK) == 0;
}

static bool is_beside(char *path, size_t bytes, const char *name, const char *ending) {
    Dl_info object;
    char folder[PATH_MAX];
    const char *slash = dladdr(graph_names, &object) && object.dli_fname ? strrchr(object.dli_fname, '/') : NULL;
    if (!slash)
        return false;
    int length = snprintf(folder, sizeof folder, "%.*s/mochi-data", (int)(slash - object.dli_fname), object.dli_fname);
    return length > 0 && (size_t)length < sizeof folder && is_readable(path, bytes, folder, name, ending);
}

static bool locate_embedded(const char *name, const char *ending, char *path, size_t bytes) {
    const char *folder = getenv("MOCHI_EMBEDDED");
    if (folder)
        return is_readable(path, bytes, folder, name, ending);
    return is_beside(path, bytes, name, ending) || is_readable(path, bytes, MO_INSTALLED_DATA, name, ending) ||
           is_readable(path, bytes, MO_SOURCE_DATA, name, ending);
}

bool mo_locate_embedded(const char *name, const char *ending, char *path, size_t bytes) {
    return !strchr(name, '/') && locate_embedded(name, ending, path, bytes);
}

bool mo_data_file(const char *name, char *path, size_t bytes) {
    return name && path && locate_embedded(name, "", path, bytes);
}

bool mo_data_folder(char *path, size_t bytes) {
    static const struct {
        const char *variable, *below;
    } places[] = {{"MOCHI_DATA", ""}, {"XDG_DATA_HOME", "/mochi"}, {"HOME", "/.local/share/mochi"}};
    for (size_t i = 0; path && i < sizeof places / sizeof *places; i++) {
        const char *folder = getenv(places[i].variable);
        if (folder && *folder) {
            int length = snprintf(path, bytes, "%s%s", folder, places[i].below);
            return length > 0 && (size_t)length < bytes;
        }
    }
    return false;
}

/* Writes the path of the data set, embedded or below mo_data_folder, and whether it is embedded; returns false if it is
 * in neither place. */
static bool locate_graph(const graph_name *entry, char *path, size_t bytes, bool *embedded) {
    *embedded = locate_embedded(entry->name, ".npz", path, bytes);
    if (*embedded)
        return true;
    char folder[PATH_MAX];
    return mo_data_folder(folder, sizeof folder) &&
           (is_readable(path, bytes, folder, entry->path, "") || is_readable(path, bytes, folder, entry->path, ".gz"));
}

/* ---- the format of a path ---- */

/* A graph's name from its path: "cora" from "data/cora.npz", "COLLAB" from "COLLAB.txt.gz", "MUTAG" from
 * "tu/MUTAG/". */
static void name_of_path(const char *path, char *name, size_t bytes) {
    static const char *const endings[] = {".gz", ".npz", ".txt", ".csv", ".tsv"};
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
    if (memchr(head, '\0', (size_t)got) && !mo_is_utf8(head, strlen(head))) /* a text may have lost one byte */
        return mo_fail(ctx, MO_FORMAT, "%s: expected text, found binary data", path);
    return true;
}

static mo_graph *open_folder(mo_context *ctx, const char *name, const char *folder, bool with_attributes) {
    if (mo_is_features(folder))
        return mo_load_features(ctx, name, folder);
    const char *form = mo_is_tu(folder) ? NULL : mo_foreign_form(folder);
    if (!form)
        return mo_load_tu(ctx, name, folder, with_attributes);
    mo_fail_foreign(ctx, folder, form);
    return NULL;
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
    const char *form = mo_foreign_form(path);
    if (form) {
        mo_fail_foreign(ctx, path, form);
        return NULL;
    }
    if (!read_head(ctx, path, head, sizeof head))
        return NULL;
    return memcmp(head, "PK\003\004", 4) == 0 ? mo_load_npz(ctx, name, path) : mo_load_edge_list(ctx, name, path);
}

/* ---- by name or path ---- */

/* Adds the available names to a message, as far as there is room. */
static void fail_unknown(mo_context *ctx, const char *name, const graph_name *entry) {
    char known[512] = "", path[PATH_MAX];
    size_t used = 0;
    bool embedded;
    for (const graph_name *e = graph_names; e->name; e++)
        if (locate_graph(e, path, sizeof path, &embedded) && used < sizeof known)
            used += (size_t)snprintf(known + used, sizeof known - used, " %s", e->name);
    if (entry)
        mo_fail(ctx, MO_IO, "graph '%s': not found: set MOCHI_DATA to a folder that has %s; found:%s", entry->name,
            entry->path, used ? known : " none");
    else if (strchr(name, '.'))
        mo_fail(ctx, MO_INVALID, "%.200s: there is no file of this name here, and no data set", name);
    else
        mo_fail(ctx, MO_INVALID, "graph '%.200s': expected a path or one of:%s; found neither", name,
            used ? known : " none (set MOCHI_DATA)");
}

/* Whether a path can be a graph: a file, or a folder with the files of one. */
static bool may_be_graph(const char *path) {
    struct stat status;
    if (stat(path, &status) != 0)
        return false;
    return S_ISREG(status.st_mode) || mo_is_features(path) || mo_is_tu(path) || mo_foreign_form(path);
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

bool mo_graph_locate(const char *name_or_path, char *path, size_t bytes) {
    bool embedded;
    if (!name_or_path || !path)
        return false;
    const graph_name *entry = find_graph_name(name_or_path);
    if (entry && locate_graph(entry, path, bytes, &embedded))
        return true;
    return *name_or_path && access(name_or_path, F_OK) == 0 &&
           (size_t)snprintf(path, bytes, "%s", name_or_path) < bytes;
}

bool mo_graph_exists(const char *name_or_path) {
    char path[PATH_MAX];
    return mo_graph_locate(name_or_path, path, sizeof path);
}

mo_graph *mo_graph_open(mo_context *ctx, const char *name_or_path) {
    if (!mo_given(ctx, "graph", "the name or path", name_or_path)) {
        return NULL;
    }
    char path[PATH_MAX], name[256];
    bool embedded;
    if (!mo_ok(ctx))
        return NULL;
    const graph_name *entry = find_graph_name(name_or_path);
    /* A name means one graph, embedded or not; embedded TU sets lack node attributes, so no set opened by name has
     * them. */
    if (entry && locate_graph(entry, path, sizeof path, &embedded))
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
        for (const graph_name *entry = graph_names; entry->name; entry++)
            if (locate_graph(entry, path, sizeof path, &embedded))
                visit(entry->name, path, embedded, state);
    }
    return mo_context_status(ctx)->code;
}
