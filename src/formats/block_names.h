// What a reader would call a block of a program that no source has named: after what it computes, or after what the names
// of its layers share.
#pragma once
#include "formats/repeated_blocks.h"

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace convoy::python {

// What a line does to those around it: which of them a reader takes together.
enum class Role : std::uint8_t { Other, Computes, Adjusts, Activates, Combines };
Role role_of(std::string_view word);

// "stage2_block1_conv" -> stage2, block1, conv
std::vector<std::string> words_of_name(const std::string& name);

// "conv_bn_relu", "residual_block", "attention_block": after the words of its operators, in order ("conv", "bn", "add").
std::string block_name(const std::vector<std::string>& words);

struct BlockDescription {
  std::vector<std::string> lines;  // what each line of the block computes; for a block inside, the name of that
  std::string name;  // of the block, after all pieces in it
};
// `word` says what a piece computes.
BlockDescription description_of_block(const Grouped& block,
                                      const std::function<std::string(const Grouped& piece)>& word);

// The names of one block's layers, use by use, in order; empty where a line has none. `opaque`: names that say no more than
// the operator ("conv2d_5", "Conv_12").
struct LayerNames {
  std::vector<std::string> names;
  std::vector<bool> opaque;
};

// How the lines of a block are named in its text, the same for every use.
struct BlockNames {
  std::vector<std::string> inside;  // "depthwise_conv"; the operator's word where the names have nothing in common
  std::vector<std::string> uses;  // of each use: "stage_2_block_1"; empty: the names tell no use from another
  std::string word;  // what all uses are called: "denselayer"; empty: nothing
};
// An identifier: "1_conv" -> "conv_1".
std::string attribute_name(const std::string& name);

BlockNames names_in_block(const std::vector<LayerNames>& uses, const std::vector<std::string>& words);

}  // namespace convoy::python
