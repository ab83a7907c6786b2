#include "formats/whole_arithmetic.h"

#include "base/whole_tensor.h"
#include "ops/expect.h"

#include <cmath>
#include <string>
#include <vector>

namespace convoy {

ValueId power_of_whole(FunctionCall& call, ValueId a, ValueId b) {
  constexpr double most = 64;
  if (const Tensor* known = call.constant(b); known && known->count() == 1 && known->rank() <= call.rank(a)) {
    const double n = known->doubles().front();
    if (n >= 1 && n <= most && n == std::floor(n)) return power_by_products(call, a, static_cast<int>(n));
  }
  return power_in_float64(call, a, b);
}

ValueId mean_of_whole(FunctionCall& call, ValueId x, const Sizes& axes, bool keeps_axes) {
  std::vector<Dim> sizes;
  for (const Size axis : axes) sizes.push_back(call.dim(x, axis));
  const auto count = product_of(sizes);
  if (!count || !count->known() || **count < 1)
    call.refuse(Fault::Unsupported, "a mean of whole numbers along axes whose sizes are free");
  if (call.failed()) return {};
  const DType dtype = call.type(x).dtype;
  const ValueId exact = call.add(Reduce{Reduction::Sum, axes, keeps_axes}, {x});
  const ValueId sum = call.failed() || call.type(exact).dtype == dtype ? exact : call.add(Cast{dtype}, {exact});
  const ValueId whole = call.make_constant("count", whole_tensor(dtype, {}, {**count}));
  return call.add(Binary{BinaryFunction::TruncateDivide}, {sum, whole});
}

}  // namespace convoy
