// A few operators as lines to paste: what is read once stands inside what reads it, and the rest gets a name. `x` is what
// comes in and what goes out. A line that is no assignment is applied to x: a layer is called with it.
#pragma once
#include "base/fresh_names.h"
#include "formats/python.h"

#include <cstddef>
#include <map>
#include <string>
#include <vector>

namespace convoy::python {

class Pasted {
 public:
  // What is read is known before the first line: `reads` counts them by value.
  explicit Pasted(std::map<std::size_t, int> reads) : reads_(std::move(reads)), names_({"x"}) {}

  void input(std::size_t value, const std::string& name) { names_of_[value] = name; }
  // For the operator that is being written. `named`: it may stand there several times.
  Expression read(std::size_t value, bool named);
  // Ends that operator. `layer`: what the expression calls with x and nothing else.
  void made(std::size_t value, Expression e, std::string layer = {});
  // All lines, the last of which gives the value.
  std::vector<std::string> lines(std::size_t value);

 private:
  struct Pending {
    Expression e;
    std::string layer;
  };
  bool is_x_free() const;
  void assign(std::size_t value);
  void line(const Pending& pending, const std::string& name);

  std::map<std::size_t, int> reads_;
  std::map<std::size_t, std::string> names_of_;
  std::map<std::size_t, Pending> pending_;
  bool has_read_ = false;  // the operator that is being written
  FreshNames names_;
  std::vector<std::string> lines_;
};

}  // namespace convoy::python
