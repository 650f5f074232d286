/* tensor/cpu/copy.h - copy and fill of the CPU backend, for every dtype. */
#ifndef MO_CPU_COPY_H
#define MO_CPU_COPY_H

#include "tensor/cpu/loop_nest.h"

void copy_cpu(mo_context *ctx, const mo_view *x, const mo_view *y);
void fill_cpu(mo_context *ctx, double value, const mo_view *y);

#endif
