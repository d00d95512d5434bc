// What lets a header serve CPU and GPU: marks for functions of both, and the integer types where the GPU's
// run-time compiler has no standard library.
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
#define ACTUP_INLINE [[gnu::always_inline]] inline  // vectors are costly to hand to a function
#endif
