// Blocks of Keras source that are alike but for names and numbers: one function takes both.
#pragma once
#include "base/fresh_names.h"
#include "formats/keras/write/blocks.h"
#include "formats/python.h"

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace convoy::keras {

// The function of blocks that are alike.
struct BlockFunction {
  std::string name, text;
  std::vector<std::string> signature;  // the numbers that it takes, behind its tensors and before its name
  std::map<const Part*, std::vector<std::string>> numbers;  // of each block
};

// What all functions of one file share.
struct SourceParts {
  explicit SourceParts(const Document& of);

  const Document& document;
  std::map<const Part*, std::string> kinds;  // of blocks: their lines without names and numbers
  std::map<std::string, std::vector<const Part*>> alike;  // by kind
  std::map<std::string, BlockFunction> functions;  // by kind
  std::vector<std::string> order;  // kinds of functions, inner before outer
  FreshNames names;
  std::vector<std::string> tables;  // lines that define tables of numbers
  std::vector<std::pair<Tensor, std::string>> known_tables;
};

// What the text of a part is, but for its names and numbers; and those numbers. Empty: like no other.
struct PartText {
  std::string kind;
  std::vector<std::string> numbers;
  std::size_t lines = 0;
};
PartText text_alone(SourceParts& parts, const Part& part);

// Finds out which blocks are alike. `all` must outlive `parts`.
Status count_blocks(SourceParts& parts, const std::vector<Part>& all);

// The function of a repeated block. Null: it stands there once, or no more than `times`, as often as what is around it.
Result<const BlockFunction*> function_of(SourceParts& parts, const Part& block, std::size_t times);

inline constexpr std::string_view name_mark = "name=";  // in front of the names of layers
// What variables are not called: the text itself uses these words.
const std::set<std::string>& taken_names();

// Lines wrapped as they stand in a file.
std::string wrapped_lines(const std::string& text);

}  // namespace convoy::keras
