// Tells which x86-64 level this processor has, so that native.py can import the matching engine.
#include <nanobind/nanobind.h>

namespace {

const char* level() {
#if defined(__x86_64__)
  __builtin_cpu_init();
  const bool v3 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                  __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
  const bool v4 = v3 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                  __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
                  __builtin_cpu_supports("avx512vl");
  return v4 ? "v4" : v3 ? "v3" : "v2";
#else
  return "generic";
#endif
}

}  // namespace

NB_MODULE(_processor, module) { module.def("level", &level); }
