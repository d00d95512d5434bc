// Interface: rows that can be read as floats, one at a time, however they are stored.
#pragma once

#include <cstdint>

namespace actup {

class RowSource {
 public:
  virtual ~RowSource() = default;
  virtual int64_t count() const = 0;
  virtual int64_t width() const = 0;
  // Writes width() floats, padded with zeros to the next multiple of kWideLanes.
  virtual void read(int64_t row, float* out) const = 0;
};

}  // namespace actup
