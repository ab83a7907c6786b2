// Methods of texts.
#include "containers/python/methods.h"
#include "containers/python/unread.h"

#include <array>
#include <limits>

namespace convoy::python {
namespace {

using Made = Result<Value>;

Result<std::string> word(const std::optional<Value>& v, std::string_view what) {
  if (v)
    if (const auto* text = v->as<Text>()) return text->text;
  return wrong(std::string(what) + "() wants a text");
}

constexpr const char* blank = " \t\n\r\v\f";

Made join(Interpreter& in, Text& self, Taken& a) {
  const auto all = in.elements(*a[0]);
  if (!all) return std::unexpected(all.error());
  std::string words;
  for (std::size_t i = 0; i < all->size(); ++i) {
    if ((*all)[i].as<NotRead>()) return (*all)[i];
    const auto one = word((*all)[i], "join");
    if (!one) return std::unexpected(one.error());
    if (i) words += self.text;
    words += *one;
    if (auto paid = in.charge(static_cast<Size>(one->size() + self.text.size())); !paid) return pass(paid);
  }
  return in.text(std::move(words));
}

Made split(Interpreter& in, Text& self, Taken& a) {
  const bool at_blanks = !a[0] || a[0]->is_none();
  const auto said = at_blanks ? Result<std::string>("") : word(a[0], "split");
  if (!said) return std::unexpected(said.error());
  if (!at_blanks && said->empty()) return in.raises("ValueError", "split() at nothing");
  const std::string by = *said;
  const Size most = a[1] && a[1]->is_whole() ? a[1]->whole() : -1;
  ValueList parts;
  std::size_t from = 0;
  if (by.empty()) {
    while ((from = self.text.find_first_not_of(blank, from)) != std::string::npos) {
      const bool is_last = most >= 0 && static_cast<Size>(parts.size()) == most;
      const std::size_t to =
          is_last ? self.text.size() : std::min(self.text.find_first_of(blank, from), self.text.size());
      parts.push_back(in.text(self.text.substr(from, to - from)));
      from = to;
    }
    return in.list(std::move(parts));
  }
  for (std::size_t at;
       (most < 0 || static_cast<Size>(parts.size()) < most) && (at = self.text.find(by, from)) != std::string::npos;
       from = at + by.size())
    parts.push_back(in.text(self.text.substr(from, at - from)));
  parts.push_back(in.text(self.text.substr(from)));
  return in.list(std::move(parts));
}

// The letters in front of a byte.
Value letters_before(const Text& self, std::size_t at) {
  return Value::of(static_cast<std::int64_t>(Text(self.text.substr(0, at)).letters().size()));
}

// text[start:end], where the arguments behind the first say so, and where it begins.
struct Within {
  std::string_view text;
  std::size_t from = 0;
};
Result<Within> within(Interpreter& in, const Text& self, const Taken& a) {
  if (a.size() < 3 || (!a[1] && !a[2])) return Within{self.text};
  if (!self.is_ascii) return fail(Fault::Unsupported, "a part of a text beyond ASCII is searched");
  const Value start = a[1].value_or(Value()), end = a[2].value_or(Value());
  const Cut* cut = in.make<Cut>(start, end, Value());
  const auto part = part_of(*cut, static_cast<Size>(self.text.size()));
  if (!part) return std::unexpected(part.error());
  const auto n = static_cast<Size>(self.text.size());
  const auto from_front = [&](const Value& at, Size otherwise) {
    return !at.is_whole() ? otherwise : at.whole() < 0 ? std::max<Size>(at.whole() + n, 0) : at.whole();
  };
  if (from_front(start, 0) > std::min(from_front(end, n), n)) return Within{{}, std::string::npos};
  return Within{
      std::string_view(self.text).substr(static_cast<std::size_t>(part->start), static_cast<std::size_t>(part->count)),
      static_cast<std::size_t>(part->start)};
}

template <bool End>
Made begins(Interpreter& in, Text& self, Taken& a) {
  ValueList all{*a[0]};
  if (const auto* several = a[0]->as<Sequence>()) all = several->items;
  const auto inside = within(in, self, a);
  if (!inside) return std::unexpected(inside.error());
  for (const Value& one : all) {
    const auto part = word(one, End ? "endswith" : "startswith");
    if (!part) return std::unexpected(part.error());
    const bool is_there = End ? inside->text.ends_with(*part) : inside->text.starts_with(*part);
    if (is_there && inside->from != std::string::npos) return Value::of(true);
  }
  return Value::of(false);
}

template <bool Upper>
Made cased(Interpreter& in, Text& self, Taken&) {
  if (!self.is_ascii) return fail(Fault::Unsupported, "upper() or lower() of a text beyond ASCII");
  std::string words = self.text;
  for (char& c : words) {
    if (Upper && c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
    if (!Upper && c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return in.text(std::move(words));
}

// lstrip() and rstrip()
template <bool End>
Made strip_one(Interpreter& in, Text& self, Taken& a) {
  const auto said = !a[0] || a[0]->is_none() ? Result<std::string>(blank) : word(a[0], "strip");
  if (!said || !Text::holds_ascii(*said))
    return said ? Made(fail(Fault::Unsupported, "strip() of letters beyond ASCII")) : std::unexpected(said.error());
  const std::string& of = *said;
  const auto kept = End ? self.text.find_last_not_of(of) : self.text.find_first_not_of(of);
  if (kept == std::string::npos) return in.text("");
  return in.text(End ? self.text.substr(0, kept + 1) : self.text.substr(kept));
}

// removeprefix() and removesuffix()
template <bool End>
Made removed(Interpreter& in, Text& self, Taken& a) {
  const auto part = word(a[0], End ? "removesuffix" : "removeprefix");
  if (!part) return std::unexpected(part.error());
  const bool is_there = End ? self.text.ends_with(*part) : self.text.starts_with(*part);
  if (!is_there) return Value::of(&self);
  const std::size_t kept = self.text.size() - part->size();
  return in.text(self.text.substr(End ? 0 : part->size(), kept));
}

// How often a text stands in it, one behind the other.
Made text_count(Interpreter& in, Text& self, Taken& a) {
  const auto part = word(a[0], "count");
  const auto inside = within(in, self, a);
  if (!part || !inside) return std::unexpected(part ? inside.error() : part.error());
  if (part->empty() && self.is_ascii)
    return Value::of(inside->from == std::string::npos ? 0 : static_cast<std::int64_t>(inside->text.size()) + 1);
  if (part->empty()) return fail(Fault::Unsupported, "count() of nothing in a text beyond ASCII");
  std::int64_t n = 0;
  for (std::size_t at = 0; (at = inside->text.find(*part, at)) != std::string_view::npos; at += part->size()) ++n;
  return Value::of(n);
}

// find(), rfind(), index() and rindex()
template <bool Last, bool Raises>
Made text_find(Interpreter& in, Text& self, Taken& a) {
  const auto part = word(a[0], "find");
  const auto inside = within(in, self, a);
  if (!part || !inside) return std::unexpected(part ? inside.error() : part.error());
  const auto at = inside->from == std::string::npos ? std::string_view::npos
                  : Last                            ? inside->text.rfind(*part)
                                                    : inside->text.find(*part);
  if (at != std::string_view::npos) return letters_before(self, inside->from + at);
  return Raises ? Made(in.raises("ValueError", "index() of what is not in the text")) : Value::of(std::int64_t{-1});
}

Made strip(Interpreter& in, Text& self, Taken& a) {
  const auto said = !a[0] || a[0]->is_none() ? Result<std::string>(blank) : word(a[0], "strip");
  if (!said || !Text::holds_ascii(*said))
    return said ? Made(fail(Fault::Unsupported, "strip() of letters beyond ASCII")) : std::unexpected(said.error());
  const std::string& of = *said;
  const auto first = self.text.find_first_not_of(of);
  if (first == std::string::npos) return in.text("");
  return in.text(self.text.substr(first, self.text.find_last_not_of(of) - first + 1));
}

Made replace(Interpreter& in, Text& self, Taken& a) {
  const auto from = word(a[0], "replace"), to = word(a[1], "replace");
  if (!from || !to || from->empty()) return wrong("replace() wants two texts");
  Size left = a[2] && a[2]->is_whole() && a[2]->whole() >= 0 ? a[2]->whole() : std::numeric_limits<Size>::max();
  std::string words;
  for (std::size_t at = 0;;) {
    const auto found = left-- > 0 ? self.text.find(*from, at) : std::string::npos;
    words += self.text.substr(at, found - at);
    if (found == std::string::npos) break;
    words += *to;
    if (auto paid = in.charge(static_cast<Size>(to->size())); !paid) return pass(paid);
    at = found + from->size();
  }
  return in.text(std::move(words));
}

// rsplit(sep, maxsplit): from the end.
Made split_from_end(Interpreter& in, Text& self, Taken& a) {
  const Size most = a[1] && a[1]->is_whole() ? a[1]->whole() : -1;
  if (most < 0) return split(in, self, a);
  const auto by = word(a[0], "rsplit");
  if (!by || by->empty()) return fail(Fault::Unsupported, "rsplit() of so many parts at blanks");
  ValueList parts;
  std::size_t end = self.text.size();
  while (static_cast<Size>(parts.size()) < most && end >= by->size()) {
    const auto at = self.text.rfind(*by, end - by->size());
    if (at == std::string::npos) break;
    parts.push_back(in.text(self.text.substr(at + by->size(), end - at - by->size())));
    end = at;
  }
  parts.push_back(in.text(self.text.substr(0, end)));
  std::ranges::reverse(parts);
  return in.list(std::move(parts));
}

// partition() and rpartition()
template <bool Last>
Made in_three(Interpreter& in, Text& self, Taken& a) {
  const auto by = word(a[0], "partition");
  if (!by || by->empty()) return wrong("partition() wants a text");
  const auto at = Last ? self.text.rfind(*by) : self.text.find(*by);
  if (at == std::string::npos) {
    const Value none = in.text("");
    return in.tuple(Last ? ValueList{none, none, Value::of(&self)} : ValueList{Value::of(&self), none, none});
  }
  return in.tuple({in.text(self.text.substr(0, at)), in.text(*by), in.text(self.text.substr(at + by->size()))});
}

Made lines(Interpreter& in, Text& self, Taken&) {
  if (self.text.find_first_of("\v\f\x1c\x1d\x1e") != std::string::npos || !self.is_ascii)
    return fail(Fault::Unsupported, "splitlines() of other than line ends");
  ValueList all;
  for (std::size_t from = 0; from < self.text.size();) {
    const std::size_t end = std::min(self.text.find_first_of("\r\n", from), self.text.size());
    all.push_back(in.text(self.text.substr(from, end - from)));
    from = end + (self.text.substr(end, 2) == "\r\n" ? 2 : 1);
  }
  return in.list(std::move(all));
}

bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }
bool is_lower(char c) { return c >= 'a' && c <= 'z'; }
bool is_plain_letter(char c) { return is_upper(c) || is_lower(c); }
bool is_plain_digit(char c) { return c >= '0' && c <= '9'; }
bool is_blank(char c) { return std::string_view(blank).find(c) != std::string_view::npos; }
bool is_letter_or_digit(char c) { return is_plain_letter(c) || is_plain_digit(c); }
char raised_letter(char c) { return is_lower(c) ? static_cast<char>(c - 'a' + 'A') : c; }
char lowered_letter(char c) { return is_upper(c) ? static_cast<char>(c - 'A' + 'a') : c; }

Status expect_ascii(const Text& self) {
  return self.is_ascii ? Status() : fail(Fault::Unsupported, "the letters of a text beyond ASCII are not told apart");
}

// isalpha() and its like: not of nothing.
template <bool (*Is)(char)>
Made all_are(Interpreter&, Text& self, Taken&) {
  if (auto plain = expect_ascii(self); !plain) return pass(plain);
  return Value::of(!self.text.empty() && std::ranges::all_of(self.text, Is));
}

// islower() and isupper(): no letter is of the other case, and one is of this.
template <bool (*Is)(char), bool (*Other)(char)>
Made cased_as(Interpreter&, Text& self, Taken&) {
  if (auto plain = expect_ascii(self); !plain) return pass(plain);
  return Value::of(std::ranges::any_of(self.text, Is) && std::ranges::none_of(self.text, Other));
}

// capitalize() raises the first letter, title() that of every word.
template <bool Words>
Made capitalised(Interpreter& in, Text& self, Taken&) {
  if (auto plain = expect_ascii(self); !plain) return pass(plain);
  std::string words = self.text;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const bool begins = Words ? i == 0 || !is_plain_letter(self.text[i - 1]) : i == 0;
    words[i] = begins ? raised_letter(words[i]) : lowered_letter(words[i]);
  }
  return in.text(std::move(words));
}

Made swapped_case(Interpreter& in, Text& self, Taken&) {
  if (auto plain = expect_ascii(self); !plain) return pass(plain);
  std::string words = self.text;
  for (char& c : words) c = is_upper(c) ? lowered_letter(c) : raised_letter(c);
  return in.text(std::move(words));
}

// ljust(), rjust() and center(): to so many letters.
enum class Stands : std::uint8_t { Left, Right, Middle };
template <Stands Where>
Made filled_up(Interpreter& in, Text& self, Taken& a) {
  const auto fill = a[1] ? word(a[1], "ljust") : Result<std::string>(" ");
  if (!fill || Text(*fill).letters().size() != 1 || !a[0]->is_whole())
    return wrong("a text is filled up to a width with one letter");
  const Size width = a[0]->whole(), gap = width - static_cast<Size>(self.letters().size());
  if (gap <= 0) return Value::of(&self);
  if (auto paid = in.charge(gap * 4); !paid) return pass(paid);
  const Size middle = gap / 2 + (gap & width & 1);  // as CPython's str.center() rounds
  const Size before = Where == Stands::Left ? 0 : Where == Stands::Right ? gap : middle;
  std::string words;
  for (Size i = 0; i < before; ++i) words += *fill;
  words += self.text;
  for (Size i = before; i < gap; ++i) words += *fill;
  return in.text(std::move(words));
}

// zfill(width): zeros behind the sign.
Made filled_with_zeros(Interpreter& in, Text& self, Taken& a) {
  if (!a[0]->is_whole()) return wrong("zfill() wants a width");
  const Size gap = a[0]->whole() - static_cast<Size>(self.letters().size());
  if (gap <= 0) return Value::of(&self);
  if (auto paid = in.charge(gap); !paid) return pass(paid);
  const std::size_t sign = self.text.starts_with('-') || self.text.starts_with('+') ? 1 : 0;
  return in.text(self.text.substr(0, sign) + std::string(static_cast<std::size_t>(gap), '0') + self.text.substr(sign));
}

// "{} of {name:>3}".format(...)
Made format(Interpreter& in, Text& self, Arguments& given) {
  std::string words;
  std::size_t next = 0;
  for (std::size_t i = 0; i < self.text.size(); ++i) {
    const char c = self.text[i];
    if ((c == '{' || c == '}') && i + 1 < self.text.size() && self.text[i + 1] == c) {
      words += c;
      ++i;
      continue;
    }
    if (c != '{') {
      words += c;
      continue;
    }
    const auto end = self.text.find('}', i);
    if (end == std::string::npos) return wrong("format() of a text without its closing '}'");
    const std::string field = self.text.substr(i + 1, end - i - 1);
    const std::string said = field.substr(0, field.find(':')), name = said.substr(0, said.find('!'));
    const std::string how = said.size() < field.size() ? field.substr(said.size() + 1) : "";
    const std::string conversion = name.size() < said.size() ? said.substr(name.size() + 1) : "";
    std::optional<Value> value;
    if (name.empty()) {
      if (next < given.placed.size()) value = given.placed[next++];
    } else if (name.find_first_not_of("0123456789") == std::string::npos && name.size() < 6) {
      const auto at = static_cast<std::size_t>(std::stoul(name));
      if (at < given.placed.size()) value = given.placed[at];
    } else {
      for (const auto& [key, one] : given.named)
        if (key == name) value = one;
    }
    if (!value) return fail(Fault::Unsupported, "format() finds no value for '{" + field + "}'");
    const auto one = in.formatted_as(*value, conversion, how);
    if (!one || !one->as<Text>()) return one;
    const std::string& written = one->as<Text>()->text;
    words += written;
    if (auto paid = in.charge(static_cast<Size>(written.size())); !paid) return pass(paid);
    i = end;
  }
  return in.text(std::move(words));
}

constexpr std::array text_methods{Method<Text>{"join", "iterable", 1, join},
                                  Method<Text>{"split", "sep maxsplit", 0, split},
                                  Method<Text>{"rsplit", "sep maxsplit", 0, split_from_end},
                                  Method<Text>{"splitlines", "", 0, lines},
                                  Method<Text>{"partition", "sep", 1, in_three<false>},
                                  Method<Text>{"rpartition", "sep", 1, in_three<true>},
                                  Method<Text>{"startswith", "prefix start end", 1, begins<false>},
                                  Method<Text>{"endswith", "suffix start end", 1, begins<true>},
                                  Method<Text>{"upper", "", 0, cased<true>},
                                  Method<Text>{"lower", "", 0, cased<false>},
                                  Method<Text>{"casefold", "", 0, cased<false>},
                                  Method<Text>{"swapcase", "", 0, swapped_case},
                                  Method<Text>{"capitalize", "", 0, capitalised<false>},
                                  Method<Text>{"title", "", 0, capitalised<true>},
                                  Method<Text>{"strip", "chars", 0, strip},
                                  Method<Text>{"lstrip", "chars", 0, strip_one<false>},
                                  Method<Text>{"rstrip", "chars", 0, strip_one<true>},
                                  Method<Text>{"removeprefix", "prefix", 1, removed<false>},
                                  Method<Text>{"removesuffix", "suffix", 1, removed<true>},
                                  Method<Text>{"count", "sub start end", 1, text_count},
                                  Method<Text>{"index", "sub start end", 1, text_find<false, true>},
                                  Method<Text>{"rindex", "sub start end", 1, text_find<true, true>},
                                  Method<Text>{"find", "sub start end", 1, text_find<false, false>},
                                  Method<Text>{"rfind", "sub start end", 1, text_find<true, false>},
                                  Method<Text>{"replace", "old new count", 2, replace},
                                  Method<Text>{"ljust", "width fillchar", 1, filled_up<Stands::Left>},
                                  Method<Text>{"rjust", "width fillchar", 1, filled_up<Stands::Right>},
                                  Method<Text>{"center", "width fillchar", 1, filled_up<Stands::Middle>},
                                  Method<Text>{"zfill", "width", 1, filled_with_zeros},
                                  Method<Text>{"isdigit", "", 0, all_are<is_plain_digit>},
                                  Method<Text>{"isalpha", "", 0, all_are<is_plain_letter>},
                                  Method<Text>{"isalnum", "", 0, all_are<is_letter_or_digit>},
                                  Method<Text>{"isdecimal", "", 0, all_are<is_plain_digit>},
                                  Method<Text>{"isnumeric", "", 0, all_are<is_plain_digit>},
                                  Method<Text>{"isspace", "", 0, all_are<is_blank>},
                                  Method<Text>{"islower", "", 0, cased_as<is_lower, is_upper>},
                                  Method<Text>{"isupper", "", 0, cased_as<is_upper, is_lower>}};

}  // namespace

Result<std::optional<Value>> Text::attribute(Interpreter& in, const std::string& name) {
  if (name == "format")
    return in.native(name, [this](Interpreter& with, Arguments& given) { return format(with, *this, given); });
  return method_of(in, *this, text_methods, name);
}

}  // namespace convoy::python
