// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/kernels/freeze.hpp>
#include <kadam/optim/dense_adam_step.hpp>
#include <kadam/optim/frozen_variance_adam.hpp>

#include <utility>

namespace kadam {
namespace {

/// y = ema(m, g, beta1)
struct LocalMomentum {
  Vector<float> m;
  Vector<const float> gradient;
  Ema first;
  float gradient_scale;
  KOKKOS_FORCEINLINE_FUNCTION float operator()(const std::int64_t i) const {
    return first(m(i), gradient_scale * gradient(i));
  }
};

/// m <- mean of y;  x <- AdamApply(x, m, v). Coordinates without variance only decay.
struct FrozenUpdate {
  Vector<float> x;
  Vector<float> m;
  Vector<float> v;
  AdamApply apply;
  KOKKOS_FORCEINLINE_FUNCTION void operator()(const std::int64_t i, const float mean) const {
    m(i) = mean;
    x(i) = apply(x(i), mean, v(i));
  }
  /// What is kept out of compression has variance, and its own exact mean.
  KOKKOS_FORCEINLINE_FUNCTION void inactive(const std::int64_t i) const {
    if (!(v(i) > 0.0F)) x(i) *= apply.decay;
  }
};

struct FrozenUpdateWhereActive {
  FrozenUpdate update;
  KOKKOS_FORCEINLINE_FUNCTION void operator()(const std::int64_t i, const float mean) const {
    if (update.v(i) > 0.0F) update(i, mean);
  }
};

/// Coordinates that are compressed: those with variance, in no tensor that is kept dense.
struct IsCompressed {
  Vector<float> v;
  Vector<ElementRange> dense;
  KOKKOS_FORCEINLINE_FUNCTION bool operator()(const std::int64_t i) const {
    for (std::size_t k = 0; k < dense.extent(0); ++k) {
      if (i >= dense(k).begin && i < dense(k).end) return false;
    }
    return v(i) > 0.0F;
  }
};

Vector<ElementRange> to_device(const std::vector<ElementRange>& ranges) {
  Vector<ElementRange> view("kadam::FrozenVarianceAdam::dense_ranges", ranges.size());
  const auto host = Kokkos::create_mirror_view(view);
  for (std::size_t k = 0; k < ranges.size(); ++k) host(k) = ranges[k];
  Kokkos::deep_copy(view, host);
  return view;
}

}  // namespace

void FrozenVarianceAdam::Options::describe(OptionFields& fields) {
  common.describe(fields);
  codec.describe(fields);
  fields.add("warmup_steps", warmup_steps, "dense steps before the variance is frozen; must be given");
}

FrozenVarianceAdam::FrozenVarianceAdam(std::string_view name, const Options& options, TensorLayout layout,
                                       std::shared_ptr<Communicator> shared_communicator)
    : Optimizer(name, std::move(layout), std::move(shared_communicator), options.common), options_(options) {
  const ExecutionSpace exec;
  const int rank = communicator().rank();
  const int ranks = communicator().size();
  const ChunkLayout chunks(elements(), ranks);
  state_.m = allocate_zeros<float>(exec, "kadam::FrozenVarianceAdam::m", elements());
  state_.v = allocate_zeros<float>(exec, "kadam::FrozenVarianceAdam::v", elements());
  dense_mean_ = DenseMean(exec, chunks, rank);
  compressed_mean_ =
      CompressedMean(exec, make_quantiser(static_cast<int>(options.codec.bits), options.codec.scale), chunks,
                     options.codec.block, rank);
  if (ranks > 1) {  // one rank compresses nothing, so that it has nothing to keep out
    kept_dense_ = DenseSubset(exec, groups().dense, ranks, rank);
    dense_ranges_ = to_device(groups().dense);
  }
  mask_ = allocate<std::uint32_t>(exec, "kadam::FrozenVarianceAdam::mask",
                                  ActiveMask<MemorySpace>::words_for(elements()));
  if (options.warmup_steps.automatic) {
    stability_ = VarianceStability(common().beta2, common().learning_rate.lr_warmup_steps);
  }
  exec.fence("kadam::FrozenVarianceAdam");
}

void FrozenVarianceAdam::advance(const ExecutionSpace& exec, const Vector<float>& x,
                                 const Vector<const float>& gradient, StepResult& result) {
  if (state_.frozen) {
    compressed_step(exec, x, gradient, result);
    return;
  }
  warm_up(exec, x, gradient, result);
  const std::int64_t t = steps_taken() + 1;
  if (warm_up_ends(exec, t)) freeze(exec, t);
}

void FrozenVarianceAdam::warm_up(const ExecutionSpace& exec, const Vector<float>& x,
                                 const Vector<const float>& gradient, StepResult& result) {
  result.phase = "warm-up";
  const Vector<const float> g = dense_mean_(exec, communicator(), phases(), gradient);
  const auto scope = phases().enter(exec, Phase::decode);
  result.gradient_scale = clip_factor_of(exec, g);
  dense_adam_step(exec, common(), groups(), steps_taken() + 1, result, x, state_.m, state_.v, g);
}

void FrozenVarianceAdam::compressed_step(const ExecutionSpace& exec, const Vector<float>& x,
                                         const Vector<const float>& gradient, StepResult& result) {
  result.phase = "compressed";
  result.gradient_scale = clip_factor(result.gradient_norm);
  const LocalMomentum y{state_.m, gradient, Ema::make(common().beta1),
                        static_cast<float>(result.gradient_scale)};
  compressed_mean_.exchange(exec, communicator(), phases(), y, active_);
  kept_dense_.exchange(exec, communicator(), phases(), y);

  const auto scope = phases().enter(exec, Phase::decode);
  for (const Segment& segment : groups().segments) {
    const FrozenUpdate update{x, state_.m, state_.v,
                              AdamApply::make(result.learning_rate * segment.lr_scale, segment.weight_decay,
                                              common().eps, 1.0, 1.0)};
    compressed_mean_.decode(exec, active_, segment.range.begin, segment.range.end, update);
    kept_dense_.decode(exec, segment.range.begin, segment.range.end, FrozenUpdateWhereActive{update});
  }
}

bool FrozenVarianceAdam::warm_up_ends(const ExecutionSpace& exec, std::int64_t step) {
  if (!options_.warmup_steps.automatic) return step >= options_.warmup_steps.steps;
  const double norm = one_norm(exec, state_.v) / common().second_correction(step);
  return stability_.holds_at(step, norm);
}

void FrozenVarianceAdam::freeze(const ExecutionSpace& exec, std::int64_t step) {
  fold_corrections(exec, static_cast<float>(1.0 / common().first_correction(step)),
                   static_cast<float>(1.0 / common().second_correction(step)), state_.m, state_.v);
  mark_inactive(exec);
  state_.frozen = true;
}

void FrozenVarianceAdam::mark_inactive(const ExecutionSpace& exec) {
  inactive_ = count_zeros(exec, state_.v);
  if (inactive_ == 0 && dense_ranges_.extent(0) == 0) return;  // an empty mask: all are active
  fill_active_mask(exec, mask_, elements(), IsCompressed{state_.v, dense_ranges_});
  active_.words = mask_;
}

OptionMap FrozenVarianceAdam::options() const {
  return show_options(options_);
}

MemoryUse FrozenVarianceAdam::memory() const {
  const std::size_t moments = 2 * static_cast<std::size_t>(elements()) * sizeof(float);
  return {moments + compressed_mean_.state_bytes(),
          dense_mean_.memory_bytes() + compressed_mean_.workspace_bytes() + kept_dense_.memory_bytes() +
              mask_.size() * sizeof(std::uint32_t)};
}

BytesPerStep FrozenVarianceAdam::bytes_per_step() const {
  return {dense_mean_.bytes_sent(), compressed_mean_.bytes_sent() + kept_dense_.bytes_sent()};
}

}  // namespace kadam
