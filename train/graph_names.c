/* train/graph_names.c - the names of known data sets and where each lies.
 *
 * Embedded graphs are NAME.npz in the first of these folders that has it: $MOCHI_EMBEDDED (alone, where it is set), the
 * installed data folder, the source tree. The others are looked for below $MOCHI_DATA. */
#include "train/graph_names.h"
#include "train/data_folders.h"

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
    {"collab", "tu/COLLAB/COLLAB.txt.gz"},
    {"reddit-binary", "tu/REDDIT-BINARY/REDDIT-BINARY.txt.gz"},
    {"gnutella06", "snap/p2p-Gnutella06.txt.gz"},
    {"epinions1", "snap/soc-Epinions1.txt.gz"},
    {"enron", "snap/email-Enron.txt.gz"},
    {"astroph", "snap/ca-AstroPh.txt.gz"},
    {NULL, NULL},
};

const mo_graph_name *mo_find_graph_name(const char *name) {
    for (const mo_graph_name *entry = mo_graph_names; entry->name; entry++) {
        if (strcasecmp(entry->name, name) == 0) {
            return entry;
        }
    }
    return NULL;
}

static bool readable(char *path, size_t bytes, const char *folder, const char *name, const char *ending) {
    int length = snprintf(path, bytes, "%s/%s%s", folder, name, ending);
    return length > 0 && (size_t)length < bytes && access(path, R_OK) == 0;
}

static bool locate_embedded(const char *name, const char *ending, char *path, size_t bytes) {
    const char *folder = getenv("MOCHI_EMBEDDED");
    if (folder) {
        return readable(path, bytes, folder, name, ending);
    }
    return readable(path, bytes, MO_INSTALLED_DATA, name, ending) ||
           readable(path, bytes, MO_SOURCE_DATA, name, ending);
}

bool mo_locate_weights(const char *name, char *path, size_t bytes) {
    return !strchr(name, '/') && locate_embedded(name, ".safetensors", path, bytes);
}

bool mo_locate_graph(const mo_graph_name *entry, char *path, size_t bytes, bool *embedded) {
    *embedded = locate_embedded(entry->name, ".npz", path, bytes);
    if (*embedded) {
        return true;
    }
    const char *folder = getenv("MOCHI_DATA");
    return folder && readable(path, bytes, folder, entry->path, "");
}
