// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/algorithms/onebit_lamb.hpp>
#include <kadam/kernels/on_device.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace kadam {
namespace {

/// m' = mean / sigma;  w <- FreshVariance;  m <- m', of tensors kept dense.
struct KeptDenseMoments {
  Vector<float> m;
  Vector<float> v;
  Vector<float> w;
  FreshVariance fresh;

  KOKKOS_FORCEINLINE_FUNCTION void operator()(const std::int64_t i, const float mean,
                                              const ScaledMomentum::Scale& scale) const {
    if (!(v(i) > 0.0F)) return;
    const float m_new = mean * scale.inverse;
    w(i) = fresh(w(i), m(i), m_new);
    m(i) = m_new;
  }
};

/// y = sigma ema(m, g, beta1), of tensors kept dense.
struct KeptDenseInput {
  SegmentTable<MemorySpace> tensors;
  Vector<const float> sigma;
  Vector<const float> m;
  Numbers<MemorySpace> gradient;
  ScaledMomentum y;

  KOKKOS_FORCEINLINE_FUNCTION float operator()(const std::int64_t i) const {
    return sigma(tensors.segment_of(i)) * y.first(m(i), y.gradient_scale * gradient(i));
  }
};

/// m(i) <- mean / sigma, of active elements.
struct WriteMomentum {
  Vector<float> m;
  KOKKOS_FORCEINLINE_FUNCTION void operator()(const std::int64_t i, const float mean,
                                              const ScaledMomentum::Scale& scale) const {
    m(i) = mean * scale.inverse;
  }
};

/// 1 for each tensor that is kept dense.
std::vector<std::uint8_t> kept_dense(const ResolvedGroups& groups) {
  std::vector<std::uint8_t> is_kept;
  for (const Segment& tensor : groups.tensors) {
    const auto holds = [&](const ElementRange& dense) {
      return dense.begin <= tensor.range.begin && tensor.range.end <= dense.end;
    };
    is_kept.push_back(std::any_of(groups.dense.begin(), groups.dense.end(), holds) ? 1 : 0);
  }
  return is_kept;
}

OnebitLambTensors<MemorySpace> allocate_frozen_tensors(const TensorTiles<MemorySpace>& tiles,
                                                       const ResolvedGroups& groups) {
  const auto tensors = static_cast<std::size_t>(tiles.tensor_count());
  return {Vector<float>("kadam::OnebitLamb::momentum_scale", tensors),
          Vector<float>("kadam::OnebitLamb::trust_ratio", tensors),
          Vector<float>("kadam::OnebitLamb::ratio", tensors),
          Vector<double>("kadam::OnebitLamb::partial", 3 * static_cast<std::size_t>(tiles.tile_count())),
          on_device<MemorySpace>("kadam::OnebitLamb::is_kept", kept_dense(groups))};
}

std::size_t frozen_tensor_bytes(const TensorLayout& layout) {
  const auto tiles = static_cast<std::size_t>(DenseLambStep::tile_count(layout));
  return layout.tensors().size() * (3 * sizeof(float) + sizeof(std::uint8_t)) + tiles * 3 * sizeof(double);
}

/// c <- average(c, phi), per tensor.
void average_trust_ratios(const ExecutionSpace& exec, const Ema& average, const Vector<const float>& phi,
                          const Vector<float>& c) {
  using Policy = Kokkos::RangePolicy<ExecutionSpace, Kokkos::IndexType<std::int64_t>>;
  Kokkos::parallel_for(
      "kadam::OnebitLamb::average_trust_ratios", Policy(exec, 0, static_cast<std::int64_t>(c.extent(0))),
      KOKKOS_LAMBDA(const std::int64_t k) { c(k) = average(c(k), phi(k)); });
}

}  // namespace

void OnebitLamb::Options::describe(OptionFields& fields) {
  common.describe(fields);
  trust.describe(fields);
  codec.describe(fields);
  variance.describe(fields);
  fields.add("ratio_min", ratio_min, Range::above(0.0).up_to(1.0),
             "smallest ratio of frozen to fresh variance");
  fields.add("ratio_max", ratio_max, Range::at_least(1.0), "largest ratio of frozen to fresh variance");
  fields.add("ratio_change", ratio_change, Range::at_least(0.0).below(1.0),
             "largest relative change of that ratio in a step");
  fields.add("beta3", beta3, Range::at_least(0.0).below(1.0),
             "decay of the average trust ratio in the warm-up");
}

void OnebitLamb::Options::validate(std::string_view owner) const {
  trust.validate(owner);
  codec.validate(owner);
  variance.validate(owner);
}

AlgorithmCost OnebitLamb::cost(const Options& options, const Problem& problem) {
  AlgorithmCost cost;
  StepPhase warmup = WarmupMean::phase(options.variance.warmup_code, options.codec, options.common, problem,
                                       cost::lamb_update, {cost::lamb_update, problem.all()}, cost.memory);
  StepPhase compressed = GroupedMean::phase("compressed", options.codec, problem, cost.memory);
  compressed.add({cost::onebit_lamb_update, problem.all()});
  options.variance.divide(warmup, compressed);
  cost.phases = {std::move(warmup), std::move(compressed)};
  cost.memory +=
      {problem.vectors(3), DenseLambStep::memory_bytes(problem.layout) + frozen_tensor_bytes(problem.layout) +
                               GroupedMean::message_bytes(options.codec, problem)};
  return cost;
}

OnebitLamb::OnebitLamb(const Options& options, Workplace& at)
    : Algorithm(at),
      options_(options),
      variance_(options.variance, options.common),
      lamb_step_(options.trust, layout(), groups()),
      tensors_(allocate_frozen_tensors(lamb_step_.tiles(), groups())),
      tensor_table_(segment_table(groups().tensors)) {
  const ExecutionSpace exec;
  moments_ = Moments::zeros(exec, "kadam::OnebitLamb", elements());
  fresh_ = allocate_zeros<float>(exec, "kadam::OnebitLamb::fresh", elements());
  mean_ = GroupedMean(exec, options.codec, communicator(), elements(), groups(), groups().dense);
  warmup_mean_ = WarmupMean(exec, options.variance.warmup_code, options.codec, common(), communicator(),
                            elements(), groups(), mean_);
  previous_ = allocate<std::uint32_t>(exec, "kadam::OnebitLamb::previous_message",
                                      static_cast<std::int64_t>(mean_.compressed().message().extent(0)));
  exec.fence("kadam::OnebitLamb");
}

void OnebitLamb::groups_were_set() {
  lamb_step_.set_groups(groups());
  tensor_table_ = segment_table(groups().tensors);
}

void OnebitLamb::advance(Step& step) {
  variance_.add_norm(step.result.gradient_norm);
  if (variance_.is_frozen()) {
    compressed_step(step);
    return;
  }
  warm_up(step);
  if (variance_.warm_up_ends(step, [&] { return one_norm(step.exec, moments_.v); })) freeze(step);
}

void OnebitLamb::warm_up(Step& step) {
  step.result.phase = "warm-up";
  take_lamb_step(step);
  const auto scope = step.enter(Phase::decode);
  average_trust_ratios(step.exec, has_trust_ratio_ ? Ema::make(options_.beta3) : Ema{0.0F, 1.0F},
                       lamb_step_.tensors().trust_ratio, tensors_.trust_ratio);
  has_trust_ratio_ = true;
}

void OnebitLamb::take_lamb_step(Step& step) {
  if (warmup_mean_.has_code()) {
    step.result.gradient_scale = clip_factor(step.result.gradient_norm);
    warmup_mean_.exchange(step, WriteElement<MemorySpace>{fresh_});
    const auto scope = step.enter(Phase::decode);
    lamb_step_(step, moments_, fresh_, 1.0, fresh_);  // g is a mean of scaled gradients
    return;
  }
  DenseMean& mean = *warmup_mean_.dense();
  const Gradient g = step.mean_gradient(mean);
  const auto scope = step.enter(Phase::decode);
  step.result.gradient_scale = clip_factor_of(step.exec, g);
  lamb_step_(step, moments_, g, step.result.gradient_scale, mean.own_memory_of(g));
}

void OnebitLamb::freeze(const Step& step) {
  variance_.freeze(step, moments_, mean_);
  warmup_mean_.forget_owed(step.exec);
  Kokkos::deep_copy(step.exec, fresh_, moments_.v);
  Kokkos::deep_copy(step.exec, tensors_.ratio, 1.0F);
  set_momentum_scales(step.exec);
}

/// rho = |m| / sqrt(number of active elements) per tensor; sigma = mean of the non-zero rho / rho, 1 where
/// rho = 0.
void OnebitLamb::set_momentum_scales(const ExecutionSpace& exec) {
  const TensorTiles<MemorySpace>& tiles = lamb_step_.tiles();
  momentum_norms<ExecutionSpace, MemorySpace>(exec, tiles, moments_.m, moments_.v, tensors_.partial);
  exec.fence("kadam::OnebitLamb: norms of the momentum");
  const auto partial = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, tensors_.partial);
  const auto first_tile = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, tiles.first_tile);
  std::vector<double> rho(groups().tensors.size(), 0.0);
  double sum = 0.0;
  double moving = 0.0;
  for (std::size_t k = 0; k < rho.size(); ++k) {
    double squared = 0.0;
    double active = 0.0;
    for (std::int64_t tile = first_tile(k); tile < first_tile(k + 1); ++tile) {
      squared += partial(static_cast<std::size_t>(3 * tile));
      active += partial(static_cast<std::size_t>(3 * tile + 1));
    }
    if (squared == 0.0) continue;
    rho[k] = std::sqrt(squared / active);
    sum += rho[k];
    moving += 1.0;
  }
  const auto scales = Kokkos::create_mirror_view(Kokkos::WithoutInitializing, tensors_.momentum_scale);
  for (std::size_t k = 0; k < rho.size(); ++k) {
    scales(k) = rho[k] > 0.0 ? static_cast<float>(sum / moving / rho[k]) : 1.0F;
  }
  Kokkos::deep_copy(tensors_.momentum_scale, scales);
}

void OnebitLamb::compressed_step(Step& step) {
  step.result.phase = "compressed";
  step.result.gradient_scale = clip_factor(step.result.gradient_norm);
  const Vector<float>& m = moments_.m;
  const Vector<float>& v = moments_.v;
  const ScaledMomentum y{Ema::make(common().beta1), step.gradient_scale()};
  const FreshVariance fresh = FreshVariance::make(common().beta1, common().beta2);

  const Vector<const float> sigma = tensors_.momentum_scale;
  mean_.exchange_kept(step, KeptDenseInput{tensor_table_, sigma, m, step.gradient, y});
  exchange(step, y);
  mean_.decode_kept(step, by_tensor(KeptDenseMoments{m, v, fresh_, fresh}));

  const auto scope = step.enter(Phase::decode);
  OnebitLambStep rule;
  rule.fresh = fresh;
  rule.eps = static_cast<float>(common().eps);
  rule.gamma = static_cast<float>(step.result.learning_rate);
  rule.ratio_min = options_.ratio_min;
  rule.ratio_max = options_.ratio_max;
  rule.ratio_change = options_.ratio_change;
  const Words<MemorySpace> before = momentum_is_in_message_ ? previous_ : Words<MemorySpace>{};
  mean_.compressed().visit_result<SignCode>([&](const auto& after) {
    const OnebitLambMomentum<decltype(after.quantiser), MemorySpace> momentum{after, before, m};
    onebit_lamb_ratios(step.exec, rule, lamb_step_.tiles(), lamb_step_.tensors(), tensors_, momentum,
                       Vector<const float>(step.x()), Vector<const float>(v), fresh_);
    onebit_lamb_apply(step.exec, rule, lamb_step_.tiles(), lamb_step_.tensors(), tensors_, momentum, step.x(),
                      Vector<const float>(v));
  });
  momentum_is_in_message_ = true;
}

/// C-AR(y): continues the last exchange; the first one starts from the momentum of the warm-up.
void OnebitLamb::exchange(const Step& step, const ScaledMomentum& y) {
  if (momentum_is_in_message_) {
    Kokkos::deep_copy(step.exec, previous_, mean_.compressed().message());
    mean_.exchange_continued<SignCode>(
        step, by_tensor(OfNumbers<MemorySpace, ScaledMomentum>{step.gradient, y}), {});
    return;
  }
  {
    const auto scope = step.enter(Phase::encode);
    add_scaled_momentum<ExecutionSpace, MemorySpace>(step.exec, lamb_step_.tiles(), tensors_, y.first,
                                                     y.gradient_scale, moments_.m, step.gradient,
                                                     mean_.compressed().accumulator());
  }
  mean_.exchange_accumulated(step, {});
}

void OnebitLamb::describe_state(const ExecutionSpace& exec, StateFields& fields) {
  variance_.describe_state(fields);
  fields.number("has_trust_ratio", has_trust_ratio_);
  fields.number_if_there("momentum_is_in_message", momentum_is_in_message_);
  if (fields.saves() && momentum_is_in_message_) write_momentum(exec);
  moments_.describe_state(fields);
  fields.equal("trust_ratio", tensors_.trust_ratio);
  if (!variance_.is_frozen()) {
    warmup_mean_.describe_state(exec, fields);
    return;
  }
  fields.equal("w", fresh_);
  fields.equal("momentum_scale", tensors_.momentum_scale);
  fields.equal("ratio", tensors_.ratio);
  mean_.compressed().describe_state(exec, fields);
  if (momentum_is_in_message_) mean_.compressed().describe_message(fields);
}

/// m <- the result of the last exchange, of all but tensors kept dense.
void OnebitLamb::write_momentum(const ExecutionSpace& exec) const {
  const WriteMomentum write{moments_.m};
  mean_.compressed().decode<SignCode>(exec, mean_.active(), 0, elements(), by_tensor(write));
}

void OnebitLamb::adopt_state(const ExecutionSpace& exec, const StateFields& /*fields*/,
                             const Restoration& restoration) {
  if (variance_.is_frozen()) variance_.adopt_state(exec, moments_, mean_);
  momentum_is_in_message_ = momentum_is_in_message_ && restoration.to_the_last_bit;
}

void OnebitLamb::add_health(const ExecutionSpace& exec, Health& health) {
  if (!variance_.is_frozen()) {
    if (warmup_mean_.has_code()) health.error_ratio = error_ratio(exec, warmup_mean_.coded());
    return;
  }
  health.variance_drift = variance_.drift();
  health.error_ratio = error_ratio(exec, mean_);
  if (momentum_is_in_message_) write_momentum(exec);
  health.largest_step = largest_step(exec, moments_, 1.0);
}

}  // namespace kadam
