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
///   code "none":  g = (1/n) sum g_i    by dense(); the caller clips g by its norm
///   another:      g = C-AR(s g_i)      by exchange(); s clips by the root mean square of the ranks' norms
///
/// Law of a code, per coordinate: sum_t g + (1/n) sum we + se = sum_t (1/n) sum s g_i, with the errors we of
/// workers and se of owners. At the freeze forget_owed() drops the errors: they are what one exchange rounds
/// off, of gradients and not of momenta. A code that cannot say 0 is of no use here: coordinates without a
/// gradient would take steps, and a block would have only one or two values of v.
///
/// Memory and wire: with "none" DenseMean's. With a code the messages of a GroupedMean, whose errors lie in
/// the memory that holds those of the momentum later. Worked number: d = 2^20, n = 4, B = 2048, 8 bits:
/// 1,575,936 bytes a step, 3.99 times less than the dense mean.
class WarmupMean {
 public:
  static constexpr const char* no_code = "none";

  WarmupMean() = default;
  /// code: of the gradient, or no_code. codec: of the momentum; its block length holds for the gradient, too.
  /// later: the mean of the momentum, with which a code shares its errors. The communicator has to outlive
  /// this object.
  WarmupMean(const ExecutionSpace& exec, const std::string& code, const CodecOptions& codec,
             const CommonOptions& common, Communicator& communicator, std::int64_t elements,
             const ResolvedGroups& groups, GroupedMean& later);

  [[nodiscard]] bool has_code() const { return has_code_; }
  /// The dense mean; null with a code.
  [[nodiscard]] DenseMean* dense() { return has_code_ ? nullptr : &dense_; }
  /// The mean by a code; only with a code.
  [[nodiscard]] const GroupedMean& coded() const { return coded_; }

  /// Exchanges this rank's gradient times the step's gradient_scale, and calls update(i, element i of g) for
  /// all elements. For tensors kept dense it first calls update.inactive(i), if there is such a function.
  /// Only with a code. Collective.
  template <class Update>
  void exchange(const Step& step, const Update& update) {
    accumulate(step);
    coded_.exchange_kept(step, ElementOf<MemorySpace>{coded_.compressed().accumulator()});
    coded_.exchange_accumulated(step,
                                [&](const ElementRange& arrived) { coded_.decode(step, arrived, update); });
    coded_.decode_kept(step, update);
  }
  /// Sets the errors to 0, from which the mean of the momentum starts.
  void forget_owed(const ExecutionSpace& exec) const {
    if (has_code_) coded_.compressed().scale_errors(exec, 0.0F);
  }
  void describe_state(const ExecutionSpace& exec, StateFields& fields) const {
    if (has_code_) coded_.compressed().describe_state(exec, fields);
  }

  /// The cost of a step of the warm-up; adds what the mean holds to `use`. dense_update: the kernel that
  /// updates from the dense mean; coded_update: the work of the update beside decoding a code.
  [[nodiscard]] static StepPhase phase(const std::string& code, const CodecOptions& codec,
                                       const CommonOptions& common, const Problem& problem,
                                       const Kernel& dense_update, const Work& coded_update, MemoryUse& use);

 private:
  /// What this rank owes += s g_i
  void accumulate(const Step& step) const;

  bool has_code_ = false;
  DenseMean dense_;
  GroupedMean coded_;
};

}  // namespace kadam
