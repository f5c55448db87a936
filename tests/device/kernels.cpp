// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// Launches each kernel that an optimizer's step may wait for, once: compiled for a GPU by
/// scripts/device_kernels.sh, which asks the assembler what they need. Never run.
#include <kadam/kernels/adam_update.hpp>
#include <kadam/kernels/block_coder.hpp>
#include <kadam/kernels/element_of.hpp>
#include <kadam/kernels/lamb_update.hpp>
#include <kadam/kernels/large_top_k.hpp>
#include <kadam/kernels/moving_average_error.hpp>
#include <kadam/kernels/onebit_lamb_update.hpp>
#include <kadam/kernels/ordered_sum.hpp>
#include <kadam/kernels/sparse_accumulate.hpp>
#include <kadam/kernels/top_k.hpp>

#include <Kokkos_Core.hpp>

#include <cstdint>

namespace kadam {
namespace {

using Exec = Kokkos::DefaultExecutionSpace;
using Space = Exec::memory_space;
using Floats = Kokkos::View<float*, Space>;
using ConstFloats = Kokkos::View<const float*, Space>;

struct Store {
  Floats out;
  KOKKOS_FUNCTION void operator()(const std::int64_t i, const float value) const { out(i) = value; }
};

/// A momentum that goes on from the message: what encode_continued() loads in 1-bit Adam.
struct Momentum {
  Floats gradient;
  Ema first;
  KOKKOS_FUNCTION float operator()(const std::int64_t i, const float before) const {
    return first(before, gradient(i));
  }
};

struct Vectors {
  Floats x, m, v, error;
  Words<Space> message;
  ActiveMask<Space> active;
  BlockMap map;
  SparseMap sparse;
};

template <Quantiser Q>
void launch_codec(const Exec& exec, const Q& quantiser, const Vectors& at) {
  const ConstWords<Space> sent = at.message;
  encode_with_error_feedback(exec, quantiser, at.map, ElementOf<Space>{at.x}, at.active, at.error,
                             at.message);
  const ContinuedLoad<Momentum, Space> momentum{{at.x, Ema::make(0.9)}, sent};
  encode_continued(exec, quantiser, at.map, momentum, at.active, at.error, at.message);
  reduce_and_encode(exec, quantiser, at.map, sent, 4, 100, at.active, at.error, at.message);
  decode_and_apply(exec, quantiser, at.map, sent, at.active, 0, at.map.elements, Store{at.x});
}

}  // namespace

void launch_device_kernels(const Exec& exec, const Vectors& at) {
  launch_codec(exec, SignQuantiser{}, at);
  launch_codec(exec, UniformQuantiser<4>{}, at);
  launch_codec(exec, Float8Quantiser{}, at);
  const Numbers<Space> gradient(ConstFloats(at.x));
  adam_update(exec, BySegment<Space, AdamStepOf>{}, at.x, at.m, at.v, gradient);
  const ByteError<Space> byte_error;
  encode_with_moving_average_error(exec, UniformQuantiser<4>{}, at.map, gradient, 1.0F, at.active, byte_error,
                                   Ema::make(0.8), at.message);
  decode_mean(exec, UniformQuantiser<4>{}, at.map, ConstWords<Space>(at.message), 4, 100, at.x);
  select_top_k(exec, at.sparse, at.x, Selected::becomes_zero, at.message);
  LargeTopK<Exec>(exec, at.sparse.elements)(exec, at.sparse, 0, at.x, Selected::becomes_zero, at.message);
  subtract_mean_of_messages(exec, SparseMessages<Space>{at.sparse, at.message, 4, 100}, at.error, at.x);
  const LambTensors<Space> tensors;
  const TensorTiles<Space> tiles;
  const ConstFloats x = at.x;
  const ConstFloats m = at.m;
  const ConstFloats v = at.v;
  lamb_moments(exec, LambStep{}, tiles, tensors, x, at.m, at.v, gradient);
  lamb_trust_ratios(exec, tiles, tensors, 0.01, 10.0);
  lamb_apply(exec, LambStep{}, tiles, tensors, at.x, m, v);
  onebit_lamb_ratios(exec, OnebitLambStep{}, tiles, tensors, OnebitLambTensors<Space>{}, x, m, v, v);
  (void)ordered_sum(exec, at.map.elements, SquareOf<Space>{at.x}, SumSpace<Space>());
}

}  // namespace kadam
