/* train/graphs/loaders.h - one loader per file format (library internal). All return NULL on failure. */
#ifndef MO_LOADERS_H
#define MO_LOADERS_H

#include "train/inside.h"

/* Writes the path of an embedded file by its name and ending; false if there is none, or if the name is a path. */
bool mo_locate_embedded(const char *name, const char *ending, char *path, size_t bytes);
/* Names of the .npz members that hold each part of a division: row [0] for one division (lists of nodes), row [1] for
 * several (masks). */
extern const char *const mo_division_keys[2][MO_DIVISIONS];
/* The .npz form of gnn-benchmark, and the compact one of train/data/. */
mo_graph *mo_load_npz(mo_context *ctx, const char *name, const char *path);
/* A TU folder: NAME_A.txt, NAME_graph_indicator.txt, NAME_graph_labels.txt and, if present, NAME_node_labels.txt and
 * (with_attributes) NAME_node_attributes.txt. */
mo_graph *mo_load_tu(mo_context *ctx, const char *name, const char *folder, bool with_attributes);
bool mo_is_tu(const char *folder);
/* SNAP's edge list, plain or gzipped. */
mo_graph *mo_load_edge_list(mo_context *ctx, const char *name, const char *path);
/* Sets a graph's edges from a table, or from lines of ids or of words, and its nodes if it has none yet: every id or
 * name. Ids are numbers of nodes if the graph has nodes without names. False on failure. */
bool mo_load_edges(mo_graph *graph, const char *path);
/* Returns whether an edge of a table or text has that name as an end; also false on failure. */
bool mo_edges_have_name(mo_context *ctx, const char *path, const char *name);
/* The form of a file or folder that only Python reads (foreign.c), such as "GML"; NULL: it is none that is known. */
const char *mo_foreign_form(const char *path);
/* The same for the arrays of an .npz. */
const char *mo_foreign_arrays(const mo_arrays *arrays);
/* Raises MO_UNSUPPORTED with the form and the command that converts the path. */
void mo_fail_foreign(mo_context *ctx, const char *path, const char *form);
/* The form of rows that only Python reads, by a file's name, such as "Parquet"; NULL: it is none that is known. */
const char *mo_foreign_rows(const char *path);
/* Raises MO_UNSUPPORTED with the form and the commands that make rows of it and fit them; form NULL: with what a table
 * is. label: the name of the labels in the file, or NULL. */
void mo_fail_foreign_rows(mo_context *ctx, const char *path, const char *form, const char *label);
/* A folder with edges and optionally features and labels (train/FORMATS.md). */
mo_graph *mo_load_features(mo_context *ctx, const char *name, const char *folder);
bool mo_is_features(const char *folder);

#endif
