/* tools/python/binding/callbacks.h - the Python functions that the library calls; cffi defines them. */
mo_tensor *binding_residual(mo_tape *t, mo_tensor *x, mo_tensor *const *theta, int n, void *state);
mo_tensor *binding_jacobian(mo_tape *t, mo_tensor *x, mo_tensor *const *theta, int n, void *state);
mo_tensor *binding_graph_code(mo_tape *t, mo_tensor *const *in, int n, void *state);
void binding_function(mo_tape *t, mo_tensor *const *in, int n_in, mo_tensor **out, int n_out, void *state);
bool binding_op_shape(mo_call *c);
void binding_op_forward(mo_call *c);
void binding_op_vjp(mo_vjp *v);
void binding_notice(const char *line, void *state);
void binding_fit_row(const mo_eval_row *row, void *state);
void binding_fit_progress(const char *part, int64_t done, int64_t of, void *state);
bool binding_report(const mo_step_report *r, void *state);
bool binding_go_on(mo_context *ctx, void *state);
void binding_done(void *state);
void binding_dl_free(struct binding_dl_managed *self);
void binding_dl_free_versioned(struct binding_dl_versioned *self);
void binding_dl_drop(void *capsule);
