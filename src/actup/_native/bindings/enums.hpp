// Binds an enum to Python from the list that defines it: see common/choices.h.
#pragma once

#include <nanobind/nanobind.h>

// For example ACTUP_BIND_ENUM(module, Loss, ACTUP_LOSSES).
#define ACTUP_BIND_ENUM(module, Choice, LIST)            \
  do {                                                   \
    using BoundChoice = Choice;                          \
    nanobind::enum_<BoundChoice> bound(module, #Choice); \
    LIST(ACTUP_BIND_VALUE)                               \
  } while (false)

#define ACTUP_BIND_VALUE(name, ...) bound.value(#name, BoundChoice::name);
