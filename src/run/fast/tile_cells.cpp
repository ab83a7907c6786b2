// The gates of recurrent cells behind their products, some units at a time.
// Compiled once per instruction set: Highway includes this file again for each (foreach_target.h).
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "run/fast/tile_cells.cpp"
#include "run/fast/targets.h"  // before Highway

#include <hwy/foreach_target.h>  // before highway.h
#include <hwy/highway.h>
#include "run/fast/instruction_sets.h"
#include "run/fast/rows.h"

HWY_BEFORE_NAMESPACE();
namespace convoy::fast::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// In the other file that is compiled per instruction set.
void map(const MapCall& call, const float* x, float* y, Size count);

namespace {

constexpr Size most_units = 64;  // whole vectors of any instruction set

// Some units of one gate; those behind `count` are zeros.
struct Units {
  alignas(64) float of[most_units];
};

// work(vector, lanes that there are, where it begins)
template <class F>
HWY_INLINE void for_each_vector(Size count, const F& work) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<Size>(hn::Lanes(d));
  for (Size i = 0; i < count; i += lanes)
    work(d, hn::FirstN(d, static_cast<std::size_t>(count - i < lanes ? count - i : lanes)), i);
}

void add(const float* a, const float* b, Size count, Units& to) {
  for_each_vector(count, [&](auto d, auto there, Size i) HWY_ATTR {
    hn::Store(hn::Add(hn::MaskedLoad(there, d, a + i), hn::MaskedLoad(there, d, b + i)), d, to.of + i);
  });
}

// What a gate sees of the cell.
void add_seen(const float* peephole, const float* cell, Size count, Units& to) {
  for_each_vector(count, [&](auto d, auto there, Size i) HWY_ATTR {
    const auto seen = hn::Mul(hn::MaskedLoad(there, d, peephole + i), hn::MaskedLoad(there, d, cell + i));
    hn::Store(hn::Add(hn::Load(d, to.of + i), seen), d, to.of + i);
  });
}

void lstm(const CellCall& call, Size first, Size count) {
  const Size u = call.units;
  float *const c = call.memory + first, *const h = call.state + first;
  const float* const peepholes = call.peepholes ? call.peepholes + first : nullptr;
  Units gates[4];  // i, f, candidate, o
  for (Size g = 0; g < 4; ++g) add(call.x + g * u + first, call.inner + g * u + first, count, gates[g]);
  if (peepholes)
    for (Size g = 0; g < 2; ++g) add_seen(peepholes + g * u, c, count, gates[g]);
  map(call.gate, gates[0].of, gates[0].of, count);
  map(call.gate, gates[1].of, gates[1].of, count);
  map(call.activation, gates[2].of, gates[2].of, count);
  for_each_vector(count, [&](auto d, auto there, Size i) HWY_ATTR {
    const auto fresh = hn::Mul(hn::Load(d, gates[0].of + i), hn::Load(d, gates[2].of + i));
    const auto kept = hn::MulAdd(hn::Load(d, gates[1].of + i), hn::MaskedLoad(there, d, c + i), fresh);
    hn::BlendedStore(kept, there, d, c + i);
  });
  if (peepholes) add_seen(peepholes + 2 * u, c, count, gates[3]);
  map(call.gate, gates[3].of, gates[3].of, count);
  map(call.activation, c, gates[2].of, count);
  for_each_vector(count, [&](auto d, auto there, Size i) HWY_ATTR {
    hn::BlendedStore(hn::Mul(hn::Load(d, gates[3].of + i), hn::Load(d, gates[2].of + i)), there, d, h + i);
  });
}

void reset(const CellCall& call, Size first, Size count) {
  const Size at = call.r * call.units + first;
  Units r;
  add(call.x + at, call.inner + at, count, r);
  map(call.gate, r.of, r.of, count);
  const float* const h = call.state + first;
  for_each_vector(count, [&](auto d, auto there, Size i) HWY_ATTR {
    hn::BlendedStore(hn::Mul(hn::Load(d, r.of + i), hn::MaskedLoad(there, d, h + i)), there, d, call.reset + first + i);
  });
}

void gru(const CellCall& call, Size first, Size count) {
  const Size u = call.units;
  Units z, candidate;
  add(call.x + (1 - call.r) * u + first, call.inner + (1 - call.r) * u + first, count, z);
  map(call.gate, z.of, z.of, count);
  const float *const x = call.x + 2 * u + first, *const inner = call.inner + 2 * u + first;
  if (call.reset) {
    add(x, inner, count, candidate);
  } else {
    Units r;
    add(call.x + call.r * u + first, call.inner + call.r * u + first, count, r);
    map(call.gate, r.of, r.of, count);
    for_each_vector(count, [&](auto d, auto there, Size i) HWY_ATTR {
      const auto seen = hn::Mul(hn::Load(d, r.of + i), hn::MaskedLoad(there, d, inner + i));
      hn::Store(hn::Add(hn::MaskedLoad(there, d, x + i), seen), d, candidate.of + i);
    });
  }
  map(call.activation, candidate.of, candidate.of, count);
  float* const h = call.state + first;
  for_each_vector(count, [&](auto d, auto there, Size i) HWY_ATTR {
    const auto kept = hn::Load(d, z.of + i);
    const auto fresh = hn::Mul(hn::Sub(hn::Set(d, 1.0F), kept), hn::Load(d, candidate.of + i));
    hn::BlendedStore(hn::MulAdd(kept, hn::MaskedLoad(there, d, h + i), fresh), there, d, h + i);
  });
}

void simple(const CellCall& call, Size first, Size count) {
  Units sum;
  add(call.x + first, call.inner + first, count, sum);
  map(call.activation, sum.of, call.state + first, count);
}

}  // namespace

void cell(const CellCall& call) {
  for (Size first = 0; first < call.units; first += most_units) {
    const Size count = call.units - first < most_units ? call.units - first : most_units;
    switch (call.cell) {
      case Cell::Lstm: lstm(call, first, count); break;
      case Cell::GruReset: reset(call, first, count); break;
      case Cell::Gru: gru(call, first, count); break;
      case Cell::Simple: simple(call, first, count); break;
    }
  }
}

}  // namespace convoy::fast::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
