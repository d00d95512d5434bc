// The Python face of the engine: converts arguments, releases the interpreter lock, and nothing else.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include "parallel.hpp"

namespace nb = nanobind;

NB_MODULE(ACTUP_MODULE, module) {
  module.def("hardware_threads", [] { return static_cast<int>(std::thread::hardware_concurrency()); });
}
