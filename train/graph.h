/* train/graph.h - graphs and link splits in host memory, and plans: the examples of an episode. Part of train/inside.h:
 * may change in any release. */
#ifndef MO_GRAPH_H
#define MO_GRAPH_H

#include "models/inside.h"
#include "train/train.h"

/* ---- graph: one data set, a single graph or a set of graphs laid one after another ---- */

/* The parts of a published division of a graph's nodes: to learn from, to choose settings by, to test on. */
typedef enum mo_division {
    MO_DIVISION_NONE = 0,
    MO_DIVISION_TRAIN,
    MO_DIVISION_VALIDATION,
    MO_DIVISION_TEST,
    MO_DIVISIONS
} mo_division;

/* Host arrays, owned by the graph. The adjacency is undirected, without duplicates and self-loops: both triangles,
 * columns ascending in each row. Nodes of graph g are graph_offset[g] .. graph_offset[g + 1] - 1. */
struct mo_graph {
    mo_context *ctx;
    int64_t holders; /* objects of the library that read it: it is freed with the last of them */
    char *name;
    int64_t nodes, graphs;
    int64_t *graph_offset; /* [graphs + 1] */
    int64_t nnz;           /* 2 x undirected edges */
    int64_t *row_pointer;  /* [nodes + 1] */
    int32_t *column;       /* [nnz] */
    float *weight;         /* [nnz], above 0, equal in both directions; NULL: all equal */
    double *time;          /* [nnz]: of each edge, the earliest that is listed for it; NULL: none came. Not hashed */
    int64_t features;      /* columns of the node features; 0: none */
    int64_t attributes;    /* TU sets: number of leading columns that are attributes, not labels */
    int64_t feature_nnz;
    int64_t *feature_pointer; /* [nodes + 1], CSR, or NULL */
    int32_t *feature_column;
    float *feature_value;
    char **feature_name;     /* [features], the columns' names in the file; NULL: they have none */
    char *recoded;           /* for users: columns made of words, and gaps that were filled; NULL: none */
    struct mo_graph *loaded; /* the held graph from which mo_graph_scale made this one; NULL: it is as it was loaded */
    char *scaled;            /* for users: the columns that mo_graph_scale changed or left out; NULL: none */
    int64_t n_labels;        /* nodes (single graph) or graphs (set of graphs); 0: no labels */
    int64_t *label;          /* 0 .. classes - 1, or -1: unlabelled */
    int64_t classes;
    int64_t divisions; /* number of divisions that came with the data set, independent of each other */
    uint8_t *division; /* [divisions, nodes]: the mo_division of each node; NULL if none came. Not hashed */
    int64_t dropped_loops, dropped_duplicates; /* edges that the loader removed */
    char *source;                              /* path or name it was read from */
    char *left_out; /* for users: other content of the files that was not read (comments, graphs without nodes, features
                     * that number the nodes); NULL: nothing */
    char *headers;  /* for users: first lines that were read as a table's header; NULL: none */
    struct mo_node_names *names; /* the examples' names, in their order (mo_graph_name_nodes); NULL: 0 .. n - 1 */
    char **class_name;           /* [classes], their names in the file; NULL: 0 .. classes - 1 */
    int64_t n_counted, *counted; /* [n_counted]: the examples over which means and spreads of features are taken, rising
                                  * (other_graph.c); NULL: all */
    bool node_numbers, class_numbers; /* whether the nodes' names, and the classes', are whole numbers */
    uint64_t hash[2];                 /* XXH3-128 of the content */
};

/* The attributes of an example, and the names of its neighbours with their classes, in indented lines; of a graph of a
 * set its size. class_of [examples]: known classes, or -1; class_name: their names. To be freed; NULL if out of memory.
 */
MO_API char *mo_example_words(const mo_graph *graph, int64_t id, const int64_t *class_of, char *const *class_name);
/* Returns whether mo_graph_open finds a file for that name or path. mo_graph_locate also writes where. */
MO_API bool mo_graph_exists(const char *name_or_path);
MO_API bool mo_graph_locate(const char *name_or_path, char *path, size_t bytes);
MO_API bool mo_graph_has_edge(const mo_graph *graph, int64_t u, int64_t v);
MO_API bool mo_graph_has_task(
    const mo_graph *graph, mo_task task); /* nc: labelled single graph; lp: single graph; gc: labelled set */
/* How many examples can be labelled: the graphs of a set, or the nodes of a single graph. */
MO_API int64_t mo_graph_examples(const mo_graph *graph);
/* Examples have the names of the file or, without any, their numbers. mo_graph_find_example returns the example of that
 * name, or -1. mo_graph_example_name returns the name, borrowed or, if it is a number, written to `number`. */
MO_API int64_t mo_graph_find_example(const mo_graph *graph, const char *name);
MO_API const char *mo_graph_example_name(const mo_graph *graph, int64_t i, char number[24]);

/* A class's name in its file, borrowed, or else its number, written to `number`. */
MO_API const char *mo_graph_class_name(const mo_graph *graph, int64_t c, char number[24]);

/* Labels of n examples: classes 0 .. classes - 1, with their names. Owned; release. */
typedef struct mo_labels {
    int64_t n, classes;
    int64_t *id, *label; /* [n]; ids rise */
    char **name;         /* [classes] */
    char *left_out;      /* lines of the file that are not labels, as printed by `mochi data info`; NULL: none */
    char *headers;       /* first lines that were read as a header; NULL: none */
} mo_labels;
/* Reads CSV or TSV of two columns, example and class; an empty class is no label. path: a file, a pipe, "-" for
 * standard input, or several files separated by commas. A first line is a header if its second field is `label` or
 * `class`, or its first field is neither an example nor a number. Classes that are whole numbers are sorted as numbers,
 * others by their bytes. Returns false on failure; the status names file and line. */
MO_API bool mo_labels_read(const mo_graph *graph, const char *path, mo_labels *labels);
/* Reads labels by row, as mo_embeddings_open does: row i is example i if the examples are called 0 .. n - 1, else the
 * rows' names are in FILE.names.txt beside the file, one per line. At least one example must be labelled. Returns false
 * on failure. */
MO_API bool mo_labels_read_column(const mo_graph *graph, const char *path, mo_labels *labels);
/* Makes labels from an array label [n]: keeps entries of 0 or more whose mask is not 0 (NULL: no mask). Returns false
 * on failure. */
MO_API bool mo_labels_of(mo_context *ctx, const int64_t *label, const double *mask, int64_t n, mo_labels *labels);
MO_API void mo_labels_release(mo_labels *labels);

/* Calls visit(name, path, embedded) for each name that mo_graph_open knows. */
MO_API mo_code mo_graph_list(
    mo_context *ctx, void (*visit)(const char *name, const char *path, bool embedded, void *state), void *state);
/* The folder of data sets: $MOCHI_DATA, else mochi/ in the user's data folder ($XDG_DATA_HOME, ~/.local/share). Returns
 * false if none of these is set or the path is too long. */
MO_API bool mo_data_folder(char *path, size_t bytes);
/* The path of a file of the library (train/data); returns false if it is not there. */
MO_API bool mo_data_file(const char *name, char *path, size_t bytes);
/* mo_graph_from_arrays makes a graph of arrays in the .npz form (train/FORMATS.md), mo_graph_arrays the arrays of a
 * graph. The caller releases the result; NULL on failure. Error messages begin with path. */
MO_API mo_graph *mo_graph_from_arrays(const mo_arrays *arrays, const char *name, const char *path);
MO_API mo_arrays *mo_graph_arrays(const mo_graph *graph);
/* Writes the graph in the .npz form that mo_graph_open reads, all or nothing. Returns the status. */
MO_API mo_code mo_graph_write(const mo_graph *graph, const char *path);

/* ---- splits and episodes: which examples (host side) ---- */

/* The examples of one episode. Ids are nodes (nc), graphs (gc) or the two ends of links (lp). Owned; release. */
typedef struct mo_plan {
    mo_task task;
    int64_t classes, k, q; /* classes present; support and query examples per class */
    int64_t n_support, n_query;
    int64_t *support[2], *query[2]; /* [1]: second ends for lp, else NULL */
    int64_t *support_label, *query_label;
    int64_t *support_pair, *query_pair; /* lp: indices into the links, positives before negatives; else NULL */
    int64_t small_classes; /* classes with fewer than k + q members (in a division: than k), which can repeat */
    int64_t left_out;      /* classes left out, because they have one member or, in a division, no training node */
} mo_plan;

/* Links as examples: positives held out of the adjacency, and a fixed pool of non-edges (pairs without an edge in
 * either direction). */
typedef struct mo_links {
    int64_t n_positive, n_negative;
    int64_t *positive[2], *negative[2]; /* u < v */
    mo_graph *masked;                   /* the graph without the positives, with the original's features and labels */
} mo_links;

/* Masks a share of the undirected edges (rounded, at least 1; if edges have times, the last, latest first) and draws
 * `negatives` non-edges; seeded. Returns NULL on failure. */
MO_API mo_links *mo_links_create(const mo_graph *graph, double share, int64_t negatives, uint64_t seed);
MO_API void mo_links_release(mo_links *links);
/* Whether two nodes have a neighbour in common. */
MO_API bool mo_graph_two_steps(const mo_graph *graph, int64_t u, int64_t v);
/* Pairs of nodes u < v that are two steps apart in a graph and not linked in `whole`, which has its edges and perhaps
 * more: `all` of them, of which n are drawn, each set equally likely, in rising order. Owned; release. */
typedef struct mo_near_pairs {
    int64_t n, all, *end[2];
} mo_near_pairs;
/* Draws `most` pairs, or all if there are fewer. Takes time in proportion to the walks of two steps. Returns false on
 * failure. */
MO_API bool mo_near_pairs_draw(
    const mo_graph *graph, const mo_graph *whole, int64_t most, uint64_t seed, mo_near_pairs *near);
MO_API void mo_near_pairs_release(mo_near_pairs *near);
/* Of the links keeps those that are two steps apart in the masked graph, and replaces the pairs without a link by as
 * many that are two steps apart there, too, so that neither kind is told by its distance. Raises MO_INVALID if there
 * are fewer than two of a kind. Returns false on failure. */
MO_API bool mo_links_keep_near(const mo_graph *graph, mo_links *links, uint64_t seed);
/* A copy of the graph without n of its edges u < v. Returns NULL on failure, as for a pair that is no edge. */
MO_API mo_graph *mo_graph_without(const mo_graph *graph, int64_t *const ends[2], int64_t n);

/* The plan of episode `number`, a function of (seed, number) alone. links: for lp, else NULL. Returns the status:
 * MO_INVALID if fewer than two classes remain. */
MO_API mo_code mo_plan_draw(const mo_graph *graph, const mo_links *links, mo_task task, uint64_t number,
    const mo_plan_options *options, mo_plan *plan);
/* Protocol "split": the support has k examples per class from the training part (if a class has fewer: all of them,
 * then repeats); the queries are the test part, at natural frequencies. The test part is 10% of the labelled examples,
 * a function of the seed. Classes without a training example are left out, with their queries. */
MO_API mo_code mo_plan_split(const mo_graph *graph, mo_task task, int64_t k, uint64_t seed, mo_plan *plan);
/* Protocol "public", on one of the divisions that came with the graph: the support is its training part, the queries
 * are its whole test part, and plan->k is the number of training nodes in the smallest class. Classes without a
 * training node are left out, with their queries; the others are numbered in order. Raises MO_INVALID if the graph has
 * no such division, or fewer than two classes remain. */
MO_API mo_code mo_plan_public(const mo_graph *graph, int64_t division, mo_plan *plan);
/* Adds `divisions` divisions, drawn by the seed, to a graph of labelled nodes that came without any. Each has 20
 * training nodes times the number of classes, in proportion to class sizes (the rule of Zhao et al., GraphAny, ICLR
 * 2025; at most four fifths of the labelled nodes). Half of the remaining labelled nodes are test nodes. Returns the
 * number of training nodes, 0 after raising. */
MO_API int64_t mo_graph_divide(mo_graph *graph, int64_t divisions, uint64_t seed);
/* Reads a user's own division [examples]: the file `train` lists the training examples, `test` the test examples; if
 * one of the two is NULL, its part is all other examples. A list is .npy (names that are whole numbers, or numbers from
 * 0) or text, the first field of each line (names, or numbers from 0) with or without a header. what: "nodes" or
 * "rows", for messages. Raises if an example is listed twice. Returns false on failure. */
MO_API bool mo_division_read(
    const mo_graph *graph, const char *train, const char *test, const char *what, uint8_t *division);
MO_API void mo_plan_release(mo_plan *plan);

#endif
