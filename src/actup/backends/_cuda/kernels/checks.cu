// The check of input values; a file of its own, because it is the first kernel that a run waits for.
#include "row_value.h"

// Sets `found` to 1 if any value is less than `least`, infinite or NaN.
extern "C" __global__ void any_outside(const Value* __restrict__ values, long long count, float least,
                                       int* __restrict__ found) {
  bool wrong = false;
  for (long long at = (long long)blockIdx.x * blockDim.x + threadIdx.x; at < count;
       at += (long long)gridDim.x * blockDim.x)
    wrong |= !(value_at(values + at) >= least && value_at(values + at) < __int_as_float(0x7f800000));
  if (wrong) *found = 1;
}
