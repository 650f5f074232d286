/* tensor/cuda/checks.cu - conditions on values of the device, whose errors are raised when the host next waits.
 *
 * A kernel looks for the first position that breaks the condition. The first check that finds one, in the order of the
 * stream, writes the number of its note (its slot), the position and the value to a block of device memory; later
 * checks do not overwrite them. The host keeps the note of each check until it has read the block or, for a check in a
 * capture, as long as the capture lives. */
#include "tensor/cuda/device.h"

struct looked_at {
    int64_t condition, n, limit, slot, recorded;
    const void *values;
    const double *bounds;
};

static __device__ int64_t value_at(const looked_at &c, int64_t i) {
    if (c.condition == MO_VALUES_ZERO)
        return static_cast<const int32_t *>(c.values)[i];
    return static_cast<const int64_t *>(c.values)[i]; /* for float64 values, their bits */
}

static __device__ bool holds(const looked_at &c, int64_t i) {
    const int64_t *integer = static_cast<const int64_t *>(c.values);
    const double *real = static_cast<const double *>(c.values);
    switch (c.condition) {
    case MO_VALUES_ZERO:
        return static_cast<const int32_t *>(c.values)[i] == 0;
    case MO_VALUES_INDEX:
        return integer[i] >= 0 && integer[i] < c.limit;
    case MO_VALUES_OFFSETS:
        return (i == 0 ? integer[0] == 0 : integer[i] >= integer[i - 1]) && (i < c.n - 1 || integer[i] == c.limit);
    case MO_VALUES_DIVISOR:
        return real[i] != 0 && real[i] - real[i] == 0;
    case MO_VALUES_FINITE:
        return real[i] - real[i] == 0;
    default: /* MO_VALUES_ABOVE */
        return real[i] > c.bounds[i];
    }
}

/* Runs in one block. */
static __global__ void check_kernel(looked_at c, found_error *error) {
    __shared__ unsigned long long first;
    if (threadIdx.x == 0)
        first = (unsigned long long)c.n;
    __syncthreads();
    for (int64_t i = threadIdx.x; i < c.n; i += blockDim.x)
        if (!holds(c, i)) {
            atomicMin(&first, (unsigned long long)i);
            break;
        }
    __syncthreads();
    int64_t position = (int64_t)first;
    if (threadIdx.x != 0 || position == c.n || error->found)
        return;
    error->found = 1;
    error->slot = c.slot;
    error->position = position;
    error->value = value_at(c, position);
    error->before = position > 0 ? value_at(c, position - 1) : 0;
    error->ahead = c.recorded ? error->now : 0;
}

bool checks_open(mo_context *ctx) {
    cuda_checks *k = &state_of(ctx)->checks;
    k->notes = static_cast<mo_note *>(calloc(most_notes, sizeof *k->notes));
    k->device = static_cast<found_error *>(seam_allocate(seam_of(ctx), sizeof *k->device));
    k->host = static_cast<found_error *>(seam_pin(sizeof *k->host));
    if (k->device)
        seam_fill(seam_of(ctx), k->device, 0, sizeof *k->device);
    return k->notes && k->device && k->host;
}

void checks_close(mo_context *ctx) {
    cuda_checks *k = &state_of(ctx)->checks;
    free(k->notes);
    if (k->device)
        seam_release(seam_of(ctx), k->device);
    if (k->host)
        seam_unpin(k->host);
}

/* Returns the note in a slot. Slots below most_notes are the context's; capture c has most_notes slots from c *
 * most_notes on. */
static mo_note *find_note(mo_context *ctx, int64_t slot) {
    cuda_capture *r = slot < most_notes ? nullptr : find_capture(ctx, slot / most_notes);
    mo_note *notes = slot < most_notes ? state_of(ctx)->checks.notes : r ? r->notes : nullptr;
    return notes ? &notes[slot % most_notes] : nullptr;
}

static void raise_found(mo_context *ctx, const found_error *found) {
    mo_note *note = find_note(ctx, found->slot);
    mo_found value, before;
    value.integer = found->value;
    before.integer = found->before;
    if (!note) /* cannot happen: capture_release_cuda waits first */
        return;
    note->ahead = found->ahead;
    note->check.raise(ctx, note, found->position, value, before);
}

void checks_wait(mo_context *ctx) {
    cuda_checks *k = &state_of(ctx)->checks;
    seam *s = seam_of(ctx);
    if (!not_capturing(ctx, "it was waited for"))
        return;
    bool looked = k->count > 0 || k->replayed;
    if (looked)
        seam_download(s, k->host, k->device, sizeof *k->host);
    const char *failure = seam_wait(s);
    if (!failure)
        failure = seam_failure(s);
    if (!cuda_ok(ctx, "the device stopped", failure) || !looked)
        return;
    k->count = 0;
    k->replayed = false;
    if (!k->host->found)
        return;
    raise_found(ctx, k->host);
    seam_fill(s, k->device, 0, sizeof *k->device);
}

/* Returns a note that stays until its check has been read, and its slot; NULL if a capture has no slot left. */
static mo_note *take_note(mo_context *ctx, int64_t *slot) {
    cuda_checks *k = &state_of(ctx)->checks;
    cuda_capture *r = state_of(ctx)->capture;
    if (r && r->count == most_notes) {
        not_capturing(ctx, "more than 1024 conditions were checked");
        return nullptr;
    }
    if (!r && k->count == most_notes)
        checks_wait(ctx);
    *slot = r ? r->number * most_notes + r->count : k->count;
    return r ? &r->notes[r->count++] : &k->notes[k->count++];
}

void check_cuda(mo_context *ctx, const mo_check *check) {
    int64_t n = leading(&check->values, check->values.ndim), slot = 0;
    if (n == 0 && check->condition != MO_VALUES_OFFSETS)
        return;
    mo_note *note = take_note(ctx, &slot);
    if (!note)
        return;
    note->check = *check;
    note->ahead = 0;
    if (check->describe)
        check->describe(check->caller, note);
    looked_at c = {check->condition, n, check->limit, slot, state_of(ctx)->capture != nullptr, check->values.data,
        static_cast<const double *>(check->bounds.data)};
    mo_launch(
        check_kernel, dim3(1), dim3(n > 256 ? 1024 : block_threads), 0, seam_of(ctx), c, state_of(ctx)->checks.device);
}
