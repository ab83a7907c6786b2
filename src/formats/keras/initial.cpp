#include "formats/keras/initial.h"

#include "base/orthogonal.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <numbers>
#include <numeric>
#include <string>

namespace convoy::keras {
namespace {

using Four = std::array<std::uint32_t, 4>;
using Key = std::array<std::uint32_t, 2>;

// Ten rounds of Philox 4x32. Source: Salmon et al., "Parallel random numbers: as easy as 1, 2, 3".
Four philox(Four counter, Key key) {
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t a = std::uint64_t{0xD2511F53} * counter[0], b = std::uint64_t{0xCD9E8D57} * counter[2];
    counter = {static_cast<std::uint32_t>(b >> 32U) ^ counter[1] ^ key[0], static_cast<std::uint32_t>(b),
               static_cast<std::uint32_t>(a >> 32U) ^ counter[3] ^ key[1], static_cast<std::uint32_t>(a)};
    key[0] += 0x9E3779B9;
    key[1] += 0xBB67AE85;
  }
  return counter;
}

// TensorFlow's stateless stream behind the seed [seed, 0].
class Stream {
 public:
  explicit Stream(std::uint64_t seed) {
    const Four mixed = philox({static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32U), 0, 0},
                              {0x3EC8F720, 0x02461E29});
    key_ = {mixed[0], mixed[1]};
    high_ = {mixed[2], mixed[3]};
  }
  Four block(std::uint64_t n) const {
    return philox({static_cast<std::uint32_t>(n), static_cast<std::uint32_t>(n >> 32U), high_[0], high_[1]}, key_);
  }

 private:
  Key key_{};
  std::array<std::uint32_t, 2> high_{};
};

float unit(std::uint32_t x) { return static_cast<float>(x & 0x7FFFFFU) * 0x1p-23F; }

std::array<float, 2> pair_of(std::uint32_t a, std::uint32_t b) {
  const float radius = std::sqrt(-2.0F * std::log(std::max(unit(a), 1e-7F)));
  const float angle = 2 * std::numbers::pi_v<float> * unit(b);
  return {std::sin(angle) * radius, std::cos(angle) * radius};
}

std::vector<float> uniform(const Stream& stream, std::size_t count, double low, double high) {
  const auto from = static_cast<float>(low), to = static_cast<float>(high);
  std::vector<float> all(count);
  Four four{};
  for (std::size_t i = 0; i < count; ++i) {
    if (i % 4 == 0) four = stream.block(i / 4);
    all[i] = unit(four[i % 4]) * (to - from) + from;
  }
  return all;
}

std::vector<float> normal(const Stream& stream, std::size_t count, double mean, double deviation) {
  const auto middle = static_cast<float>(mean), width = static_cast<float>(deviation);
  std::vector<float> all(count);
  for (std::size_t i = 0; i < count; i += 2) {
    const Four four = stream.block(i / 4);
    const auto both = pair_of(four[i % 4], four[i % 4 + 1]);
    for (std::size_t k = 0; k < 2 && i + k < count; ++k) all[i + k] = both[k] * width + middle;
  }
  return all;
}

// Four numbers at a time out of a stretch of 256 blocks of their own; those beyond two deviations are left out.
Result<std::vector<float>> truncated(const Stream& stream, std::size_t count, double mean, double deviation) {
  const auto middle = static_cast<float>(mean), width = static_cast<float>(deviation);
  std::vector<float> all;
  for (std::size_t group = 0; all.size() < count; ++group) {
    std::size_t found = 0;
    for (std::uint64_t block = 0; found < 4; ++block) {
      if (block == 256) return fail(Fault::Internal, "a truncated normal distribution that comes to no end");
      const Four four = stream.block(std::uint64_t{group} * 256 + block);
      for (const std::size_t half : {0, 2})
        for (const float x : pair_of(four[half], four[half + 1]))
          if (std::abs(x) < 2 && found < 4) all.push_back(x * width + middle), ++found;
    }
  }
  all.resize(count);
  return all;
}

// Q of a matrix of normal numbers, one row for each of the last axis' columns or the other way round.
Result<std::vector<float>> orthogonal(const Stream& stream, const Sizes& shape, std::size_t count, double gain) {
  const auto columns = static_cast<std::size_t>(shape.back()), rows = columns ? count / columns : 0;
  const bool wide = rows < columns;
  const auto drawn = normal(stream, count, 0, 1);
  auto factor = orthogonal_factor({drawn.begin(), drawn.end()}, std::max(rows, columns), std::min(rows, columns));
  if (!factor) return pass(factor);
  const auto& q = *factor;
  std::vector<float> all(count);
  for (std::size_t i = 0; i < count; ++i)
    all[i] = static_cast<float>(gain) * static_cast<float>(q[wide ? i % columns * rows + i / columns : i]);
  return all;
}

// Numbers going in and out of one cell.
std::array<double, 2> fans_of(const Sizes& shape) {
  if (shape.empty()) return {1, 1};
  if (shape.size() == 1) return {static_cast<double>(shape[0]), static_cast<double>(shape[0])};
  double receptive = 1;
  for (std::size_t i = 0; i + 2 < shape.size(); ++i) receptive *= static_cast<double>(shape[i]);
  return {receptive * static_cast<double>(shape[shape.size() - 2]), receptive * static_cast<double>(shape.back())};
}

struct Scaling {
  std::string_view name, mode, distribution;
  double scale;
};
constexpr std::array scalings{
    Scaling{"GlorotUniform", "fan_avg", "uniform", 1}, Scaling{"GlorotNormal", "fan_avg", "truncated_normal", 1},
    Scaling{"LecunUniform", "fan_in", "uniform", 1},   Scaling{"LecunNormal", "fan_in", "truncated_normal", 1},
    Scaling{"HeUniform", "fan_in", "uniform", 2},      Scaling{"HeNormal", "fan_in", "truncated_normal", 2}};

std::string word(const Json& config, const char* key, std::string_view usual) {
  const auto found = config.find(key);
  return found != config.end() && found->is_string() ? found->get<std::string>() : std::string(usual);
}
double number_in(const Json& config, const char* key, double usual) {
  const auto found = config.find(key);
  return found != config.end() && found->is_number() ? found->get<double>() : usual;
}

// Numbers in nested lists, or one for all. Fails: others, and too few or too many.
Result<std::vector<float>> constant(const Json& value, const Sizes& shape, std::size_t count) {
  if (value.is_number()) return std::vector<float>(count, value.get<float>());
  std::vector<float> numbers;
  Sizes sizes;
  std::vector<const Json*> open{&value};
  for (const Json* one = &value; one->is_array() && !one->empty(); one = &one->front())
    sizes.push_back(std::ssize(*one));
  while (!open.empty() && numbers.size() <= count) {
    const Json& one = *open.back();
    open.pop_back();
    if (one.is_number()) numbers.push_back(one.get<float>());
    else if (!one.is_array()) return fail(Fault::Unsupported, "initialiser 'Constant' of what is no number");
    else
      for (auto item = one.rbegin(); item != one.rend(); ++item) open.push_back(&*item);
  }
  if (sizes != shape || numbers.size() != count)
    return fail(Fault::Unsupported, "initialiser 'Constant' of numbers in another shape than the weight's");
  return numbers;
}

// The first argument that is given and no number where one is read; empty: there is none.
std::string_view unread_number(const Json& config) {
  for (const std::string_view key : {"gain", "minval", "maxval", "mean", "stddev", "scale", "seed"})
    if (const auto found = config.find(key); found != config.end() && !found->is_number() && !found->is_null())
      return key;
  return {};
}

Result<std::vector<float>> scaled(const Stream& stream, const Sizes& shape, std::size_t count, const Json& config,
                                  const Scaling* named) {
  const auto [in, out] = fans_of(shape);
  const std::string mode = named ? std::string(named->mode) : word(config, "mode", "fan_in");
  const std::string kind = named ? std::string(named->distribution) : word(config, "distribution", "truncated_normal");
  const double fan = mode == "fan_in" ? in : mode == "fan_out" ? out : (in + out) / 2;
  const double scale = (named ? named->scale : number_in(config, "scale", 1)) / std::max(1.0, fan);
  if (kind == "uniform") return uniform(stream, count, -std::sqrt(3 * scale), std::sqrt(3 * scale));
  if (kind == "untruncated_normal") return normal(stream, count, 0, std::sqrt(scale));
  return truncated(stream, count, 0, std::sqrt(scale) / 0.87962566103423978);
}

Result<std::vector<float>> identity(const Sizes& shape, std::size_t count, double gain) {
  if (shape.size() != 2) return fail(Fault::Format, "an identity of " + std::to_string(shape.size()) + " axes");
  std::vector<float> all(count, 0.0F);
  for (Size i = 0; i < std::min(shape[0], shape[1]); ++i)
    all[static_cast<std::size_t>(i * shape[1] + i)] = static_cast<float>(gain);
  return all;
}

}  // namespace

void leave_unfilled(Json& value) {
  if (value.is_object()) value.erase(starts_anew);
  if (value.is_structured())
    for (Json& inner : value) leave_unfilled(inner);
}

Result<Tensor> initial_numbers(const Json& initialiser, const Sizes& shape) {
  const std::string name = word(initialiser, "class_name", "");
  const auto held = initialiser.find("config");
  const Json config = held != initialiser.end() && held->is_object() ? *held : Json::object();
  constexpr Size most = Size{1} << 32;
  const auto known = checked_count(shape);
  if (!known || *known > most) return fail(Fault::Limit, "the declared weights take more than 16 GiB");
  const auto count = static_cast<std::size_t>(*known);
  if (const auto unread = unread_number(config); !unread.empty())
    return fail(Fault::Unsupported, "initialiser '" + name + "' is given '" + std::string(unread) +
                                        "' that is no number here; give the weights with --weights");
  // Seeds go through 32 bits with a sign.
  const auto argument = static_cast<std::int64_t>(number_in(config, "seed", 0)) % 2147483646;
  const Stream stream(static_cast<std::uint64_t>(argument < 0 ? argument + 2147483646 : argument));
  Result<std::vector<float>> numbers =
      fail(Fault::Unsupported, "initialiser '" + name + "' is not known here; give the weights with --weights");
  if (name == "Zeros") numbers = std::vector<float>(count, 0.0F);
  if (name == "Ones") numbers = std::vector<float>(count, 1.0F);
  if (name == "Constant") numbers = constant(config.value("value", Json(0)), shape, count);
  if (name == "Identity") numbers = identity(shape, count, number_in(config, "gain", 1));
  if (name == "RandomUniform")
    numbers = uniform(stream, count, number_in(config, "minval", -0.05), number_in(config, "maxval", 0.05));
  if (name == "RandomNormal")
    numbers = normal(stream, count, number_in(config, "mean", 0), number_in(config, "stddev", 0.05));
  if (name == "TruncatedNormal")
    numbers = truncated(stream, count, number_in(config, "mean", 0), number_in(config, "stddev", 0.05));
  if (name == "Orthogonal" && shape.size() >= 2)
    numbers = orthogonal(stream, shape, count, number_in(config, "gain", 1));
  const auto named = std::ranges::find(scalings, name, &Scaling::name);
  if (name == "VarianceScaling" || named != scalings.end())
    numbers = scaled(stream, shape, count, config, named == scalings.end() ? nullptr : &*named);
  if (!numbers) return pass(numbers);
  return Tensor::of(shape, std::move(*numbers));
}

Result<Tensor> initial_weight(std::string_view class_name, const Json& config, std::string_view name,
                              const Sizes& shape) {
  const bool ones = name == "gamma" || name == "moving_variance" || name == "variance" || name == "scale";
  Json initialiser{{"class_name", ones ? "Ones" : "Zeros"}};
  const std::string whole(name), part = whole.ends_with("_kernel") ? whole.substr(0, whole.size() - 7) : whole;
  for (const std::string& key : {whole, part, std::string(whole == "kernel" ? "depthwise" : whole)})
    if (const auto found = config.find(key + "_initializer"); found != config.end() && found->is_object()) {
      initialiser = *found;
      break;
    }
  // What is summed over in attention lies in front: one axis, or all but the last of the layer behind.
  const bool is_inside = class_name.ends_with("Attention") && whole.ends_with("_kernel") && shape.size() > 2;
  const auto border = is_inside ? std::next(shape.begin(), part == "output" ? std::ssize(shape) - 1 : 1) : shape.end();
  const auto product = [](auto first, auto last) { return std::accumulate(first, last, Size{1}, std::multiplies<>()); };
  auto numbers = is_inside
                     ? initial_numbers(initialiser, {product(shape.begin(), border), product(border, shape.end())})
                     : initial_numbers(initialiser, shape);
  if (numbers && is_inside) numbers = numbers->reshaped(shape);
  const auto argument = config.find("unit_forget_bias");
  const bool has_forget_gate = class_name == "LSTM" || class_name.starts_with("ConvLSTM");
  if (!numbers || !has_forget_gate || name != "bias" || shape.size() != 1 ||
      (argument != config.end() && *argument == false))
    return numbers;
  // The second of the four gates forgets nothing at first.
  const auto held = numbers->floats();
  std::vector<float> biases(held.begin(), held.end());
  const std::size_t units = biases.size() / 4;
  std::fill_n(biases.begin() + static_cast<std::ptrdiff_t>(units), units, 1.0F);
  return Tensor::of(shape, std::move(biases));
}

}  // namespace convoy::keras
