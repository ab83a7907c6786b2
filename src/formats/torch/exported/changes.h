// Tensors of an exported program that are changed in place: what shares their memory changes with them.
#pragma once
#include "formats/torch/exported/builder.h"

#include <string>
#include <vector>

namespace convoy::torch {

class InPlaceChanges {
 public:
  explicit InPlaceChanges(ExportedBuilder& builder) : builder_(builder) {}

  // Remembers whose memory the results of a node show.
  void share(const Json& node, const std::string& operation, const std::vector<std::string>& names);

  // The first tensor of the node is what it answered from now on, and so is what it shows and what shows it. What cannot be
  // followed is no longer known, which is told only where it is read.
  Status change(const Json& node, const std::string& answer);

 private:
  void tell_of_state(const std::string& changed) const;
  Status show_again(const std::string& name, ValueId of);
  Result<ValueId> put_back(const View& view, ValueId whole, ValueId part);

  ExportedBuilder& builder_;
  int shown_again_ = 0;
  static constexpr int most_shown_again = 100'000;
};

}  // namespace convoy::torch
