// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/algorithms/algorithm.hpp>
#include <kadam/algorithms/grouped_mean.hpp>
#include <kadam/collectives/dense_mean.hpp>
#include <kadam/kernels/element_of.hpp>
#include <kadam/options/common_options.hpp>
#include <kadam/state/state_fields.hpp>

#include <cstdint>
#include <string>

namespace kadam {

/// The mean gradient in the warm-up of 1-bit Adam and 1-bit LAMB: exact, or by a code of several bits.
///
///   code "none":  g = (1/n) sum g_i                  dense(), which is clipped by its own norm
///   another:      g = C-AR(s g_i)                    exchange(); s clips by the root mean square of the
///   norms
///
/// Law of a code, per coordinate: sum_t g + (1/n) sum we + se = sum_t (1/n) sum s g_i. forget_owed() ends it
/// at the freeze: what is owed then is what one exchange rounds off, of gradients and not of momenta. A code
/// without a 0 is none for this: what has no gradient would get a step, and a block one v or two.
///
/// Memory and wire: with "none" DenseMean's. With a code the messages of a GroupedMean, whose errors lie
/// where the mean of the momentum has its own later. Worked number: d = 2^20, n = 4, B = 2048, 8 bits: 1 575
/// 936 bytes a step, 3.99 times less than the dense mean.
class WarmupMean {
 public:
  static constexpr const char* no_code = "none";

  WarmupMean() = default;
  /// codec: of the momentum, whose blocks these are, and whose errors `later` holds.
  WarmupMean(const ExecutionSpace& exec, const std::string& code, const CodecOptions& codec,
             const CommonOptions& common, Communicator& communicator, std::int64_t elements,
             const ResolvedGroups& groups, GroupedMean& later);

  [[nodiscard]] bool has_code() const { return has_code_; }
  /// Null with a code.
  [[nodiscard]] DenseMean* dense() { return has_code_ ? nullptr : &dense_; }
  /// Of a code.
  [[nodiscard]] const GroupedMean& coded() const { return coded_; }

  /// Exchanges this rank's gradient times the step's gradient_scale, and calls update(i, element i of g) for
  /// all elements; update.inactive(i), if there is such a function, comes before it for what is kept dense.
  /// Collective.
  template <class Update>
  void exchange(const Step& step, const Update& update) {
    accumulate(step);
    coded_.exchange_kept(step, ElementOf<MemorySpace>{coded_.compressed().accumulator()});
    coded_.exchange_accumulated(step,
                                [&](const ElementRange& arrived) { coded_.decode(step, arrived, update); });
    coded_.decode_kept(step, update);
  }
  /// The mean of the momentum starts from errors of 0.
  void forget_owed(const ExecutionSpace& exec) const {
    if (has_code_) coded_.compressed().scale_errors(exec, 0.0F);
  }
  void describe_state(const ExecutionSpace& exec, StateFields& fields) const {
    if (has_code_) coded_.compressed().describe_state(exec, fields);
  }

  /// The phase of the warm-up; adds what the mean holds to `use`. dense_update: from g in memory;
  /// coded_update: of what is decoded, beside the decoding.
  [[nodiscard]] static StepPhase phase(const std::string& code, const CodecOptions& codec,
                                       const CommonOptions& common, const Problem& problem,
                                       const Kernel& dense_update, const Work& coded_update, MemoryUse& use);

 private:
  /// What is owed += s g_i
  void accumulate(const Step& step) const;

  bool has_code_ = false;
  DenseMean dense_;
  GroupedMean coded_;
};

}  // namespace kadam
