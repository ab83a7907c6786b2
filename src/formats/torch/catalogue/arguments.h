// How PyTorch's functions take their arguments: numbers per axis, an input whose batch axis may be left out.
#pragma once
#include "formats/function.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace convoy::torch {

// "conv2d", "Conv2d" -> 2
Size space_of(std::string_view name);

// Whole numbers, and nothing that merely looks like them. A list of any length; one number is a list of one.
Sizes whole_numbers(FunctionCall& call, std::string_view key);
Size whole_number(FunctionCall& call, std::string_view key, std::optional<Size> otherwise = {});

// Where the argument is left out, what the operator's row says; refuses the call where it says nothing.
double number_or_default(FunctionCall& call, std::string_view key);
Size integer_or_default(FunctionCall& call, std::string_view key);
bool truth_or_default(FunctionCall& call, std::string_view key);
std::string word_or_default(FunctionCall& call, std::string_view key);

// n for all axes, or one number for each; most functions take [n] for all axes, too. `otherwise` where the argument is
// absent.
enum class ListOfOne : std::uint8_t { ForAll, ForOne };
Sizes per_axis(FunctionCall& call, std::string_view key, Size count, std::optional<Size> otherwise = {},
               ListOfOne one = ListOfOne::ForAll);

// Whether an index says by truths which cells are meant; bytes are truths there, as in old programs.
bool is_mask(FunctionCall& call, ValueId index);

// An axis that may count from the end; refuses one that the input does not have.
Size axis_of(FunctionCall& call, Size axis, Size rank);

// The argument "dim" of what folds axes, sorted. No list, or an empty one: all axes.
Sizes reduced_axes(FunctionCall& call, ValueId x);

// Refuses numbers that are not real ones: of whole ones PyTorch computes another thing, or nothing.
ValueId real_tensor(FunctionCall& call, std::string_view name);

// Refuses the call where any number is below `least`.
void expect_least(FunctionCall& call, std::string_view key, const Sizes& numbers, Size least);

// [N, C, n...] of an input that may come as [C, n...]. Refuses every other rank.
struct Batched {
  ValueId value;
  bool added = false;
};
Batched with_batch(FunctionCall& call, ValueId input, Size space);
// Takes the batch axis out again where it was put in.
ValueId without_batch(FunctionCall& call, const Batched& input, ValueId value);

// What stands in the text of pad modes: "reflect", "replicate", "circular". Nothing: no such mode.
std::optional<PadMode> mode_of(std::string_view word);

// torch.nn.functional.pad: pairs of cells, the last axis first. `value` is read by Constant only.
ValueId padded(FunctionCall& call, ValueId x, const Sizes& pairs, PadMode mode, double value = 0);

// Windows that share out each axis evenly; an axis may be asked for 0 of them.
std::vector<ValueId> adaptive(FunctionCall& call, ValueId x, Extreme kind, const Sizes& out, Positions positions);

}  // namespace convoy::torch
