// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/collectives/phases.hpp>
#include <kadam/comm/communicator.hpp>
#include <kadam/execution.hpp>
#include <kadam/layout/tensor_layout.hpp>
#include <kadam/optim/common_options.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace kadam {

/// What a step did.
struct StepResult {
  std::int64_t step = 0;        ///< t, the number of steps taken so far; a skipped step does not count
  bool skipped = false;         ///< a gradient was NaN or Inf on some rank: nothing was changed anywhere
  const char* phase = "dense";  ///< dense, warm-up or compressed
  double learning_rate = 0.0;   ///< gamma
  double gradient_norm = 0.0;   ///< root mean square of the ranks' gradient norms, before clipping
  double gradient_scale = 1.0;  ///< factor that clipping put on the gradient
};

/// Memory per rank that an optimizer holds, beside parameters and gradient, in bytes.
struct MemoryUse {
  std::size_t state_bytes = 0;      ///< what a checkpoint holds
  std::size_t workspace_bytes = 0;  ///< messages and partial results
};

/// Bytes that this rank sends in one step, control traffic left out.
struct BytesPerStep {
  std::size_t warmup = 0;  ///< in the dense phase
  std::size_t steady = 0;  ///< afterwards
};

/// Minimises a loss over n ranks: one object per rank, the same options on all.
///
/// Every algorithm is one class, made by make_optimizer(). After each step the parameters are bitwise equal
/// on all ranks, if they were before.
class Optimizer {
 public:
  Optimizer(std::string_view name, TensorLayout layout, std::shared_ptr<Communicator> communicator,
            CommonOptions common);
  Optimizer(const Optimizer&) = delete;
  Optimizer& operator=(const Optimizer&) = delete;
  virtual ~Optimizer() = default;

  /// One step: parameters are updated in place from this rank's gradient (the mean over its own batch).
  ///
  /// Collective: by all ranks. Async: kernels run on exec; wait for it before reading parameters on the host.
  /// Shape: both have layout().elements() entries. Errors: std::invalid_argument for another extent; a NaN or
  /// Inf in the gradient of any rank is no error: the step is skipped on all ranks and counted.
  StepResult step(const ExecutionSpace& exec, const Vector<float>& parameters,
                  const Vector<const float>& gradient);

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] const TensorLayout& layout() const { return layout_; }
  [[nodiscard]] Communicator& communicator() { return *communicator_; }
  [[nodiscard]] std::int64_t steps_taken() const { return step_; }
  [[nodiscard]] std::int64_t steps_skipped() const { return skipped_; }
  /// Seconds of the last step per phase, if measured.
  [[nodiscard]] Phases& phases() { return phases_; }

  /// All options with their values, defaults included.
  [[nodiscard]] virtual OptionMap options() const = 0;
  [[nodiscard]] virtual MemoryUse memory() const = 0;
  [[nodiscard]] virtual BytesPerStep bytes_per_step() const = 0;
  /// Throws on every rank unless all ranks hold the same algorithm, tensors and options. Collective.
  void require_agreement();
  /// Coordinates that take no part in compression (0 before it starts).
  [[nodiscard]] virtual std::int64_t inactive_elements() const { return 0; }

 protected:
  /// The algorithm: step t = steps_taken() + 1 with a gradient that is finite everywhere.
  /// result.phase is to be set; the rest is.
  virtual void advance(const ExecutionSpace& exec, const Vector<float>& parameters,
                       const Vector<const float>& gradient, StepResult& result) = 0;

  /// The factor that clips a gradient of this norm; 1 without clipping.
  [[nodiscard]] double clip_factor(double norm) const;
  /// The factor that clips a mean gradient that all ranks hold, by its own norm. Reads it only if need be.
  [[nodiscard]] double clip_factor_of(const ExecutionSpace& exec, const Vector<const float>& mean_gradient);
  /// Sum of the magnitudes, sum of the squares: in double, in an order that does not depend on threads.
  [[nodiscard]] double one_norm(const ExecutionSpace& exec, const Vector<const float>& values);
  [[nodiscard]] double squared_norm(const ExecutionSpace& exec, const Vector<const float>& values);

  [[nodiscard]] const CommonOptions& common() const { return common_; }
  [[nodiscard]] const ResolvedGroups& groups() const { return groups_; }
  [[nodiscard]] std::int64_t elements() const { return layout_.elements(); }

 private:
  void require_extent(const char* what, std::size_t got, const std::string& label) const;
  void agree_on_gradient(const ExecutionSpace& exec, const Vector<const float>& gradient, StepResult& result);

  std::string name_;
  TensorLayout layout_;
  std::shared_ptr<Communicator> communicator_;
  CommonOptions common_;
  ResolvedGroups groups_;
  Phases phases_;
  std::int64_t step_ = 0;
  std::int64_t skipped_ = 0;
  Vector<double> partial_sums_;
  Kokkos::View<double*, Kokkos::SharedHostPinnedSpace> partial_sums_mirror_;
};

}  // namespace kadam
