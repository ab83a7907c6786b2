// A format's vocabulary is a table: one row per operator and direction, built from plain functions.
#pragma once
#include "convoy/result.h"
#include "ops/op.h"

#include <cstddef>
#include <map>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <variant>

namespace convoy {

// A word of the file and the function that reads it. `Function` is a plain function pointer.
template <class Function>
struct ReadRow {
  std::string_view type;  // the operator's name in the file
  Function read = nullptr;
};

template <class Sink>
struct WriteRow {
  std::string_view op;                       // Op::name
  Status (*write)(const Op&, Sink&) = nullptr;  // null when the format has no such operator,
  std::string_view why_not;                  // and then this says so
};

// The rows of all families by the name of their operator.
template <class Families>
auto by_operator(const Families& families) {
  std::map<std::string_view, std::remove_cvref_t<decltype(families[0][0])>> all;
  for (const auto& family : families)
    for (const auto& row : family) all.emplace(row.op, row);
  return all;
}

template <class>
struct writer;
template <class T, class S>
struct writer<Status (*)(const T&, S&)> {
  using op = T;
  using sink = S;
};

// The row of a function `Status write_conv(const Conv&, Sink&)`.
template <auto Fn>
consteval auto writes() {
  using W = writer<decltype(Fn)>;
  return WriteRow<typename W::sink>{
      W::op::name,
      [](const Op& op, typename W::sink& sink) -> Status { return Fn(*get_if<typename W::op>(&op), sink); },
      {}};
}

template <class T, class Sink>
consteval WriteRow<Sink> lacks(std::string_view why) {
  return {T::name, nullptr, why};
}

// Every operator of the family has exactly one row.
template <class Family, class Rows>
consteval bool decides(const Rows& rows) {
  return []<class... T>(std::tuple<T...>*, const Rows& r) {
    const auto once = [&](std::string_view n) {
      int k = 0;
      for (const auto& row : r) k += row.op == n;
      return k == 1;
    };
    return (once(T::name) && ...) && r.size() == sizeof...(T);
  }(static_cast<Family*>(nullptr), rows);
}

}  // namespace convoy
