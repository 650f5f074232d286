/* tensor/cuda/pinned.cu - queued copies out of the caller's page-locked memory. An event behind the last copy tells
 * when the memory may be written again: with two such buffers a thread fills one while the other is being copied. */
#include "tensor/cuda/pinned.h"

#include "tensor/cuda/capture.h"

static seam_event *mark_of(const mo_pinned *p) {
    return static_cast<seam_event *>(p->mark);
}

bool pin_cuda(mo_context *ctx, size_t bytes, mo_pinned *p) {
    void *data = seam_pin(bytes);
    seam_event *mark = data ? seam_event_create(seam_of(ctx)) : nullptr;
    if (data && !mark)
        seam_unpin(data);
    *p = {mark ? data : nullptr, bytes, mark};
    return mark != nullptr;
}

/* Waits after a failure too, as a copy may still be running. */
void unpin_cuda(mo_context *ctx, mo_pinned *p) {
    (void)ctx;
    seam_event_wait(mark_of(p));
    seam_event_release(mark_of(p));
    seam_unpin(p->data);
}

void send_cuda(mo_context *ctx, void *device, const mo_pinned *p, size_t offset, size_t bytes) {
    if (!not_capturing(ctx, "page-locked memory was sent"))
        return;
    seam_upload(seam_of(ctx), device, static_cast<const char *>(p->data) + offset, bytes);
    seam_event_record(seam_of(ctx), mark_of(p));
}

void sent_cuda(mo_context *ctx, const mo_pinned *p) {
    const char *failure = seam_event_wait(mark_of(p));
    if (mo_ok(ctx))
        cuda_ok(ctx, "the device stopped", failure);
}
