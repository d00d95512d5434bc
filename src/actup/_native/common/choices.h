// Choices: enums whose values stand in one list each.
//
// A list is a macro that names every value, and for some choices the policy that implements it:
//   #define ACTUP_LOSSES(VALUE) VALUE(kl, KlLoss) VALUE(frobenius, FrobeniusLoss)
// The C++ enum, the dispatch from a value to its policy and the Python enum (bindings/enums.hpp) are made
// from the list, and Python compiles the CUDA kernels with the numbers of the Python enum.
#pragma once

#define ACTUP_ENUMERATOR(name, ...) name,

// Inside of a switch: calls choose(policy) for a value whose policy is an empty struct.
#define ACTUP_CHOOSE_POLICY(Choice, name, policy) \
  case Choice::name:                              \
    return choose(policy{});
