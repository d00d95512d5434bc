// A hash of what was computed, printed with a name: programs built for other processors must print the same.
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

namespace actup {

// FNV-1a of the values' bytes.
template <class T>
void print_hash(const std::string& name, const std::vector<T>& values) {
  uint64_t hash = 14695981039346656037u;
  const auto* const bytes = reinterpret_cast<const uint8_t*>(values.data());
  for (size_t at = 0; at < values.size() * sizeof(T); ++at) hash = (hash ^ bytes[at]) * 1099511628211u;
  std::printf("%016llx  %s\n", static_cast<unsigned long long>(hash), name.c_str());
}

}  // namespace actup
