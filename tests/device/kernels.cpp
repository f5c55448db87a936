// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// Launches each kernel of kadam/kernels, once: compiled for a GPU by scripts/device_kernels.sh, which asks
/// the assembler what they need. Never run. One function for each header; the script names a kernel that is
/// missing.
#include <kadam/kernels/active_mask.hpp>
#include <kadam/kernels/adam_direction.hpp>
#include <kadam/kernels/adam_update.hpp>
#include <kadam/kernels/block_coder.hpp>
#include <kadam/kernels/byte_moments.hpp>
#include <kadam/kernels/content_hash.hpp>
#include <kadam/kernels/delayed_mean.hpp>
#include <kadam/kernels/element_of.hpp>
#include <kadam/kernels/factored_variance.hpp>
#include <kadam/kernels/freeze.hpp>
#include <kadam/kernels/half_copy.hpp>
#include <kadam/kernels/lamb_update.hpp>
#include <kadam/kernels/large_top_k.hpp>
#include <kadam/kernels/local_rounds.hpp>
#include <kadam/kernels/local_step.hpp>
#include <kadam/kernels/moving_average_error.hpp>
#include <kadam/kernels/numbers.hpp>
#include <kadam/kernels/onebit_lamb_update.hpp>
#include <kadam/kernels/ordered_mean.hpp>
#include <kadam/kernels/ordered_sum.hpp>
#include <kadam/kernels/sparse_accumulate.hpp>
#include <kadam/kernels/step_ahead.hpp>
#include <kadam/kernels/support_overlap.hpp>
#include <kadam/kernels/top_k.hpp>
#include <kadam/kernels/two_levels.hpp>
#include <kadam/kernels/without_code.hpp>

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

/// The update that 1-bit Adam makes of the mean momentum.
struct FrozenUpdate {
  Floats x;
  ConstFloats v;
  KOKKOS_FUNCTION void operator()(const std::int64_t i, const float m, const AdamApply& rule) const {
    x(i) = rule(x(i), m, v(i));
  }
  KOKKOS_FUNCTION void inactive(const std::int64_t i, const AdamApply& rule) const { x(i) *= rule.decay; }
};

/// A momentum that goes on from the message: what encode_continued() loads in 1-bit Adam.
struct Momentum {
  Floats gradient;
  Ema first;
  KOKKOS_FUNCTION float operator()(const std::int64_t i, const float before) const {
    return first(before, gradient(i));
  }
};

struct HasVariance {
  ConstFloats v;
  KOKKOS_FUNCTION bool operator()(const std::int64_t i) const { return v(i) > 0.0F; }
};

struct Vectors {
  Floats x, m, v, error;
  Words<Space> message;
  ActiveMask<Space> active;
  BlockMap map;
  SparseMap sparse;
  HalfCopy<Space> copy;

  [[nodiscard]] Numbers<Space> gradient() const { return Numbers<Space>(ConstFloats(error)); }
  [[nodiscard]] ConstWords<Space> sent() const { return message; }
  [[nodiscard]] SparseMessages<Space> sparse_messages() const { return {sparse, message, 4, 100}; }
};

/// block_coder.hpp
template <Quantiser Q>
void launch_codec(const Exec& exec, const Q& quantiser, const Vectors& at) {
  encode_with_error_feedback(exec, quantiser, at.map, ElementOf<Space>{at.x}, at.active, at.error,
                             at.message);
  const ContinuedLoad<Momentum, Space> momentum{{at.x, Ema::make(0.9)}, at.sent()};
  encode_continued(exec, quantiser, at.map, momentum, at.active, at.error, at.message);
  reduce_and_encode(exec, quantiser, at.map, at.sent(), 4, 100, at.active, at.error, at.message);
  decode_and_apply(exec, quantiser, at.map, at.sent(), at.active, 0, at.map.elements, Store{at.x});
}

void launch_codecs(const Exec& exec, const Vectors& at) {
  launch_codec(exec, SignQuantiser{}, at);
  launch_codec(exec, UniformQuantiser<4>{}, at);
  launch_codec(exec, Float8Quantiser{}, at);
  launch_codec(exec, Gauss2Quantiser{}, at);
  encode_accumulated(exec, SignQuantiser{}, at.map, at.active, at.error, at.message);
  const Bfloat16Errors<Space> short_errors;
  const ContinuedLoad<Momentum, Space> momentum{{at.x, Ema::make(0.9)}, at.sent()};
  encode_with_error_feedback(exec, SignQuantiser{}, at.map, ElementOf<Space>{at.x}, at.active, short_errors,
                             at.message);
  encode_continued(exec, SignQuantiser{}, at.map, momentum, at.active, short_errors, at.message);
  reduce_and_encode(exec, SignQuantiser{}, at.map, at.sent(), 4, 100, at.active, short_errors, at.message);
  const UpdateBySegment<Space, AdamApplyOf, WithCopy<Space, FrozenUpdate>> update{{},
                                                                                  {{at.x, at.v}, at.copy}};
  decode_and_apply(exec, SignQuantiser{}, at.map, at.sent(), at.active, 0, at.map.elements, update);
}

/// adam_direction.hpp, adam_update.hpp, byte_moments.hpp, local_step.hpp
void launch_adam(const Exec& exec, const Vectors& at) {
  adam_update(exec, BySegment<Space, AdamStepOf>{}, at.x, at.m, at.v, at.gradient());
  adam_update(exec, BySegment<Space, AdamStepOf>{}, at.x, at.m, at.v, at.gradient(), at.copy);
  const ByteMoments<Space> moments;
  update_byte_moments(exec, BySegment<Space, AdamStepOf>{}, moments, 1, 0, 100, at.x, at.gradient());
  update_byte_moments(exec, BySegment<Space, AdamStepOf>{}, moments, 1, 0, 100, at.x, at.gradient(), at.copy);
  decode_byte_moments(exec, moments, at.m, at.v);
  encode_byte_moments(exec, ConstFloats(at.m), ConstFloats(at.v), moments);
  accumulate_adam_direction(exec, BySegment<Space, MomentsAndDirectionOf>{}, at.m, at.v, at.gradient(), at.x);
  update_moments(exec, MomentUpdate{}, at.m, at.v, at.gradient());
  accumulate_direction(exec, BySegment<Space, AdamDirectionOf>{}, ConstFloats(at.m), ConstFloats(at.v), at.x);
  decay_weights(exec, BySegment<Space, WeightDecayOf>{}, at.x);
  const BySegment<Space, LocalStepOf> local;
  accumulate_local_momentum(exec, local, at.m, at.x, at.gradient());
  write_working_parameters(exec, local, ConstFloats(at.x), ConstFloats(at.m), ConstFloats(at.v), at.error);
}

/// factored_variance.hpp
void launch_factored_variance(const Exec& exec, const Vectors& at) {
  const VarianceFactors<Space> factors;
  update_variance(exec, factors, Ema::make(0.9), 1.0F, at.gradient());
  accumulate_momentum_direction(exec, BySegment<Space, MomentumAndDirectionOf>{}, factors, at.m,
                                at.gradient(), at.x);
  momentum_update(exec, BySegment<Space, MomentumStepOf>{}, factors, at.x, at.m, at.gradient());
}

/// local_rounds.hpp
void launch_local_rounds(const Exec& exec, const Vectors& at) {
  const BySegment<Space, DecayedParametersOf> decayed;
  const ConstFloats x = at.x;
  const ConstFloats u = at.m;
  write_local_parameters(exec, decayed, x, u, at.v);
  write_local_parameters_ahead(exec, decayed, x, u, ConstFloats(at.error), at.v);
  const OuterStep<Space> outer{at.x, at.v, at.m, at.error};
  update_by_mean(exec, UpdateBySegment<Space, OuterFactorsOf, OuterStep<Space>>{{}, outer}, 1.0F, u);
  const UpdateBySegment<Space, InFlightFactorsOf, AfterOuterStep<Space>> after{{}, {outer, u, at.error}};
  update_by_mean(exec, after, 1.0F, u);
}

/// active_mask.hpp, delayed_mean.hpp, freeze.hpp, without_code.hpp
void launch_freeze(const Exec& exec, const Vectors& at) {
  fill_active_mask(exec, at.message, at.map.elements, HasVariance{at.v});
  continue_values(exec, Momentum{at.x, Ema::make(0.9)}, at.m);
  apply_delayed_mean(exec, 0.5F, ConstFloats(at.x), ConstFloats(at.m), at.v);
  fold_corrections(exec, 0.5F, 0.5F, at.m, at.v);
  raise_variance(exec, at.map, {0.1, 1e-8}, at.m, at.v);
  (void)count_zeros(exec, at.v);
}

/// half_copy.hpp, numbers.hpp, ordered_mean.hpp, ordered_sum.hpp, step_ahead.hpp
void launch_vectors(const Exec& exec, const Vectors& at) {
  const ConstFloats x = at.x;
  write_copy(exec, x, at.copy);
  scale_numbers(exec, 0.5F, at.gradient(), at.x);
  ordered_mean(exec, at.map.elements, 4, 100, x, at.error);
  ordered_mean(exec, at.map.elements, 4, 100, {}, Kokkos::View<Bfloat16*, Space>{});
  (void)ordered_sum(exec, at.map.elements, SquareOf<Space>{at.x}, SumSpace<Space>());
  (void)ordered_sum(exec, at.map.elements, MagnitudeOf<Space>{at.x}, SumSpace<Space>());
  (void)ordered_sum(exec, at.map.elements,
                    DecodedSquare<SignQuantiser, Space>{{{}, at.map, at.sent()}, at.active},
                    SumSpace<Space>());
  step_ahead(exec, 0.5F, x, ConstFloats(at.m), at.error);
  step_ahead(exec, 0.5F, x, ConstFloats(at.m), ConstFloats(at.v), at.error);
}

/// lamb_update.hpp, onebit_lamb_update.hpp
void launch_lamb(const Exec& exec, const Vectors& at) {
  const LambTensors<Space> tensors;
  const OnebitLambTensors<Space> frozen;
  const TensorTiles<Space> tiles;
  const ConstFloats x = at.x;
  const ConstFloats m = at.m;
  const ConstFloats v = at.v;
  lamb_moments(exec, LambStep{}, tiles, tensors, x, at.m, at.v, at.gradient());
  lamb_trust_ratios(exec, tiles, tensors, 0.01, 10.0);
  lamb_apply(exec, LambStep{}, tiles, tensors, at.x, m, v);
  lamb_directions(exec, LambStep{}, tiles, tensors, x, at.m, at.v, at.error);
  lamb_apply(exec, LambStep{}, tiles, tensors, at.x, ConstFloats(at.error));
  add_scaled_momentum(exec, tiles, frozen, Ema::make(0.9), 1.0F, m, at.gradient(), at.error);
  momentum_norms(exec, tiles, m, v, frozen.partial);
  const OnebitLambMomentum<SignQuantiser, Space> momentum{{{}, at.map, at.sent()}, at.sent(), m};
  onebit_lamb_ratios(exec, OnebitLambStep{}, tiles, tensors, frozen, momentum, x, v, at.error);
  onebit_lamb_apply(exec, OnebitLambStep{}, tiles, tensors, frozen, momentum, at.x, v);
  const LoadBySegment<Space, MomentumScaleOf<Space>, OfNumbers<Space, ScaledMomentum>> input{
      {{}, {frozen.momentum_scale}}, {at.gradient(), {Ema::make(0.9), 1.0F}}};
  encode_continued(exec, SignQuantiser{}, at.map,
                   ContinuedLoad<std::remove_const_t<decltype(input)>, Space>{input, at.sent()}, at.active,
                   at.error, at.message);
}

/// moving_average_error.hpp
void launch_loco(const Exec& exec, const Vectors& at) {
  const UniformQuantiser<4> quantiser;
  const ByteError<Space> error;
  encode_with_moving_average_error(exec, quantiser, at.map, at.gradient(), 1.0F, at.active, error,
                                   Ema::make(0.8), at.message);
  decode_mean(exec, quantiser, at.map, at.sent(), 4, 100, at.x);
  decode_byte_error(exec, at.map, error, at.x);
  encode_byte_error(exec, at.map, ConstFloats(at.x), true, error);
}

/// content_hash.hpp, large_top_k.hpp, sparse_accumulate.hpp, support_overlap.hpp, top_k.hpp, two_levels.hpp
void launch_sparse(const Exec& exec, const Vectors& at) {
  select_top_k(exec, at.sparse, at.x, Selected::becomes_zero, at.message);
  LargeTopK<Exec>(exec, at.sparse.elements)(exec, at.sparse, 0, at.x, Selected::becomes_zero, at.message);
  subtract_mean_of_messages(exec, at.sparse_messages(), at.error, at.x);
  encode_two_levels(exec, at.sparse, at.sent(), at.sparse, reinterpret_cast<std::uint8_t*>(at.message.data()),
                    at.x);
  mean_of_messages(exec, at.sparse_messages(), at.x);
  subtract_message(exec, at.sparse, at.sent(), at.x);
  clear_kept(exec, at.sparse, at.sent(), at.sent(), at.x);
  (void)support_overlap(exec, at.sparse_messages(), Kokkos::View<std::uint8_t*, Space>{});
  (void)content_hash(exec, ConstFloats(at.x));
}

}  // namespace

void launch_device_kernels(const Exec& exec, const Vectors& at) {
  launch_codecs(exec, at);
  launch_adam(exec, at);
  launch_factored_variance(exec, at);
  launch_local_rounds(exec, at);
  launch_freeze(exec, at);
  launch_vectors(exec, at);
  launch_lamb(exec, at);
  launch_loco(exec, at);
  launch_sparse(exec, at);
}

}  // namespace kadam
