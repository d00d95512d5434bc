// Rows that can be read as floats, one at a time, whatever they are kept as.
#pragma once

#include <cstdint>

namespace actup {

class RowSource {
 public:
  virtual ~RowSource() = default;
  virtual int64_t count() const = 0;
  virtual int64_t width() const = 0;
  // Writes width() floats, and zeros up to the next multiple of kWide.
  virtual void read(int64_t row, float* out) const = 0;
};

}  // namespace actup
