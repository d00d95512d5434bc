// For headers shared by CPU and GPU: function attributes, and integer types for the GPU's run-time compiler,
// which has no standard library.
#pragma once

#if defined(__CUDACC_RTC__)
typedef signed char int8_t;
typedef unsigned char uint8_t;
typedef short int16_t;
typedef unsigned short uint16_t;
typedef int int32_t;
typedef unsigned int uint32_t;
typedef long long int64_t;
typedef unsigned long long uint64_t;
#else
#include <cstdint>
#endif

#if defined(__CUDACC__)
#define ACTUP_DEVICE __host__ __device__
#define ACTUP_INLINE __forceinline__
#else
#define ACTUP_DEVICE
#define ACTUP_INLINE [[gnu::always_inline]] inline  // passing vectors to a function is slow
#endif
