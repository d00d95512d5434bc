// For the bindings: compiled work without the interpreter lock, which stays open to signals and reports
// progress.
#pragma once

#include <nanobind/nanobind.h>

#include "common/long_call.hpp"

namespace nb = nanobind;

namespace actup {

// Python's function of the fraction of a call that is done; null before set_progress_hook().
inline PyObject*& progress_hook() {
  static PyObject* hook = nullptr;
  return hook;
}

// Releases the interpreter lock for its lifetime, and takes it for a moment every 50 ms.
class Interruptible : public LongCall {
 protected:
  void look_up(double fraction) override {
    const nb::gil_scoped_acquire lock;
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
    if (const nb::handle hook = progress_hook()) hook(fraction);
  }

 private:
  nb::gil_scoped_release release_;
};

inline void bind_progress_hook(nb::module_& module) {
  module.def(
      "set_progress_hook",
      [](const nb::object& hook) {
        Py_XDECREF(progress_hook());
        progress_hook() = nb::object(hook).release().ptr();
      },
      nb::arg("hook"));
}

}  // namespace actup
