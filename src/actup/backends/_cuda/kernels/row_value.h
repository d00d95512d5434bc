// The values of X in the caller's type, which kernels convert to float as they read them.
//
// ROW_VALUE  FLOAT32, FLOAT16, UINT8 or INT8
#pragma once

#define FLOAT32 0
#define FLOAT16 1
#define UINT8 2
#define INT8 3
#ifndef ROW_VALUE
#define ROW_VALUE FLOAT32
#endif

#if ROW_VALUE == FLOAT16
struct Value {
  unsigned short bits;
};
__device__ inline float value_at(const Value* at) {
  float value;
  asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(__ldg(&at->bits)));
  return value;
}
#else
#if ROW_VALUE == FLOAT32
typedef float Value;
#elif ROW_VALUE == UINT8
typedef unsigned char Value;
#else
typedef signed char Value;
#endif
__device__ inline float value_at(const Value* at) { return static_cast<float>(__ldg(at)); }
#endif
