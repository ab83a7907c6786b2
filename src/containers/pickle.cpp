// The machine: a stack, marks and a memo, over values that do nothing. Source of the opcodes: CPython pickletools.py.
#include "containers/pickle.h"

#include "base/budget.h"

#include <bit>
#include <charconv>
#include <limits>
#include <optional>
#include <unordered_map>

namespace convoy {

namespace {
constexpr std::size_t most_values = std::size_t{1} << 30;  // 32 bits count them
constexpr Size longest_number = 1024;
constexpr int opcodes_at_once = 1024;
constexpr double steps_of_opcode = 15;
}  // namespace

class PickleMachine {
 public:
  PickleMachine(Bytes bytes, Size origin) : reader_(bytes, origin) {}

  Result<Pickle> run() {
    int opcodes = 0;
    while (!done_) {
      const Size place = reader_.place();
      if (auto allowed = pay(opcodes); !allowed) return pass(allowed);
      const std::uint8_t code = reader_.u8();
      if (!reader_.ok()) return reader_.failure("the next opcode");
      if (!step(code)) return failure(code, place);
      if (!reader_.ok()) return reader_.failure("the value of an opcode");
    }
    document_.length_ = reader_.at();
    return std::move(document_);
  }

 private:
  using Kind = PickleKind;

  // An opcode puts at most two values, a mark and an entry of the memo where there may be no room yet.
  Status pay(int& opcodes) {
    if (++opcodes == opcodes_at_once) {
      opcodes = 0;
      if (document_.values_.size() > most_values) return fail(Fault::Limit, "holds more than 2^30 values");
      if (auto paid = budget::spend(steps_of_opcode * opcodes_at_once, "running a pickle"); !paid) return paid;
      if (auto paid = budget::afford(static_cast<Size>(opcodes_at_once * sizeof(PickleValue)), "a pickle"); !paid)
        return paid;
    }
    if (document_.values_.size() + 2 > document_.values_.capacity())
      if (auto paid = growth(document_.values_, "the values of a pickle"); !paid) return paid;
    if (stack_.size() == stack_.capacity())
      if (auto paid = growth(stack_, "the stack of a pickle"); !paid) return paid;
    if (marks_.size() == marks_.capacity())
      if (auto paid = growth(marks_, "the marks of a pickle"); !paid) return paid;
    if (memo_.size() == memo_.capacity()) return growth(memo_, "the memo of a pickle");
    return {};
  }
  template <class Item>
  static Status growth(std::vector<Item>& items, std::string_view what) {
    const std::size_t room = 2 * items.size() + 8;
    if (auto paid = budget::afford(static_cast<Size>(room * sizeof(Item)), what); !paid) return paid;
    items.reserve(room);
    return {};
  }

  std::unexpected<Error> failure(std::uint8_t code, Size place) const {
    const std::string at = " at byte " + std::to_string(place);
    if (unsupported_) return fail(Fault::Unsupported, "opcode " + std::to_string(code) + at + " is not carried");
    return fail(Fault::Format, "opcode " + std::to_string(code) + at + " is unknown or does not fit what is before it");
  }

  // ---- values
  PickleId make(PickleValue value) {
    document_.values_.push_back(std::move(value));
    return {static_cast<std::int32_t>(document_.values_.size() - 1)};
  }
  bool push(PickleId id) {
    stack_.push_back(id);
    return true;
  }
  bool push(PickleValue value) { return push(make(std::move(value))); }
  bool push_text(Kind kind, std::string_view text) {
    return push(PickleValue{.kind = kind, .text = std::string(text)});
  }
  bool push_integer(std::int64_t n) { return push(PickleValue{.kind = Kind::Integer, .integer = n}); }
  bool push_bool(bool b) { return push(PickleValue{.kind = Kind::Bool, .integer = b}); }
  PickleValue& value(PickleId id) { return document_.values_[static_cast<std::size_t>(id.index)]; }

  // Nothing below the last mark may be taken.
  std::size_t floor() const { return marks_.empty() ? 0 : marks_.back(); }
  std::optional<PickleId> pop() {
    if (stack_.size() <= floor()) return std::nullopt;
    const PickleId top = stack_.back();
    stack_.pop_back();
    return top;
  }
  PickleId top() const { return stack_.size() > floor() ? stack_.back() : PickleId{}; }
  std::optional<std::vector<PickleId>> pop_to_mark() {
    if (marks_.empty()) return std::nullopt;
    std::vector<PickleId> items(stack_.begin() + static_cast<std::ptrdiff_t>(marks_.back()), stack_.end());
    stack_.resize(marks_.back());
    marks_.pop_back();
    return items;
  }

  // ---- what the opcodes carry
  std::string_view counted(Size width) {
    const std::uint64_t length = reader_.number(width);
    // ByteReader fails what is longer than what is left.
    const Size n = length > static_cast<std::uint64_t>(std::numeric_limits<Size>::max())
                       ? std::numeric_limits<Size>::max()
                       : static_cast<Size>(length);
    return text_of(reader_.take(n));
  }
  std::string_view line() {
    const Bytes rest = bytes_left();
    const std::string_view text = text_of(rest);
    const auto end = text.find('\n');
    if (end == std::string_view::npos) {
      reader_.take(reader_.left() + 1);  // fails the reader
      return {};
    }
    reader_.take(static_cast<Size>(end) + 1);
    std::string_view found = text.substr(0, end);
    if (found.ends_with('\r')) found.remove_suffix(1);
    return found;
  }
  Bytes bytes_left() {
    ByteReader ahead = reader_;
    return ahead.take(ahead.left());
  }

  bool decimal(std::string_view text) {
    if (text == "00" || text == "01") return push_bool(text == "01");
    if (text.ends_with('L')) text.remove_suffix(1);
    std::int64_t n = 0;
    const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), n);
    return fault == std::errc() && end == text.data() + text.size() && push_integer(n);
  }
  bool float_text(std::string_view text) {
    double n = 0;
    const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), n);
    return fault == std::errc() && end == text.data() + text.size() &&
           push(PickleValue{.kind = Kind::Float, .number = n});
  }
  bool big_endian_float() {
    return push(PickleValue{.kind = Kind::Float, .number = std::bit_cast<double>(__builtin_bswap64(reader_.u64()))});
  }
  bool long_number(std::string_view bytes) {
    if (static_cast<Size>(bytes.size()) > longest_number) return false;
    if (bytes.size() > 8) return push_text(Kind::LongNumber, bytes);
    std::uint64_t n = !bytes.empty() && (bytes.back() & 0x80) ? ~std::uint64_t{0} : 0;
    for (std::size_t i = bytes.size(); i-- > 0;) n = n << 8U | static_cast<std::uint8_t>(bytes[i]);
    return push_integer(static_cast<std::int64_t>(n));
  }
  // A quoted string of protocol 0; escapes other than quotes do not occur in names and stay as they are.
  bool quoted(std::string_view text) {
    if (text.size() < 2 || text.front() != text.back() || (text.front() != '\'' && text.front() != '"')) return false;
    return push_text(Kind::Text, text.substr(1, text.size() - 2));
  }

  // ---- containers
  bool collect(Kind kind) {
    auto items = pop_to_mark();
    if (!items || (kind == Kind::Dict && items->size() % 2 != 0)) return false;
    return push(PickleValue{.kind = kind, .items = std::move(*items)});
  }
  bool tuple_of(std::size_t count) {
    if (stack_.size() < floor() + count) return false;
    std::vector<PickleId> items(stack_.end() - static_cast<std::ptrdiff_t>(count), stack_.end());
    stack_.resize(stack_.size() - count);
    return push(PickleValue{.kind = Kind::Tuple, .items = std::move(items)});
  }
  bool extend(const std::vector<PickleId>& more, bool pairs) {
    const PickleId target = top();
    if (!target || (pairs && more.size() % 2 != 0)) return false;
    PickleValue& v = value(target);
    const bool fits =
        v.kind == Kind::Call || (pairs ? v.kind == Kind::Dict : v.kind == Kind::List || v.kind == Kind::Set);
    if (!fits) return false;
    auto& into = v.kind == Kind::Call && pairs ? v.entries : v.items;
    into.insert(into.end(), more.begin(), more.end());
    return true;
  }
  bool extend_from_mark(bool pairs) {
    const auto more = pop_to_mark();
    return more && extend(*more, pairs);
  }
  bool extend_by(std::size_t count, bool pairs) {
    if (stack_.size() < floor() + count + 1) return false;
    std::vector<PickleId> more(stack_.end() - static_cast<std::ptrdiff_t>(count), stack_.end());
    stack_.resize(stack_.size() - count);
    return extend(more, pairs);
  }

  // ---- names and calls
  bool global(std::string_view module, std::string_view name) {
    return push_text(Kind::Global, std::string(module) + " " + std::string(name));
  }
  bool global_from_lines() {
    const std::string module(line());
    return global(module, line());
  }
  bool global_from_stack() {
    const auto name = pop(), module = pop();
    if (!name || !module || value(*name).kind != Kind::Text || value(*module).kind != Kind::Text) return false;
    return global(std::string(value(*module).text), std::string(value(*name).text));
  }
  bool call(bool with_keywords) {
    if (with_keywords && !pop()) return false;
    const auto arguments = pop(), callee = pop();
    if (!arguments || !callee) return false;
    return push(PickleValue{.kind = Kind::Call, .callee = *callee, .arguments = *arguments});
  }
  bool call_from_mark(bool named) {
    auto items = pop_to_mark();
    if (!items) return false;
    PickleId callee;
    if (named) {
      if (!global_from_lines()) return false;
      callee = *pop();
    } else {
      if (items->empty()) return false;
      callee = items->front();
      items->erase(items->begin());
    }
    const PickleId arguments = make({.kind = Kind::Tuple, .items = std::move(*items)});
    return push(PickleValue{.kind = Kind::Call, .callee = callee, .arguments = arguments});
  }
  bool build() {
    const auto state = pop();
    const PickleId target = top();
    if (!state || !target) return false;
    PickleValue& v = value(target);
    v.state = *state;
    return true;
  }
  bool persistent_from_stack() {
    const auto id = pop();
    return id && push(PickleValue{.kind = Kind::Persistent, .arguments = *id});
  }

  // ---- memo
  bool remember(std::uint64_t key) {
    if (!top()) return false;
    if (key < memo_.size()) memo_[key] = top();
    else if (key == memo_.size()) {
      memo_.push_back(top());
      if (!far_memo_.empty()) far_memo_.erase(key);
    } else far_memo_[key] = top();
    return true;
  }
  bool recall(std::uint64_t key) {
    if (key < memo_.size()) return push(memo_[key]);
    const auto found = far_memo_.find(key);
    return found != far_memo_.end() && push(found->second);
  }
  std::optional<std::uint64_t> key_line() {
    const auto text = line();
    std::uint64_t n = 0;
    const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), n);
    if (fault != std::errc() || end != text.data() + text.size()) return std::nullopt;
    return n;
  }

  bool step(std::uint8_t code);
  bool step_of_protocol_two_and_later(std::uint8_t code);

  ByteReader reader_;
  Pickle document_;
  std::vector<PickleId> stack_;
  std::vector<std::size_t> marks_;
  std::vector<PickleId> memo_;                             // by key: writers count them
  std::unordered_map<std::uint64_t, PickleId> far_memo_;  // keys beyond those
  bool done_ = false, unsupported_ = false;
};

bool PickleMachine::step(std::uint8_t code) {
  switch (code) {
    case '.': {
      const auto root = pop();
      if (!root) return false;
      document_.root_ = *root;
      return done_ = true;
    }
    case '(': marks_.push_back(stack_.size()); return true;
    case '0': return stack_.size() > floor() ? pop().has_value() : pop_to_mark().has_value();
    case '1': return pop_to_mark().has_value();
    case '2': return top() && push(top());
    case 'N': return push(PickleValue{});
    case 'I': return decimal(line());
    case 'L': return decimal(line());
    case 'J': return push_integer(static_cast<std::int32_t>(reader_.u32()));
    case 'K': return push_integer(reader_.u8());
    case 'M': return push_integer(reader_.u16());
    case 'F': return float_text(line());
    case 'G': return big_endian_float();
    case 'S': return quoted(line());
    case 'V': return push_text(Kind::Text, line());
    case 'T': return push_text(Kind::Text, counted(4));
    case 'U': return push_text(Kind::Text, counted(1));
    case 'X': return push_text(Kind::Text, counted(4));
    case 'B': return push_text(Kind::ByteText, counted(4));
    case 'C': return push_text(Kind::ByteText, counted(1));
    case ']': return push(PickleValue{.kind = Kind::List});
    case 'l': return collect(Kind::List);
    case 'a': return extend_by(1, false);
    case 'e': return extend_from_mark(false);
    case ')': return push(PickleValue{.kind = Kind::Tuple});
    case 't': return collect(Kind::Tuple);
    case '}': return push(PickleValue{.kind = Kind::Dict});
    case 'd': return collect(Kind::Dict);
    case 's': return extend_by(2, true);
    case 'u': return extend_from_mark(true);
    case 'p': {
      const auto key = key_line();
      return key && remember(*key);
    }
    case 'q': return remember(reader_.u8());
    case 'r': return remember(reader_.u32());
    case 'g': {
      const auto key = key_line();
      return key && recall(*key);
    }
    case 'h': return recall(reader_.u8());
    case 'j': return recall(reader_.u32());
    case 'c': return global_from_lines();
    case 'R': return call(false);
    case 'b': return build();
    case 'i': return call_from_mark(true);
    case 'o': return call_from_mark(false);
    case 'P': {
      const auto id = make({.kind = Kind::Text, .text = std::string(line())});
      return push(PickleValue{.kind = Kind::Persistent, .arguments = id});
    }
    case 'Q': return persistent_from_stack();
    default: return step_of_protocol_two_and_later(code);
  }
}

bool PickleMachine::step_of_protocol_two_and_later(std::uint8_t code) {
  switch (code) {
    case 0x80: return reader_.u8() <= 5;
    case 0x81: return call(false);
    case 0x85: return tuple_of(1);
    case 0x86: return tuple_of(2);
    case 0x87: return tuple_of(3);
    case 0x88: return push_bool(true);
    case 0x89: return push_bool(false);
    case 0x8a: return long_number(counted(1));
    case 0x8b: return long_number(counted(4));
    case 0x8c: return push_text(Kind::Text, counted(1));
    case 0x8d: return push_text(Kind::Text, counted(8));
    case 0x8e: return push_text(Kind::ByteText, counted(8));
    case 0x8f: return push(PickleValue{.kind = Kind::Set});
    case 0x90: return extend_from_mark(false);
    case 0x91: return collect(Kind::Set);
    case 0x92: return call(true);
    case 0x93: return global_from_stack();
    case 0x94: return remember(memo_.size() + far_memo_.size());
    case 0x95: reader_.u64(); return true;  // a frame's length says nothing that the opcodes do not
    case 0x96: return push_text(Kind::ByteText, counted(8));
    case 0x82:
    case 0x83:
    case 0x84:
    case 0x97:
    case 0x98: unsupported_ = true; return false;
    default: return false;
  }
}

Result<Pickle> Pickle::parse(Bytes bytes, Size origin) { return PickleMachine(bytes, origin).run(); }

std::string_view Pickle::global(PickleId id) const {
  return is(id, PickleKind::Global) ? std::string_view((*this)[id].text) : std::string_view();
}

PickleId Pickle::at(PickleId dict, std::string_view key) const {
  if (!dict) return {};
  const PickleValue& v = (*this)[dict];
  const auto& entries = v.kind == PickleKind::Call ? v.entries : v.items;
  if (v.kind != PickleKind::Dict && v.kind != PickleKind::Call) return {};
  for (std::size_t i = 0; i + 1 < entries.size(); i += 2)
    if (is(entries[i], PickleKind::Text) && (*this)[entries[i]].text == key) return entries[i + 1];
  return {};
}

}  // namespace convoy
