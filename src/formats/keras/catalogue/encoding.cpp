// Whole numbers and bins of real ones as categories: Discretization, CategoryEncoding and IntegerLookup, as they work at
// rest. Source: keras/src/layers/preprocessing, utils/numerical_utils.py and Bucketize of TensorFlow 2.21; Keras 3.15.
#include "base/whole_tensor.h"
#include "formats/keras/catalogue/catalogue.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <numeric>
#include <optional>
#include <ranges>

namespace convoy::keras {
namespace {

constexpr Size most_categories = 1 << 20;

ValueId whole_numbers(Call& call, std::string_view name, std::vector<std::int64_t> numbers) {
  const auto count = static_cast<Size>(numbers.size());
  return call.literal(name, whole_tensor(DType::I64, {count}, std::move(numbers)));
}

// x beside an axis for the categories, which an axis of one number becomes itself where `takes_last` says so.
ValueId beside_categories(Call& call, ValueId x, bool takes_last) {
  const Size rank = call.failed() ? 1 : call.rank(x);
  const Dim last = call.failed() ? Dim() : call.dim(x, rank - 1);
  if (takes_last && rank > 1 && last.known() && *last == 1) return x;
  return call.add(Unsqueeze{{rank}}, {x}, "beside");
}

// The element type that the layer gives its categories in.
DType category_type(Call& call) {
  const Json* dtype = call.attrs.raw("dtype");
  const std::string word = dtype ? policy_word(*dtype) : std::string();
  return word == "int32" ? DType::I32 : word == "int64" ? DType::I64 : call.computes();
}

// Categories 0 to depth - 1 as the layer's output_mode has them; what is outside is none of them.
Values encoded(Use& use, ValueId indices, const std::string& mode, Size depth, DType dtype) {
  Call& call = use.call;
  const bool is_one_hot = mode == "one_hot", is_count = mode == "count";
  if (!is_one_hot && !is_count && mode != "multi_hot" && mode != "binary")
    call.refuse(Fault::Unsupported, "attribute 'output_mode' is '" + mode + "', which this version does not carry");
  if (depth < 1 || depth > most_categories)
    call.refuse(Fault::Format, "has " + std::to_string(depth) + " categories, expected 1 to 2^20");
  if (call.failed()) return {};
  const Size rank = call.rank(indices);
  if (!is_one_hot && rank < 2)
    call.refuse(Fault::Unsupported, "counts over the whole batch, as Keras does where examples are single numbers");
  if (call.failed()) return {};
  std::vector<std::int64_t> all(static_cast<std::size_t>(depth));
  std::iota(all.begin(), all.end(), 0);
  const ValueId places = whole_numbers(call, "categories", std::move(all));
  indices = beside_categories(call, call.add(Cast{DType::I64}, {indices}, "indices"), is_one_hot);
  const ValueId is_own = call.add(Binary{BinaryFunction::Equal}, {indices, places}, "is_category");
  if (is_one_hot) return use.add(Cast{dtype}, {is_own});
  // Both go over the second axis, whatever lies behind it.
  const ValueId ones = call.add(Cast{DType::F32}, {is_own}, "one_hot");
  const ValueId y = call.add(Reduce{is_count ? Reduction::Sum : Reduction::Maximum, {1}, false}, {ones}, "found");
  return use.add(Cast{dtype}, {y});
}

// How many boundaries are not above x: every one where x is no number. Boundaries are held in float32.
ValueId bin_of(Call& call, ValueId x, const std::vector<double>& boundaries) {
  if (!call.failed() && call.type(x).dtype != DType::F64) x = call.add(Cast{DType::F32}, {x}, "reals");
  if (call.failed()) return {};
  const auto count = static_cast<Size>(boundaries.size());
  const Tensor held = Tensor::of({count}, std::vector<float>(boundaries.begin(), boundaries.end()));
  const ValueId all = call.literal("boundaries", held.converted(call.type(x).dtype));
  const ValueId is_below = call.add(Binary{BinaryFunction::Less}, {beside_categories(call, x, false), all}, "is_below");
  const ValueId is_passed = call.add(Unary{Function::Not}, {is_below}, "is_passed");
  const ValueId ones = call.add(Cast{DType::F32}, {is_passed}, "ones");
  return call.add(Reduce{Reduction::Sum, {call.failed() ? 0 : call.rank(x)}, false}, {ones}, "passed");
}

std::vector<double> numbers_of(Call& call, const Json* said, std::string_view name) {
  std::vector<double> all;
  const Json* list = Attrs::tuple_of(said);
  if (!list || !list->is_array() || list->empty()) {
    call.refuse(Fault::Format, "attribute '" + std::string(name) + "' lists no numbers");
    return all;
  }
  for (const Json& one : *list) all.push_back(call.attrs.number_of(&one, name));
  return all;
}

Values discretization(Use& use) {
  Call& call = use.call;
  call.attrs.ignore({"num_bins", "epsilon"});
  const ValueId x = call.x();
  const std::string mode = use.word("output_mode");
  if (!use.option("bin_boundaries"))
    call.refuse(Fault::Format, "has no 'bin_boundaries': adapt() was never called on it");
  if (call.failed()) return {};
  const auto boundaries = numbers_of(call, use.option("bin_boundaries"), "bin_boundaries");
  if (!std::ranges::is_sorted(boundaries)) call.refuse(Fault::Format, "attribute 'bin_boundaries' is not in order");
  call.skip_weights();  // the summary that adapt() goes on from
  const ValueId bin = bin_of(call, x, boundaries);
  const bool was_wide = call.version.major < 3 && category_type(call) == DType::I64;
  if (mode == "int") return use.add(Cast{was_wide ? DType::I64 : DType::I32}, {bin});
  return encoded(use, bin, mode, static_cast<Size>(boundaries.size()) + 1, category_type(call));
}

Values category_encoding(Use& use) {
  Call& call = use.call;
  return encoded(use, call.x(), use.word("output_mode"), use.whole("num_tokens"), category_type(call));
}

// ---- IntegerLookup --------------------------------------------------------------------------------------------------

struct Lookup {
  std::vector<std::int64_t> tokens;  // behind those for what is masked and what is not known
  std::optional<std::int64_t> mask;
  std::int64_t unknown = -1;
  Size buckets = 1;  // for what is not known
  bool gives_indices = true;  // of which what is masked has one; no category

  Size first_bucket() const { return mask && gives_indices ? 1 : 0; }
  Size first_token() const { return first_bucket() + buckets; }
  Size size() const { return first_token() + static_cast<Size>(tokens.size()); }
  // What stands in front of the tokens, as get_vocabulary() lists it.
  std::vector<std::int64_t> specials() const {
    std::vector<std::int64_t> all(static_cast<std::size_t>(first_token()), unknown);
    if (first_bucket() == 1) all.front() = *mask;
    return all;
  }
};

// One whole number a line. Nothing: something else stands there.
std::optional<std::vector<std::int64_t>> whole_lines(std::string_view text) {
  std::vector<std::int64_t> all;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), number);
    if (error != std::errc() || end != line.data() + line.size()) return std::nullopt;
    all.push_back(number);
    text.remove_prefix(std::min(text.size(), line.size() + 1));
  }
  return all;
}

// In the configuration where they were given, in a file of their own where adapt() found them.
std::vector<std::int64_t> vocabulary_of(Use& use, Size specials) {
  Call& call = use.call;
  if (const Json* said = use.option("vocabulary")) {
    const Json* list = Attrs::tuple_of(said);
    if (list && list->is_array()) return call.attrs.list("vocabulary");
    call.refuse(Fault::Unsupported, "attribute 'vocabulary' names a file outside of the model");
    return {};
  }
  if (!call.builder().weights && call.attrs.has("vocabulary_size")) {  // the structure alone is asked for
    const Size size = std::clamp<Size>(call.attrs.integer("vocabulary_size"), 0, most_categories);
    std::vector<std::int64_t> any(static_cast<std::size_t>(std::max<Size>(size - specials, 1)));
    std::iota(any.begin(), any.end(), 0);
    return any;
  }
  const auto text = call.text_beside("vocabulary.txt");
  if (!text)
    call.refuse(Fault::Format,
                "has a vocabulary that lies in no file: adapt() was not called, or the format "
                "keeps none; save the model as .keras");
  const auto all = text ? whole_lines(*text) : std::nullopt;
  if (text && !all) call.refuse(Fault::Format, "has lines in vocabulary.txt that are no whole numbers");
  return all.value_or(std::vector<std::int64_t>());
}

Lookup lookup_of(Use& use) {
  Call& call = use.call;
  Lookup all{.tokens = {}, .mask = {}, .unknown = use.whole("oov_token"), .buckets = use.whole("num_oov_indices")};
  all.gives_indices = use.word("output_mode") == "int";
  if (use.option("mask_token")) all.mask = use.whole("mask_token");
  if (all.buckets < 0 || all.buckets > most_categories)
    call.refuse(Fault::Format,
                "attribute 'num_oov_indices' is " + std::to_string(all.buckets) + ", expected 0 to 2^20");
  if (call.failed()) return all;
  all.tokens = vocabulary_of(use, all.first_token());
  if (std::ssize(all.tokens) > most_categories)
    call.refuse(Fault::Format, "has " + std::to_string(all.tokens.size()) + " tokens, expected at most 2^20");
  if (call.failed()) return all;
  const auto specials = all.specials();
  if (all.tokens.size() >= specials.size() &&
      std::ranges::equal(specials, all.tokens | std::views::take(specials.size())))
    all.tokens.erase(all.tokens.begin(), all.tokens.begin() + std::ssize(specials));
  auto sorted = all.tokens;
  std::ranges::sort(sorted);
  if (all.tokens.empty() || std::ranges::adjacent_find(sorted) != sorted.end())
    call.refuse(Fault::Format, "has a vocabulary that is empty or lists a token twice");
  return all;
}

ValueId one_number_of(Call& call, std::string_view name, std::int64_t number) {
  return call.literal(name, whole_tensor(DType::I64, {}, {number}));
}

// Where x is a certain number something else stands.
ValueId replaced(Call& call, ValueId x, std::int64_t number, ValueId by, ValueId otherwise, std::string_view step) {
  const ValueId one = one_number_of(call, std::string(step) + "_number", number);
  return call.add(
      Where{}, {call.add(Binary{BinaryFunction::Equal}, {x, one}, std::string(step) + "_place"), by, otherwise}, step);
}

// The place of each number among the tokens; 0 for what is none of them, which no token has.
ValueId places_of(Call& call, ValueId x, const Lookup& all) {
  std::vector<float> places(all.tokens.size());
  std::iota(places.begin(), places.end(), static_cast<float>(all.first_token() + 1));
  const ValueId tokens = whole_numbers(call, "tokens", all.tokens);
  const ValueId is_token =
      call.add(Binary{BinaryFunction::Equal}, {beside_categories(call, x, false), tokens}, "is_token");
  const ValueId own = call.literal("places", Tensor::of({std::ssize(all.tokens)}, std::move(places)));
  const ValueId found =
      call.add(Where{}, {is_token, own, call.literal("none", Tensor::of({}, std::vector<float>{0}))}, "own_places");
  const ValueId sum = call.add(Reduce{Reduction::Sum, {call.failed() ? 0 : call.rank(x)}, false}, {found}, "place");
  return call.add(Cast{DType::I64}, {sum}, "whole_place");
}

// What is no token goes to one bucket, or to that of its remainder.
ValueId bucket_of(Call& call, ValueId x, const Lookup& all) {
  const ValueId first = one_number_of(call, "first_bucket", all.buckets == 0 ? -1 : all.first_bucket());
  if (all.buckets <= 1) return first;
  const ValueId count = one_number_of(call, "buckets", all.buckets);
  return call.add(Binary{BinaryFunction::Add},
                  {call.add(Binary{BinaryFunction::Modulo}, {x, count}, "remainder"), first}, "bucket");
}

ValueId indices_of(Call& call, ValueId x, const Lookup& all) {
  const ValueId place = places_of(call, x, all);
  const ValueId shifted =
      call.add(Binary{BinaryFunction::Subtract}, {place, one_number_of(call, "one", 1)}, "index_of_token");
  const ValueId index = replaced(call, place, 0, bucket_of(call, x, all), shifted, "unknown");
  return all.mask ? replaced(call, x, *all.mask, one_number_of(call, "masked_index", all.gives_indices ? 0 : -1), index,
                             "masked")
                  : index;
}

// The token of each index; what is none is not known.
ValueId tokens_of(Call& call, ValueId x, const Lookup& all) {
  std::vector<std::int64_t> table = all.specials();
  table.insert(table.end(), all.tokens.begin(), all.tokens.end());
  const ValueId least = one_number_of(call, "first", 0), most = one_number_of(call, "last", all.size() - 1);
  const ValueId within =
      call.add(Binary{BinaryFunction::Minimum},
               {call.add(Binary{BinaryFunction::Maximum}, {x, least}, "from_first"), most}, "within");
  const ValueId found = call.add(Gather{0}, {whole_numbers(call, "tokens", std::move(table)), within}, "token");
  const ValueId is_within = call.add(Binary{BinaryFunction::Equal}, {x, within}, "is_index");
  return call.add(Where{}, {is_within, found, one_number_of(call, "unknown_token", all.unknown)});
}

Values integer_lookup(Use& use) {
  Call& call = use.call;
  call.attrs.ignore(
      {"max_tokens", "vocabulary_dtype", "vocabulary_size", "idf_weights", "salt", "has_input_vocabulary"});
  ValueId x = call.x();
  const std::string mode = use.word("output_mode");
  const bool is_inverse = use.truth("invert"), pads = use.truth("pad_to_max_tokens"),
             hashes = use.word("oov_method") != "floormod";
  if (mode != "int" && pads)
    call.refuse(Fault::Unsupported, "pads its categories to 'max_tokens', which this version does not carry");
  const Lookup all = lookup_of(use);
  if (all.buckets > 1 && hashes)
    call.refuse(Fault::Unsupported, "hashes what it does not know ('oov_method'), which this version does not carry");
  if (call.failed()) return {};
  x = call.add(Cast{DType::I64}, {x}, "numbers");
  if (is_inverse) return {tokens_of(call, x, all)};
  const ValueId index = indices_of(call, x, all);
  if (mode == "int") return use.add(Identity{}, {index});
  return encoded(use, index, mode, all.size(), call.version.major < 3 ? DType::F32 : DType::I64);
}

// clang-format off
constexpr std::array rows_of_encoding{
    CatalogueRow{"layers.Discretization", "bin_boundaries= num_bins= epsilon=0.01 output_mode=int sparse=False",
                 discretization},
    CatalogueRow{"layers.CategoryEncoding", "num_tokens|max_tokens output_mode=multi_hot sparse=False", category_encoding},
    CatalogueRow{"layers.IntegerLookup",
                 "max_tokens= num_oov_indices=1 mask_token= oov_token=-1 vocabulary= vocabulary_dtype=int64 idf_weights= "
                 "invert=False output_mode=int sparse=False pad_to_max_tokens=False oov_method=floormod salt=", integer_lookup}};
// clang-format on

}  // namespace

std::span<const CatalogueRow> encoding_operators() { return rows_of_encoding; }

}  // namespace convoy::keras
