/* models/encoded.h - functions that the models share behind their tables (library internal). */
#ifndef MO_ENCODED_H
#define MO_ENCODED_H

#include "models/encoder.h"

/* ---- episode.c ---- */

/* Selects the examples among an episode's embeddings Z: rows of examples lie in order, [.., n, d]; rows of nodes and
 * graphs [N, d] are selected by number, and a link is the product of its ends. */
void mo_episode_examples(
    mo_tape *t, const mo_episode *e, mo_tensor *Z, bool of_examples, mo_tensor **Zs, mo_tensor **Zq);

/* Logits of the queries Zq by a head fitted on the support's embeddings Zs, with its labels and weights. */
mo_tensor *mo_episode_readout(
    mo_tape *t, const mo_episode *e, const mo_head *head, mo_tensor *Zs, mo_tensor *Zq, mo_tensor *const *parameters);

/* ---- head.c ---- */

/* mo_head_apply, with weights of the rows as mo_head_weighted has them, of any dtype; NULL: no row is a copy. */
mo_tensor *mo_head_apply_weighted(mo_tape *t, const mo_head *head, mo_tensor *Zs, mo_tensor *Ys, mo_tensor *weight,
    mo_tensor *Zq, mo_tensor *const *parameters);

/* ---- model.c ---- */

/* Copies n parameters by name, all of them or none. Returns the status. */
mo_code mo_load_parameters(mo_context *ctx, mo_tensor *const *parameters, int n, const mo_arrays *arrays);
/* Returns whether arrays hold every parameter in its shape. */
bool mo_arrays_fit(mo_tensor *const *parameters, int n, const mo_arrays *arrays);

/* ---- encoder.c ---- */

/* The encoder as a model without a readout. */
mo_model mo_encoder_bare(
    mo_context *ctx, mo_dtype real, const mo_encoder *encoder, mo_encoder_rows rows, uint64_t seed);

#endif
