// A value, or one sentence saying what is wrong and where. Nothing below the command line and the
// Python module prints, exits or throws.
#pragma once
#include <expected>
#include <string>
#include <string_view>
#include <utility>

namespace convoy {

// Internal always means a fault of ours; every other kind can be provoked by a file or a request. Limit: no sound file
// says this; Budget: sound or not, it takes more memory or work than was granted; Cancelled: the caller wants no answer any more.
enum class Fault {
  Format,
  Truncated,
  Limit,
  Budget,
  Unsupported,
  UnsafePath,
  Io,
  Numeric,
  Proof,
  Usage,
  Cancelled,
  Internal
};

// Too much of something, or no time for it: whoever tries several ways tries no other after it.
constexpr bool is_too_much(Fault fault) {
  return fault == Fault::Limit || fault == Fault::Budget || fault == Fault::Cancelled;
}

struct Error {
  Fault fault = Fault::Internal;
  std::string what;  // names the thing and the value: "stride is 0"
  std::string where;  // filled outward: "attribute 'strides'", then "layer 'conv1' (Conv2D)", then the file
};

template <class T>
using Result = std::expected<T, Error>;
using Status = Result<void>;

inline std::unexpected<Error> fail(Fault fault, std::string what) {
  return std::unexpected(Error{fault, std::move(what), {}});
}

// Hands the failure of one result on as the failure of another type: if (!r) return pass(r);
template <class T>
std::unexpected<Error> pass(Result<T>& r) {
  return std::unexpected(std::move(r.error()));
}

// Adds the next outer place to a failure; success passes through.
template <class T>
Result<T> within(std::string_view place, Result<T> r) {
  if (!r) {
    auto& where = r.error().where;
    where = where.empty() ? std::string(place) : std::string(place) + ": " + where;
  }
  return r;
}

// "place: sentence", as the user reads it.
inline std::string message(const Error& e) { return e.where.empty() ? e.what : e.where + ": " + e.what; }

}  // namespace convoy
