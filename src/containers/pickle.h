// Reads a pickle as data: the opcodes run over inert values. What the stream names is kept by its name, and what it would
// call is kept as a call that nobody makes.
#pragma once
#include "base/bytes.h"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace convoy {

// A value of a pickle, by its place in the document: streams share values, and may hold themselves.
struct PickleId {
  std::int32_t index = -1;
  explicit operator bool() const { return index >= 0; }
  friend auto operator<=>(PickleId, PickleId) = default;
};

enum class PickleKind : std::uint8_t {
  None,
  Bool,  // integer: 0 or 1
  Integer,  // integer
  LongNumber,  // text: two's complement bytes, lowest first, of a number that does not fit
  Float,  // number
  Text,  // text, UTF-8 as it stands
  ByteText,  // text
  List,  // items
  Tuple,  // items
  Set,  // items
  Dict,  // items: key, value, key, value...
  Global,  // text: "module name", with one blank between
  Call,  // callee, arguments (a tuple), and what was done to the result: state, items, entries
  Persistent,  // arguments: the persistent id
};

struct PickleValue {
  PickleKind kind = PickleKind::None;
  std::int64_t integer = 0;
  double number = 0;
  std::string text;
  std::vector<PickleId> items;
  std::vector<PickleId> entries;  // of a Call that was filled like a dictionary: key, value...
  PickleId callee, arguments, state;
};

class Pickle {
 public:
  // The first pickle in `bytes`; `origin` is where they lie in the file, for messages. Protocols 0 to 5.
  // Fails: Truncated; Format: an opcode that is unknown or finds the wrong values; Budget: more values than a file of its size is granted;
  // Unsupported: extension codes, buffers outside of the stream.
  static Result<Pickle> parse(Bytes bytes, Size origin = 0);

  PickleId root() const { return root_; }
  Size size() const { return static_cast<Size>(values_.size()); }  // values, by which PickleId counts
  Size length() const { return length_; }  // bytes up to and with the end of this pickle
  const PickleValue& operator[](PickleId id) const { return values_[static_cast<std::size_t>(id.index)]; }

  bool is(PickleId id, PickleKind kind) const { return id && (*this)[id].kind == kind; }
  // "torch FloatStorage" of a global, "" of anything else.
  std::string_view global(PickleId id) const;
  // The value of a text key of a Dict, or of a Call that was filled like one; none where it is absent.
  PickleId at(PickleId dict, std::string_view key) const;

 private:
  friend class PickleMachine;
  std::vector<PickleValue> values_;
  PickleId root_;
  Size length_ = 0;
};

}  // namespace convoy
