// What PyTorch counts as the parameters of a module, beside the numbers that its graph holds.
#pragma once
#include "formats/torch/source/program.h"
#include "formats/torch/source/tracer.h"

namespace convoy::torch {

// weight_norm(module, name, dim), of both generations: the weight stays plain, and the module keeps how many norms
// PyTorch has beside it: one per cell of the axis, or one of all (dim None or -1).
Made weight_norm(Tracer& tracer, Arguments& given);
// remove_weight_norm(module, name), remove_parametrizations(module, tensor_name): the norms are gone.
Made without_weight_norm(Arguments& given);
// Names of weights that PyTorch computes of others: under weight_norm or spectral_norm.
std::vector<std::string> parametrized(Tracer& tracer, const Instance& module, const Tracer::NamedWeights& named);

// The parameters of a module whose graph is complete and not pruned yet.
class LiveParameters {
 public:
  LiveParameters(Tracer& tracer, const Instance& module, const Tracer::NamedWeights& named);
  // Says which are left out, and what parameters() counts where that is not what trains in the graph.
  void tell(std::vector<std::string>& remarks) const;

 private:
  bool is_left_out(ValueId weight) const;
  void tell_counts(Size left_out, std::vector<std::string>& remarks) const;

  Tracer& tracer_;
  const Instance& module_;
  const Tracer::NamedWeights& named_;
  std::set<std::int32_t> live_;  // values that an output depends on
  std::map<std::int32_t, ValueId> instead_;  // of a weight that is not live the live constant that is made of it
};

}  // namespace convoy::torch
