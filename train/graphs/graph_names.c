/* train/graphs/graph_names.c - the names of known data sets and where each lies.
 *
 * Embedded graphs are NAME.npz in the first of these folders that has it: $MOCHI_EMBEDDED (if it is set, only this),
 * the folder mochi-data beside the shared library (in the Python package), the installed data folder, the source tree.
 * All other graphs are searched below mo_data_folder, text also gzipped. train/data/manifest.json lists the origin of
 * each name. */
#include "train/graphs/graph_names.h"
#include "train/data_folders.h"
#include "train/graph.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

const mo_graph_name mo_graph_names[] = {
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
    {"collab", "tu/COLLAB/COLLAB.txt"},
    {"reddit-binary", "tu/REDDIT-BINARY/REDDIT-BINARY.txt"},
    {"gnutella06", "snap/p2p-Gnutella06.txt.gz"},
    {"epinions1", "snap/soc-Epinions1.txt.gz"},
    {"enron", "snap/email-Enron.txt.gz"},
    {"astroph", "snap/ca-AstroPh.txt.gz"},
    {"cs", "coauthor_cs/ms_academic_cs.npz"},
    {"arxiv", "ogb/arxiv.npz"},
    {"fitness", "cstag/Fitness.npz"},
    {"goodreads", "anygraph/Goodreads.npz"},
    {"gowalla", "gowalla"},
    {"collab-links", "ogb/collab.npz"},
    {"web-stanford", "snap/web-Stanford.txt.gz"},
    {"roadnet-pa", "snap/roadNet-PA.txt.gz"},
    {"nci1", "tu/NCI1"},
    {"products-tech", "anygraph/products_tech.npz"},
    {"yelp2018", "yelp2018"},
    {"yelp-text", "anygraph/yelp_textfeat.npz"},
    {"products-home", "anygraph/products_home.npz"},
    {"steam-text", "anygraph/steam_textfeat.npz"},
    {"amazon-text", "anygraph/amazon_textfeat.npz"},
    {"amazon-book", "amazon-book"},
    {"citation-2019", "anygraph/citation-2019.npz"},
    {"citation-classic", "anygraph/citation-classic.npz"},
    {"ppa", "ogb/ppa.npz"},
    {"reddit-multi-5k", "tu/REDDIT-MULTI-5K"},
    {"ogbg-ppa", "ogb/ppa-graphs.npz"},
    {"karate", "classics/karate_club_networkx.gml"},
    {"football", "classics/football.gml"},
    {"lesmis", "classics/lesmis.gml"},
    {"polbooks", "classics/polbooks.gml"},
    {"dolphins", "classics/dolphins.gml"},
    {NULL, NULL},
};

const mo_graph_name *mo_find_graph_name(const char *name) {
    for (const mo_graph_name *entry = mo_graph_names; entry->name; entry++)
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
    const char *slash = dladdr(mo_graph_names, &object) && object.dli_fname ? strrchr(object.dli_fname, '/') : NULL;
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

bool mo_data_file(const char *name, char *path, size_t bytes) {
    return locate_embedded(name, "", path, bytes);
}

bool mo_data_folder(char *path, size_t bytes) {
    static const struct {
        const char *variable, *below;
    } places[] = {{"MOCHI_DATA", ""}, {"XDG_DATA_HOME", "/mochi"}, {"HOME", "/.local/share/mochi"}};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        const char *folder = getenv(places[i].variable);
        if (folder && *folder) {
            int length = snprintf(path, bytes, "%s%s", folder, places[i].below);
            return length > 0 && (size_t)length < bytes;
        }
    }
    return false;
}

bool mo_locate_weights(const char *name, char *path, size_t bytes) {
    return !strchr(name, '/') && locate_embedded(name, ".safetensors", path, bytes);
}

bool mo_locate_list(const char *name, const char *ending, char *path, size_t bytes) {
    return !strchr(name, '/') && locate_embedded(name, ending, path, bytes);
}

bool mo_locate_graph(const mo_graph_name *entry, char *path, size_t bytes, bool *embedded) {
    *embedded = locate_embedded(entry->name, ".npz", path, bytes);
    if (*embedded)
        return true;
    char folder[PATH_MAX];
    return mo_data_folder(folder, sizeof folder) &&
           (is_readable(path, bytes, folder, entry->path, "") || is_readable(path, bytes, folder, entry->path, ".gz"));
}
