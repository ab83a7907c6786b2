// Both graphs once, at one size: the source in float64 as reference, the target node by node in float32, every value that
// both carry compared and then taken from the source.
#pragma once
#include "prove/compare.h"
#include "prove/meeting.h"
#include "prove/prove.h"
#include "prove/reference.h"

#include <optional>
#include <string>
#include <vector>

namespace convoy {

// A value of the target while nodes still read it.
struct LiveValue {
  Tensor tensor;
  std::optional<Tensor> error;  // how far rounding may have moved it; none: not at all
  Size terms = 0;  // the largest of the stretch since the last value that both graphs carry
  double limit = 0;
  const Node* rounds = nullptr;  // with whole numbers: the first node on the way that rounds even these
};

// What the layers behind the first ones are fed: the source's own values, or fresh random ones. The former are what the
// model meets in life; the latter reach what those never do, such as the far side of a threshold. Whole ones, in graphs whose
// weights are whole too, are not rounded by either graph: what they make must agree in every bit.
enum class Numbers : std::uint8_t { OfTheSource, Fresh, Whole };

class Trial {
 public:
  // `weights`: in place of the graphs' own.
  Trial(const Graph& source, const Graph& target, Numbers numbers, const ProofOptions& options, Proof& proof,
        const WholeWeights* weights = nullptr);

  // Fails: what cannot be run. A difference goes into the proof.
  Status run(const std::vector<Tensor>& inputs, const std::vector<Tensor>& inputs_of_target);
  // The source's outputs in float64, from the rounded numbers of the layers before.
  Result<std::vector<Tensor>> source_outputs();

 private:
  std::vector<int> uses() const;
  Reference::Roles roles() const;
  Status run_one(const Node& node);
  Result<bool> pass_alike(const Node& node, const std::vector<const Tensor*>& inputs);
  void end(const Node& node);
  Status settle(const Node& node, ValueId v, LiveValue held);
  void add_beforehand(ValueId v, LiveValue& held) const;
  // `wanted`: the source's numbers; `forced`: what both graphs go on from.
  Status settle_rounded(const Node& node, ValueId v, LiveValue held, const Tensor& wanted, const Tensor& forced);
  Status settle_whole(const Node& node, ValueId v, LiveValue held, const Tensor& wanted, const Tensor& forced);
  Status check_output(std::size_t i);
  Result<std::optional<Tensor>> moved_to(ValueId to, ValueId from, Tensor numbers) const;
  LayerProof& layer_of(const Node& node);
  void record(const Node& node, const Difference& difference, const LiveValue& held, std::string trouble);
  // Whether the source rounds as badly by itself, which the layer's proof then says.
  Result<bool> is_magnified(const Node& node, ValueId v, const Difference& difference, const LiveValue& held);
  void record_whole(const Node& node, const Difference& difference, const Sizes& shape, std::string trouble);
  bool is_read(ValueId v) const { return readers_[v.slot()] > 0; }  // still
  void keep(ValueId v, LiveValue held);
  void release(ValueId v);
  void differ(std::string reason) {
    if (proof_.reason.empty()) proof_.reason = std::move(reason);
  }

  Numbers numbers_;
  const WholeWeights* weights_;
  const Graph& source_;
  const Graph& target_;
  const ProofOptions& options_;
  Proof& proof_;
  const std::vector<Tensor>* inputs_ = nullptr;  // while it runs
  Names names_;
  std::vector<ValueId> counterpart_;
  Budget budget_;
  Reference reference_;
  std::vector<std::optional<LiveValue>> held_;
  std::vector<int> readers_;
  std::vector<Size> bytes_;
};

}  // namespace convoy
