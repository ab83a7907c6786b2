// What a model keeps from one call to the next: a graph computes as the first call does, and the user is told.
#pragma once
#include "containers/python/value.h"

#include <string>
#include <utility>
#include <vector>

namespace convoy::torch {

// "'cache' changes each time the model is called; ..."
std::string changes_itself(const std::string& name);

// The attributes of a program's modules, before it is called. A cache that is filled for the first time (None before) is no state.
class KeptState {
 public:
  // `modules`: each with its path, "" that of the model itself.
  explicit KeptState(const std::vector<std::pair<std::string, const python::Instance*>>& modules);
  // Of every attribute that is now another value, one sentence.
  void tell(std::vector<std::string>& remarks) const;

 private:
  struct Kept {
    std::string path;
    const python::Instance* module;
    std::vector<std::pair<std::string, python::Value>> attributes;
  };
  std::vector<Kept> kept_;
};

}  // namespace convoy::torch
