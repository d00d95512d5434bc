// Reports which level this processor has, so that _engine.py can import the matching engine.
#include "common/processor.hpp"

#include <nanobind/nanobind.h>

NB_MODULE(_processor, module) {
  module.def("level", &actup::processor_level,
             "The x86-64 level of this processor, or \"generic\" on others.");
}
