/* tests/held.h - what a test holds until the end of a block: `HELD(mo_tape) *t = ...;` releases t there, after the
 * objects that are declared below it, and `HELD_MEMORY double *x = ...;` frees x. */
#ifndef HELD_H
#define HELD_H

#include "tests/suite.h"
#include "train/features/example_kernels.h"
#include "train/inside.h"

#include <stdlib.h>

#define HELD(type) __attribute__((cleanup(held_##type))) type

#define HELD_MEMORY __attribute__((cleanup(held_memory)))

static inline void held_memory(void *pointer) {
    free(*(void **)pointer);
}

static inline void held_mo_context(mo_context **ctx) {
    assert_int_equal(mo_context_release(*ctx), MO_OK);
}

static inline void held_mo_tape(mo_tape **t) {
    mo_tape_release(*t);
}

/* A tape that is released with its context. */
typedef mo_tape lone_tape;

static inline void held_lone_tape(mo_tape **t) {
    mo_context *ctx = mo_tape_context(*t);
    mo_tape_release(*t);
    held_mo_context(&ctx);
}

static inline void held_mo_tensor(mo_tensor **T) {
    mo_tensor_release(*T);
}

/* Tensors that are released together; NULL ends them if they are fewer than MOST_LEAVES. */
enum { MOST_LEAVES = 5 };

typedef struct leaves {
    mo_tensor *of[MOST_LEAVES];
} leaves;

static inline void held_leaves(leaves *all) {
    for (int i = 0; i < MOST_LEAVES && all->of[i]; i++)
        mo_tensor_release(all->of[i]);
}

static inline void held_mo_csr(mo_csr **A) {
    mo_csr_release(*A);
}

static inline void held_mo_arrays(mo_arrays **arrays) {
    mo_arrays_release(*arrays);
}

static inline void held_mo_model(mo_model **model) {
    mo_model_release(*model);
}

static inline void held_mo_weights(mo_weights **weights) {
    mo_weights_release(*weights);
}

static inline void held_mo_graph(mo_graph **graph) {
    mo_graph_release(*graph);
}

static inline void held_mo_links(mo_links **links) {
    mo_links_release(*links);
}

static inline void held_mo_features(mo_features **features) {
    mo_features_release(*features);
}

static inline void held_mo_example_kernels(mo_example_kernels **kernels) {
    mo_example_kernels_release(*kernels);
}

static inline void held_mo_plan(mo_plan *plan) {
    mo_plan_release(plan);
}

static inline void held_mo_link_scorer(mo_link_scorer **scorer) {
    mo_link_scorer_release(*scorer);
}

static inline void held_mo_pool(mo_pool **pool) {
    mo_pool_release(*pool);
}

static inline void held_mo_trainer(mo_trainer **trainer) {
    mo_trainer_release(*trainer);
}

static inline void held_mo_optimizer(mo_optimizer **optimizer) {
    mo_optimizer_release(*optimizer);
}

static inline void held_mo_few_shot(mo_few_shot **few_shot) {
    mo_few_shot_release(*few_shot);
}

static inline void held_mo_embeddings(mo_embeddings **embeddings) {
    mo_embeddings_release(*embeddings);
}

static inline void held_mo_diagnosis(mo_diagnosis *diagnosis) {
    mo_diagnosis_release(diagnosis);
}

#endif
