// What this processor can execute, read from its CPUID registers. The compiler's __builtin_cpu_supports would
// need a run-time library that Clang does not link on Windows.
#pragma once

#include <cstdint>

namespace actup {

#if defined(__x86_64__)
struct CpuidRegisters {
  uint32_t eax, ebx, ecx, edx;
};

inline CpuidRegisters cpuid(uint32_t leaf) {
  CpuidRegisters r;
  asm volatile("cpuid" : "=a"(r.eax), "=b"(r.ebx), "=c"(r.ecx), "=d"(r.edx) : "a"(leaf), "c"(0));
  return r;
}

inline bool all_bits(uint32_t value, uint32_t bits) { return (value & bits) == bits; }

// The registers that the operating system saves when it switches threads; 0 if it does not tell.
inline uint32_t saved_registers() {
  constexpr uint32_t kOsxsave = 1u << 27;
  if (!all_bits(cpuid(1).ecx, kOsxsave)) return 0;
  uint32_t low, high;
  asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return low;
}

// The leaf of the extended features, all zero on processors that are too old to have it.
inline CpuidRegisters extended_features() { return cpuid(0).eax >= 7 ? cpuid(7) : CpuidRegisters{}; }

inline bool has_avx512_vnni() {
  constexpr uint32_t kVnni = 1u << 11;
  static const bool has = all_bits(extended_features().ecx, kVnni);  // CPUID is slow in virtual machines
  return has;
}
#endif

// The x86-64 level of this processor ("v2", "v3", "v4"), or "generic" on other processors.
inline const char* processor_level() {
#if defined(__x86_64__)
  constexpr uint32_t kAvxRegisters = 0x6, kAvx512Registers = 0xe6;
  constexpr uint32_t kFma = 1u << 12;
  constexpr uint32_t kBmi = 1u << 3, kAvx2 = 1u << 5, kBmi2 = 1u << 8;
  constexpr uint32_t kAvx512f = 1u << 16, kAvx512dq = 1u << 17, kAvx512cd = 1u << 28, kAvx512bw = 1u << 30,
                     kAvx512vl = 1u << 31;
  const uint32_t saved = saved_registers(), features = extended_features().ebx;
  const bool v3 = all_bits(saved, kAvxRegisters) && all_bits(cpuid(1).ecx, kFma) &&
                  all_bits(features, kAvx2 | kBmi | kBmi2);
  const bool v4 = v3 && all_bits(saved, kAvx512Registers) &&
                  all_bits(features, kAvx512f | kAvx512dq | kAvx512cd | kAvx512bw | kAvx512vl);
  return v4 ? "v4" : v3 ? "v3" : "v2";
#else
  return "generic";
#endif
}

}  // namespace actup
