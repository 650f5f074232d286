/* tools/python/door/callbacks.h - the Python functions that the library calls; cffi defines them. */
mo_tensor *door_residual(mo_tape *t, mo_tensor *x, mo_tensor *const *theta, int n, void *state);
mo_tensor *door_jacobian(mo_tape *t, mo_tensor *x, mo_tensor *const *theta, int n, void *state);
mo_tensor *door_graph_code(mo_tape *t, mo_tensor *const *in, int n, void *state);
void door_function(mo_tape *t, mo_tensor *const *in, int n_in, mo_tensor **out, int n_out, void *state);
bool door_op_shape(mo_call *c);
void door_op_forward(mo_call *c);
void door_op_vjp(mo_vjp *v);
void door_notice(const char *line, void *state);
void door_fit_row(const mo_eval_row *row, void *state);
void door_fit_progress(const char *part, int64_t done, int64_t of, void *state);
bool door_report(const mo_step_report *r, void *state);
bool door_go_on(mo_context *ctx, void *state);
void door_done(void *state);
void door_dl_free(struct door_dl_managed *self);
void door_dl_free_versioned(struct door_dl_versioned *self);
void door_dl_drop(void *capsule);
