// StateVisitor: what a layout carries from one epoch to the next, by name, to save it and to restore it.
//
// Every class with such members lists them once, in visit_state(). The same list saves them, checks whether a
// saved state fits, and restores it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "layout/settings.h"

namespace actup {

using SavedState =
    std::map<std::string, std::variant<std::vector<float>, std::vector<double>, std::vector<int64_t>>>;

class StateVisitor {
 public:
  enum class Task { save, check, restore };

  explicit StateVisitor(Task task, SavedState& state) : task_(task), state_(state) {}

  bool restores() const { return task_ == Task::restore; }

  // An array of float or double.
  template <class T>
  void visit(const std::string& name, T* values, int64_t count) {
    if (task_ == Task::save) {
      state_[name] = std::vector<T>(values, values + count);
      return;
    }
    const std::vector<T>& saved = find<T>(name, count);
    if (task_ == Task::restore) std::copy(saved.begin(), saved.end(), values);
  }

  template <class T>
  void visit(const std::string& name, std::vector<T>& values) {
    visit(name, values.data(), static_cast<int64_t>(values.size()));
  }

  // A number between two bounds.
  template <class T>
  void visit_number(const std::string& name, T& value, double least, double most) {
    double number = static_cast<double>(value);
    if (task_ == Task::check) {
      const double saved = find<double>(name, 1)[0];
      require(
          saved >= least && saved <= most && (!std::is_integral_v<T> || saved == static_cast<int64_t>(saved)),
          name);
      return;
    }
    visit(name, &number, 1);
    value = static_cast<T>(number);
  }

  // A number that must be the same: it tells whether a state belongs to the layout.
  void visit_same(const std::string& name, int64_t value, const char* message) {
    if (task_ == Task::save) {
      state_[name] = std::vector<int64_t>{value};
    } else if (find<int64_t>(name, 1)[0] != value) {
      throw std::invalid_argument(message);
    }
  }

  // A class may know more about what is valid, when a state is checked.
  bool checks() const { return task_ == Task::check; }
  void require(bool valid, const std::string& name) const {
    if (!valid) throw std::invalid_argument("state has a wrong value of '" + name + "': it was damaged");
  }

  template <class T>
  const std::vector<T>& find(const std::string& name, int64_t count) const {
    const auto found = state_.find(name);
    const auto* values = found == state_.end() ? nullptr : std::get_if<std::vector<T>>(&found->second);
    if (!values || static_cast<int64_t>(values->size()) != count) {
      throw std::invalid_argument("state has no '" + name + "' of " + std::to_string(count) +
                                  " values: restore it into a layout of the same recipe and points");
    }
    return *values;
  }

 private:
  const Task task_;
  SavedState& state_;
};

inline void visit_steering(StateVisitor& visitor, Steering& steering) {
  visitor.visit_number("steering.exaggeration", steering.exaggeration, 0, std::numeric_limits<float>::max());
  visitor.visit_number("steering.repulsion", steering.repulsion, 0, std::numeric_limits<float>::max());
}

// The state of an object with visit_state().
template <class Stateful>
inline SavedState saved_state(Stateful& object) {
  SavedState state;
  StateVisitor visitor(StateVisitor::Task::save, state);
  object.visit_state(visitor);
  return state;
}

// Throws, and changes nothing, if the state does not fit the object.
template <class Stateful>
inline void restore_state(Stateful& object, SavedState& state) {
  for (const auto task : {StateVisitor::Task::check, StateVisitor::Task::restore}) {
    StateVisitor visitor(task, state);
    object.visit_state(visitor);
  }
}

}  // namespace actup
