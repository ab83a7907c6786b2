// The lines of one function of Keras source: a call each, calls of blocks, and loops over blocks that count.
#pragma once
#include "formats/keras/write/functions.h"

#include <map>
#include <string>
#include <vector>

namespace convoy::keras {

// The lines of one function: build, or a block.
class Lines {
 public:
  // `prefix`: what the names of layers begin with in a block, which is called with its name instead.
  Lines(SourceParts& parts, std::string prefix);

  void name_input(const Reference& r, const std::string& wanted, bool brief);
  // `outputs` are read behind the last line. `plain`: every block is written out, so is one that stands there no more than
  // `times`, as often as what is around it.
  // `arguments` are what a function of a block is called with.
  Status write(const std::vector<Part>& all, const std::vector<Reference>& outputs, bool plain, std::size_t times,
               const std::vector<Reference>& arguments = {});

  std::string tensor(const Reference& r) const;
  // One statement a line, long ones not wrapped yet.
  const std::string& text() const { return text_; }

 private:
  struct Item {
    const Part* part;
    const BlockFunction* function = nullptr;  // of a block that is called
  };

  std::vector<Reference> reads(const Item& item) const;
  Status flatten(const std::vector<Part>& all, bool plain, std::size_t times);
  Status write_item(std::size_t i);
  void write_call(std::size_t i);
  std::size_t loop_end(std::size_t i) const;
  void write_loop(std::size_t from, std::size_t end);
  void name_tensor(const Reference& r, std::string name);
  std::string variable_for(const Step& made, std::size_t at, const std::string& wanted);
  std::string name_text(std::string layer) const;
  std::string text_of_name(const std::string& name) const;
  Result<std::string> table(const Tensor& numbers);
  void line(const std::string& text, std::size_t indent = 4) { text_ += std::string(indent, ' ') + text + "\n"; }

  SourceParts& parts_;
  std::string prefix_;
  FreshNames names_;
  std::vector<Item> items_;
  std::map<Step, std::string> variables_;
  std::map<std::pair<Step, std::size_t>, std::string> single_;  // of one tensor among several that a layer gives
  std::map<Step, std::size_t> last_use_;
  std::map<std::size_t, std::string> shared_;
  std::string text_;
};

}  // namespace convoy::keras
