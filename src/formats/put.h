// Cells put, added or folded in at places that an index tells, known beforehand or computed: each cell of the result looks which of
// the index's entries mean it.
#pragma once
#include "formats/function.h"

#include <optional>
#include <utility>
#include <vector>

namespace convoy {

// What is put where: the axis is the last one of all of them.
struct PutCells {
  ValueId into, index, from;  // from [..., K], or of no axes
  Size axis = 0;
  Dim entries{}, cells{};
  std::vector<std::pair<Size, ValueId>>
      beyond{};  // what the index does not reach along an axis of a free size: taken over
};

// `index` has the axes of `into`, or the scattered one alone. Cells that a smaller index does not reach are those that its entries of
// -1 mean: none; along free sizes they are set aside. Fails: shapes that do not fit, very many entries times cells.
PutCells put_cells(FunctionCall& call, ValueId into, ValueId index, ValueId from, Size axis);

// Of several entries for one cell the last one is taken.
ValueId replaced_cells(FunctionCall& call, const PutCells& put);
// All entries of a cell, and what stood there if it is included, become one number: Add, Multiply, Maximum, Minimum.
ValueId folded_cells(FunctionCall& call, const PutCells& put, BinaryFunction function, bool includes_self);
// The mean of all entries of a cell, and of what stood there.
ValueId averaged_cells(FunctionCall& call, const PutCells& put, bool includes_self);

// The first cells of x along an axis, as many as `like` has there.
ValueId cut_to(FunctionCall& call, ValueId x, ValueId like, Size axis);
// The same along every axis but one, where x may be longer: what indices of this shape reach.
ValueId reached_by(FunctionCall& call, ValueId x, ValueId index, Size axis);

// Places along an axis of x, those below 0 counted from its end.
ValueId counted_from_front(FunctionCall& call, ValueId index, ValueId x, Size axis);

// `from` [rows..., rest] put in at the rows of `index` [rows..., depth], each a place along the first axes of `into`; of several
// rows for one place the last is taken, or all are folded. Axes of any sizes may be free. `from_end`: places below 0 count from
// there; others that lie outside are passed over. Fails: shapes that do not fit, very many rows times cells.
ValueId put_rows(FunctionCall& call, ValueId into, ValueId index, ValueId from, std::optional<BinaryFunction> function,
                 bool from_end);

}  // namespace convoy
