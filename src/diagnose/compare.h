// Both models at one size with one set of inputs: every stretch between values that both have, forced and compared.
#pragma once
#include "diagnose/align.h"
#include "diagnose/comparable.h"
#include "diagnose/diagnose.h"
#include "diagnose/piece.h"
#include "diagnose/search.h"

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace convoy::diagnose {

class Comparison {
 public:
  // `maps`: keeps where on its map each stretch differs.
  Comparison(const Sized& sized, const Alignment& alignment, int threads, bool maps = false, Telling progress = {});
  // Runs a freely, once. Fails: as it does.
  Status start(const std::vector<Tensor>& inputs);

  // Compares everything; a match that only seems to differ, because the same is computed in another place, is dropped.
  Status compare_all();
  // Looks for the causes of what differs.
  Status explain_all();

  void report(Diagnosis& into) const;

 private:
  struct Stretch {
    Piece a, b;
    std::vector<Tensor> inputs_a, inputs_b;
    std::vector<std::size_t> reads;  // matches
  };
  struct State {
    bool dropped = false, compared = false;
    bool fresh = false;  // fed with fresh numbers, of the range of a's own
    bool turned = false, upright = false;  // agrees under another order of axes; must not
    bool own_sizes = false;  // fed with fresh numbers at the size that b has here
    Gap gap;
    ErrorMap map;
    std::string trouble;  // why it could not be run
    std::optional<Explained> cause;
    bool joined = false;  // explained together with a later one
  };

  Result<Stretch> stretch(std::size_t match) const;
  Status feed_at_own_sizes(Stretch& stretch) const;
  Result<Gap> gap(std::size_t match);
  std::vector<std::size_t> readers_of_match(std::size_t match) const;
  bool only_seems(std::size_t match);
  void try_own_sizes(std::size_t match);
  void turn_upright(std::size_t match);
  void try_fresh(std::size_t match);
  void drop_other_ends();
  void drop_crossed();
  bool join(std::size_t match);
  std::optional<std::vector<std::pair<std::size_t, Explained>>> each_by_one_change(
      const std::vector<std::size_t>& matches);
  void join_for_fewer(std::size_t match);
  void uncross_exchanged();
  Result<Explained> cause_of(std::size_t match, bool tries_pairs) const;
  void set(std::size_t match, bool is_matched);
  std::string layer_of_a(const Match& match) const;
  std::string layer_of_b(const Match& match) const;
  std::optional<std::string> twin_in_stretch(const Match& match, const std::string& layer, bool of_b) const;
  std::string counterpart(const std::string& layer, const Match& match, bool of_b) const;
  std::string a_of(const std::string& layer_b, const Match& match) const;
  std::string b_of(const std::string& layer_a, const Match& match) const;
  std::string b_in_front_of(const std::string& layer_a, const Match& match) const;
  bool has_exact_shape(std::size_t match) const;
  bool keeps_sizes(std::size_t match, const Stretch& at) const;
  bool was_put_along_another_axis(const Match& match) const;
  bool follows_another(std::size_t match) const;
  Tensor forced(const Match& match, bool fresh) const;
  static std::optional<Tensor> fresh_like(const Tensor& own, const Sizes& shape, std::uint64_t seed);

  Telling progress_;
  const Sized& sized_;
  Alignment alignment_;
  int threads_;
  bool maps_;
  std::vector<Tensor> values_a_;  // float64
  std::vector<bool> matched_a_, matched_b_;
  std::vector<State> states_;
  std::map<std::uint64_t, std::string> kernels_;
};

}  // namespace convoy::diagnose
