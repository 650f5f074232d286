/* tensor/cuda/recording.h - steps that are kept as graphs of the device. */
#ifndef MO_CUDA_RECORDING_H
#define MO_CUDA_RECORDING_H

#include "tensor/cuda/device.h"

constexpr size_t recorded_uploads = (size_t)1 << 20; /* bytes of constants that one recording may hold */

struct cuda_recording {
    seam_graph *graph;
    mo_note *notes; /* of its checks */
    int count;
    int64_t number, episodes;
    uint64_t moves;  /* of memory, when it was made */
    char *constants; /* page-locked: what it uploads at each replay */
    size_t used;
    cuda_recording *next;
};

bool record_cuda(mo_context *ctx, int64_t episodes);
void *record_end_cuda(mo_context *ctx);
bool replay_cuda(mo_context *ctx, void *recording, int64_t ahead);
void forget_recording_cuda(mo_context *ctx, void *recording);

/* Whether nothing is being recorded; else what a recording cannot hold is raised, and the recording given up. */
bool not_recording(mo_context *ctx, const char *what);
/* Page-locked memory that lives as long as the recording that is being made; NULL (raised) where there is no more. */
char *recording_constants(mo_context *ctx, size_t bytes);
/* The recording of that number, NULL where there is none. */
cuda_recording *find_recording(mo_context *ctx, int64_t number);
/* Gives up what is being recorded. */
void recording_close(mo_context *ctx);

/* How far a recorded step has moved on when it is replayed. */
struct moving_steps {
    const int64_t *ahead; /* on the device; NULL: nothing is being recorded */
    int64_t episodes;
};
moving_steps steps_of(mo_context *ctx);

#endif
