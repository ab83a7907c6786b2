// Both models at one size with one set of inputs: every stretch between values that both have, forced and compared.
#pragma once
#include "diagnose/align.h"
#include "diagnose/alike.h"
#include "diagnose/bounds.h"
#include "diagnose/comparable.h"
#include "diagnose/diagnose.h"
#include "diagnose/limits.h"
#include "diagnose/piece.h"
#include "diagnose/search.h"
#include "diagnose/tensor_difference.h"

#include <functional>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

namespace convoy::diagnose {

// Whether two layers go by one name, each in its file.
bool is_named_alike(std::string_view a, std::string_view b);

class Comparison {
 public:
  // `maps`: keeps where on its map each stretch differs.
  Comparison(const Sized& sized, const Alignment& alignment, int threads, bool maps = false);
  // Runs a freely, once. Fails: as it does.
  // `known`: what a makes of these inputs in float64, all values; empty: it is run.
  Status start(const std::vector<Tensor>& inputs, Values known = {});

  // Compares everything; a match that only seems to differ, because the same is computed in another place, is dropped.
  // `again`: another size or larger numbers. What is one computation with the same numbers is the same without being computed
  // again, and numbers too large for float32 alone are no difference.
  Status compare_all(bool again = false);
  // What agrees, beyond what float32's rounding would cover; after compare_all.
  void compare_exactly();
  // What differs only because values were laid side by side that do not belong together is no difference; after both.
  void settle_doubts();
  // Looks for the causes of what differs.
  Status explain_all();

  void report(Diagnosis& into) const;
  void tell_scope(Scope& scope) const;

 private:
  struct Stretch {
    Piece a, b;
    std::vector<Tensor> inputs_a, inputs_b;
    std::vector<std::size_t> reads;  // matches
  };
  using Fed = std::map<std::size_t, Tensor>;  // numbers for what a stretch reads, by match, in a's order of axes
  enum class Overflow : std::uint8_t { None, OfA, OfB };  // which of both makes no finite number of finite ones
  // The constants of a stretch, as tensors.
  struct Weights {
    int tensors = 0, equal = 0, moved = 0, rounded = 0, different = 0;  // of a
    bool by_tensor = false;  // each was compared with its partner
    bool all_equal = false, exchanged = false;  // two rows or columns changed places
    std::string layer, kind, says;  // of a; the first that differs, with its size and place
    double largest = 0, steps = 0, share = 0;
  };
  // The numbers of a stretch in float64.
  struct Sharp {
    Gap gap;  // in float32
    double share = 0, allowed = 1;  // of float32's bound: the difference, and what rounding of constants explains
    std::vector<double> factors;  // toward limits that were not met
    Overflow overflows = Overflow::None;  // then nothing else is told
  };
  // Whether rounding explains the share, or how much it explains.
  enum class Asked : std::uint8_t { Whether, HowMuch };
  struct State {
    bool dropped = false, compared = false;
    bool fresh = false;  // fed with fresh numbers, of the range of a's own
    bool turned = false, upright = false;  // agrees under another order of axes; must not
    bool own_sizes = false;  // fed with fresh numbers at the size that b has here
    Fed fed;  // in place of a's own numbers, by match, in a's order of axes
    double sharpness = 1;  // below it: compared in float64, within this share of float32's bound
    bool is_identical = false, is_rounded = false;
    bool is_one_map = false;  // one layer with a kernel in both, and every number of it the same but for rounding
    bool is_transformed = false;  // its weights differ by what cancels within the stretch
    Weights weights;
    std::vector<std::string> not_reached;
    std::string not_finite;
    Gap gap;
    ErrorMap map;
    std::string trouble;  // why it could not be run
    std::optional<Explained> cause;
    bool joined = false;  // explained together with a later one
  };

  Result<Stretch> stretch(std::size_t match) const;
  Status feed_at_own_sizes(Stretch& stretch) const;
  Result<Gap> gap(std::size_t match);
  bool agrees_in_float64(std::size_t match, const Stretch& at, const Tensor& wanted, const Rounded& got) const;
  std::vector<std::size_t> readers_of_match(std::size_t match) const;
  bool only_seems(std::size_t match);
  bool is_equal_in_float64(std::size_t match);
  bool is_equal_when_fed(std::size_t match, const Fed& fed, bool fresh);
  bool only_seems_when_fed(std::size_t match);
  void try_own_sizes(std::size_t match);
  void turn_upright(std::size_t match);
  void try_fresh(std::size_t match);
  void drop_other_ends();
  void drop_crossed();
  std::optional<bool> has_transformed_weights(std::size_t match) const;
  std::vector<std::size_t> transformed_beside(std::size_t match) const;
  bool drop_as_transformed(std::size_t match);
  void drop_transformed();
  bool drop_together(const std::vector<std::size_t>& group);
  bool holds_as_many(const Match& match) const;
  bool is_open(std::size_t match) const;
  bool holds_same_numbers(std::size_t match) const;
  std::vector<std::vector<std::size_t>> groups_that_differ() const;
  bool agrees_without(const std::set<std::size_t>& left_out, std::set<std::size_t> behind, std::size_t& failing);
  bool leave_out_more(std::set<std::size_t>& left_out, std::size_t failing);
  void look_up_bounds();
  void compare_weights(std::size_t match);
  void compare_whole_numbers(std::size_t match);
  bool is_exactly_same(std::size_t match);
  bool join(std::size_t match);
  bool join_over(std::size_t match);
  std::optional<std::vector<std::pair<std::size_t, Explained>>> each_by_one_change(
      const std::vector<std::size_t>& matches);
  void join_for_fewer(std::size_t match);
  void uncross_exchanged();
  void uncross_readers(std::size_t first, std::size_t second);
  void join_crossed_reads();
  void join_crossed_siblings();
  void join_crossed(std::size_t first, std::size_t second);
  void add_reads_of_b(std::size_t match, Stretch& at) const;
  void name_exchanged(Finding& finding, const Edit& edit, const Match& match) const;
  // The layers of a by the fingerprints of their weights.
  const std::map<std::uint64_t, std::string>& kernels() const;
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
  Tensor forced(const Match& match, const State& state) const;
  std::optional<Alike> alike_at(std::size_t match, const Piece& a, const Piece& b) const;
  bool is_identical(std::size_t match) const;
  static Weights weights_of(const Piece& a, const Piece& b, const Alike& alike);
  static Weights weights_in(const Piece& a, const Piece& b);
  std::optional<Sharp> in_float64(std::size_t match, const Stretch& at, Asked asked, Reached& reached_a,
                                  Reached& reached_b) const;
  std::optional<Tensor> reaching(const Match& from, double factor, bool negated) const;
  static constexpr int most_runs_of_rows = 256;
  std::vector<Fed> all_rows(const Stretch& at) const;
  std::optional<Fed> halves(const Stretch& at) const;
  std::vector<Fed> quiet(const Stretch& at) const;
  Size rows_of(const Match& from) const;
  std::vector<std::pair<std::size_t, Tensor>> reads_of(const Stretch& at) const;
  using Made = std::function<double(std::mt19937_64& random, double scale)>;
  std::optional<Fed> made_of(const Stretch& at, const Made& number) const;
  std::optional<Fed> on_limits(const Stretch& at, const Reached& reached_a, const Reached& reached_b) const;
  using MadeWhole = std::function<std::int64_t(std::mt19937_64& random)>;
  std::optional<Fed> whole_of(const Stretch& at, bool truths, const MadeWhole& number, bool makes_rows = false) const;
  std::vector<Fed> whole_numbers(const Stretch& at, const Reached& reached_a, const Reached& reached_b) const;
  std::vector<Fed> ends_of(const Stretch& at) const;
  Fed between(const Stretch& at, const Fed& first, const Fed& last, double share) const;
  static Fed spread(Fed fed, std::size_t n);
  std::vector<double> beyond_when_fed(std::size_t match, const Crossing& crossing, bool of_b, Fed fed);
  // A number that lies on one side of a crossing with the first run of numbers, on the other with the last.
  struct Crossed {
    Crossing at;
    bool of_b;
    const Fed *first, *last;
    std::size_t number;
    bool begins_below;
  };
  struct Crossings {
    std::vector<Crossing> of_a, of_b;
  };
  std::optional<Crossed> crossed_between(std::size_t match, const std::vector<Fed>& ends, const Crossing& crossing,
                                         bool of_b);
  void approach(std::size_t match, const Stretch& at, const Crossed& crossed, double until, double& low, double& high);
  bool lies_on(std::size_t match, const std::vector<Crossing>& crossings, bool of_b, const Fed& fed);
  bool agrees_at_crossing(std::size_t match, const Stretch& at, const Crossed& crossed, const Crossings& all,
                          Reached& reached_a, Reached& reached_b);
  bool agrees_at_crossings(std::size_t match, const Stretch& at, Reached& reached_a, Reached& reached_b);
  std::vector<Fed> probes_of(const Stretch& at, const Reached& reached_a, const Reached& reached_b) const;
  bool is_finite_alike(std::size_t match, Fed fed);
  void ask_not_finite(std::size_t match, const Stretch& at);
  void note_overflow(std::size_t match, const Stretch& at, Overflow which);
  bool agrees_when_fed(std::size_t match, Fed fed, Reached& reached_a, Reached& reached_b,
                       std::vector<double>* factors);
  bool agrees_when_fresh(std::size_t match, const Stretch& at, Reached& reached_a, Reached& reached_b);
  bool agrees_everywhere(std::size_t match);
  std::optional<std::vector<Tensor>> values_from(const std::vector<Tensor>& inputs) const;
  std::optional<Fed> fed_from_scaled(const Stretch& at, double factor) const;
  bool may_be_made(const Stretch& at, std::size_t read) const;
  std::vector<Fed> whole_limits(const Stretch& at, const Reached& reached_a, const Reached& reached_b) const;
  std::vector<Fed> spread_made(const Stretch& at) const;
  std::vector<Fed> spread_from_inputs(const Stretch& at);
  bool agrees_when_spread(std::size_t match, const Stretch& at, Reached& reached_a, Reached& reached_b);
  bool agrees_to_the_last(std::size_t match) const;
  static bool is_roundabout(const std::vector<Edit>& edits, const State& state);
  void sharpen(std::size_t match);
  void blame_weights(std::size_t match);
  void compare_affine(std::size_t match, const Piece& a, const Piece& b);
  void settle_moved_biases(std::size_t match, const Piece& a, const Piece& b);
  static std::optional<Edit> epsilon_between(const Piece& a, const Piece& b);
  static void keep_whole(const Tensor& own, std::vector<float>& made);
  static std::optional<Tensor> fresh_like(const Tensor& own, const Sizes& shape, std::uint64_t seed);

  const Sized& sized_;
  Alignment alignment_;
  int threads_;
  bool maps_;
  bool again_ = false;
  std::vector<Tensor> values_a_;  // float64
  std::vector<Bounds> bounds_;  // of a's values
  std::vector<bool> made_of_inputs_;  // of a's values: others hold the numbers that they do
  std::vector<Size> rows_a_, rows_b_;  // per value: of the table that it asks for rows of
  std::vector<bool> matched_a_, matched_b_;
  std::vector<std::vector<NodeId>> readers_a_, readers_b_;  // per value
  std::vector<State> states_;
  std::optional<std::vector<Fed>> spread_;  // all matches, of inputs whose numbers are unlike in size
  mutable std::map<std::uint64_t, std::string> kernels_;  // once somebody asks
};

}  // namespace convoy::diagnose
