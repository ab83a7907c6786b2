// Products of whole numbers as QuantizeLinear and DequantizeLinear would say them.
#pragma once
#include "graph/graph.h"

namespace convoy::diagnose {

// What QLinearConv, QLinearMatMul and QGemm compute in whole numbers becomes a product of the real numbers that these stand for,
// rounded to the steps of the result; the layers are called as those of other operators between steps: 'conv/real_0' widens,
// 'conv/real' multiplies, 'conv' rounds. How many there were. Fails: as patches do.
Result<std::size_t> spell_out_products(Graph& graph, int threads);

}  // namespace convoy::diagnose
