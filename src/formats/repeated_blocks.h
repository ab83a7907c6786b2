// Where a program repeats itself: stretches of pieces that are of the same kinds and wired in the same way. Each becomes
// a block of source code, a class or a function, that is written once and used several times.
#pragma once
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace convoy::python {

// A line of a program, or a block of lines that the source has already.
struct ProgramPiece {
  std::string kind;  // equal for pieces whose text is alike but for numbers; empty: like no other
  std::string word;  // what it computes: "conv", "bn"; a convolution and its norm are not torn apart
  std::string
      name;  // "stage2_block1_conv": a block had better not tear what its names hold together; empty: says nothing
  std::vector<std::string> numbers;  // in its text; as many in all of one kind
  double lines = 1;  // how much text it is
  std::vector<int> reads, makes;  // values, in order; numbers known beforehand are none
};

// The pieces' places in an order that follows one branch to its end before the next begins, as a person writes it.
std::vector<std::size_t> branch_by_branch(const std::vector<ProgramPiece>& pieces, const std::vector<int>& results);

// How much text a block is, besides its pieces.
struct BlockCost {
  double definition = 3;  // around the body
  double use = 1;
  double worth = 3;  // lines that a block has to save
  std::size_t most_inputs = 3;
};

// A piece, or a block of pieces that follow one another.
struct Grouped {
  std::optional<std::size_t> piece;
  int block = -1;  // which one: blocks of one number are alike in all that is inside
  std::vector<Grouped> inside;
  std::vector<int> reads,
      makes;  // of a block: what it reads from outside in the order of its lines; what is read of it
};

// The pieces in their order, blocks in blocks. A block gives one value. The one that saves the most lines is taken first,
// then the next, until none is worth it; of equal ones, the one that begins first; one that tears a sum from what is summed, or names apart that begin
// alike, must save more. `results` are read behind the last
// piece. The same pieces give the same blocks.
std::vector<Grouped> repeated_blocks(const std::vector<ProgramPiece>& pieces, const std::vector<int>& results,
                                     const BlockCost& cost);

}  // namespace convoy::python
