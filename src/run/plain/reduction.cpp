#include "run/plain/folds.h"
#include "run/plain/kernels.h"

namespace convoy::plain {

template <class T>
Status compute(const Reduce& op, const Call<T>& call) {
  const Groups groups(call.in[0].shape, op.axes);
  const Sizes& places = groups.places();
  for (std::size_t g = 0; g < call.out[0].values.size(); ++g) {
    const T* x = call.data(0) + groups.starts()[g];
    double folded = op.reduction == Reduction::Product ? 1 : 0;
    if (op.reduction == Reduction::Maximum || op.reduction == Reduction::Minimum)
      folded = static_cast<double>(x[places[0]]);
    for (const Size place : places) {
      const auto value = static_cast<double>(x[place]);
      switch (op.reduction) {
        case Reduction::Mean:
        case Reduction::Sum: folded += value; break;
        case Reduction::Maximum:
          if (value > folded || value != value) folded = value;
          break;
        case Reduction::Minimum:
          if (value < folded || value != value) folded = value;
          break;
        case Reduction::Product: folded *= value; break;
      }
    }
    if (op.reduction == Reduction::Mean) folded /= static_cast<double>(places.size());
    call.out[0].values[g] = static_cast<T>(folded);
  }
  return {};
}

template Status compute(const Reduce&, const Call<float>&);
template Status compute(const Reduce&, const Call<double>&);

}  // namespace convoy::plain
