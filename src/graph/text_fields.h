// How the fields of operators are written as words, and read back: one pair of functions per type of field.
#pragma once
#include "ops/op.h"

#include <charconv>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace convoy::text {

// The words of an enumeration, in the order of its values.
std::span<const std::string_view> words(Order);
std::span<const std::string_view> words(KernelOrder);
std::span<const std::string_view> words(LinearOrder);
std::span<const std::string_view> words(PadMode);
std::span<const std::string_view> words(Extreme);
std::span<const std::string_view> words(Positions);
std::span<const std::string_view> words(PowerRule);
std::span<const std::string_view> words(Cutting);
std::span<const std::string_view> words(Function);
std::span<const std::string_view> words(BinaryFunction);
std::span<const std::string_view> words(Noise);
std::span<const std::string_view> words(CellFunction);
std::span<const std::string_view> words(GateOrder);
std::span<const std::string_view> words(StepOrder);
std::span<const std::string_view> words(Reduction);
std::span<const std::string_view> words(Interpolation);
std::span<const std::string_view> words(Coordinates);
std::span<const std::string_view> words(Rounding);
std::span<const std::string_view> words(Arithmetic);
std::span<const std::string_view> words(FixedLengths);
std::span<const std::string_view> words(DType);

std::string print(Size value);
std::string print(bool value);
std::string print(double value);
std::string print(const std::string& value);  // quoted
std::string print(Axes value);
std::string print(Window value);
std::string print(Padding value);
std::string print(TransposedPadding value);
template <class E>
  requires std::is_enum_v<E>
std::string print(E value) {
  return std::string(words(value)[static_cast<std::size_t>(value)]);
}
template <class T>
std::string print(const std::vector<T>& list) {
  std::string text;
  for (const T& value : list) text += (text.empty() ? "" : ",") + print(value);
  return text;
}
template <class T>
std::string print(const std::optional<T>& value) {
  return value ? print(*value) : "none";
}

// Each says whether the whole of `text` was understood.
bool parse(std::string_view text, Size& value);
bool parse(std::string_view text, bool& value);
bool parse(std::string_view text, double& value);
bool parse(std::string_view text, std::string& value);  // already without its quotes
bool parse(std::string_view text, Axes& value);
bool parse(std::string_view text, Window& value);
bool parse(std::string_view text, Padding& value);
bool parse(std::string_view text, TransposedPadding& value);
template <class E>
  requires std::is_enum_v<E>
bool parse(std::string_view text, E& value) {
  const auto all = words(E{});
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i] == text) return value = static_cast<E>(i), true;
  }
  return false;
}
template <class T>
bool parse(std::string_view text, std::vector<T>& list) {
  list.clear();
  while (!text.empty()) {
    const auto comma = text.find(',');
    T value{};
    if (!parse(text.substr(0, comma), value)) return false;
    list.push_back(value);
    if (comma == std::string_view::npos) return true;
    text.remove_prefix(comma + 1);
  }
  return list.empty();  // a comma at the end is one too many
}
template <class T>
bool parse(std::string_view text, std::optional<T>& value) {
  if (text == "none") return value.reset(), true;
  T inner{};
  if (!parse(text, inner)) return false;
  value = inner;
  return true;
}

std::string quoted(std::string_view text);
// As it is where that can be read back, else quoted.
std::string name(std::string_view text);
constexpr bool is_name_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.' ||
         c == '/' || c == ':' || c == '-';
}

}  // namespace convoy::text
