// What names stand for in text that was pasted, as far as it is written out: numbers, words, lists of them, and the shapes of
// tensors that are made of numbers.
#pragma once
#include "containers/python/expression.h"
#include "convoy/size.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace convoy::explain {

inline bool begins_name(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
inline bool in_name(char c) { return begins_name(c) || (c >= '0' && c <= '9'); }
// Where the name that begins here ends.
std::size_t behind_name(std::string_view text, std::size_t at = 0);

// Line by line down to a call: a name is what the nearest line above made of it in the same block or one around it. What is
// a parameter, runs in a loop, depends on a condition or is computed has no value here.
class PastedValues {
 public:
  // The text outlives this.
  explicit PastedValues(const std::string& text) : text_(text) {}

  // Reads the lines before the one that `at` lies in, and sees to which block that one belongs.
  void advance(std::size_t at);

  // As it stands in the text.
  std::optional<std::string> of(std::string_view name) const;
  // Of a tensor: a name, a call that makes one, a permutation of one, or what only wraps one.
  std::optional<Sizes> shape_of(const python::Expression& expression) const;

 private:
  struct Known {
    std::string name;
    std::size_t indent;
    std::optional<std::string> value;
    std::optional<Sizes> shape;
  };

  const Known* find(std::string_view name) const;
  void leave_blocks(std::size_t indent);
  void forget_all(std::string_view names, std::size_t indent);
  void read(std::string_view whole, std::size_t indent);
  void assign(std::string_view name, std::string_view text, std::size_t indent);
  std::optional<Sizes> shape_of_call(const python::Expression& call) const;

  const std::string& text_;
  std::size_t next_ = 0;  // line to be read
  bool goes_on_ = false;  // the line before ends within brackets
  bool is_in_brackets_ = false;  // it may: it has some
  std::vector<Known> known_;
  std::vector<std::size_t> definitions_;  // how far in the lines stand that begin the blocks of functions and classes
};

}  // namespace convoy::explain
