#include "formats/torch/kept_state.h"

namespace convoy::torch {

std::string changes_itself(const std::string& name) {
  return "'" + name +
         "' changes each time the model is called, which a graph does not: it computes what the first call gives; make "
         "what is "
         "kept an input and an output";
}

KeptState::KeptState(const std::vector<std::pair<std::string, const python::Instance*>>& modules) {
  for (const auto& [path, module] : modules) kept_.push_back({path, module, module->attributes.all()});
}

void KeptState::tell(std::vector<std::string>& remarks) const {
  for (const Kept& kept : kept_)
    for (const auto& [name, before] : kept.attributes) {
      const python::Value* now = kept.module->attributes.find(name);
      if (before.is_none() || (now && now->same(before))) continue;
      remarks.push_back(changes_itself(kept.path.empty() ? name : kept.path + "." + name));
    }
}

}  // namespace convoy::torch
