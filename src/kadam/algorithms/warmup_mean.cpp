// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/algorithms/warmup_mean.hpp>
#include <kadam/kernels/element_loop.hpp>

namespace kadam {
namespace {

/// target <- target + factor number
struct AddScaledNumber {
  float factor;
  template <Number T>
  KOKKOS_FORCEINLINE_FUNCTION void operator()(const T& number, float& target) const {
    target += factor * to_float(number);
  }
};

CodecOptions in_blocks_of(const CodecOptions& codec, const std::string& code) {
  return {codec.block, SignScale::rms, code, {code}};
}

}  // namespace

WarmupMean::WarmupMean(const ExecutionSpace& exec, const std::string& code, const CodecOptions& codec,
                       const CommonOptions& common, Communicator& communicator, std::int64_t elements,
                       const ResolvedGroups& groups, GroupedMean& later)
    : has_code_(code != no_code) {
  if (!has_code_) {
    dense_ = DenseMean(exec, communicator, elements, common.gradients);
    return;
  }
  coded_ = GroupedMean(exec, in_blocks_of(codec, code), communicator, elements, groups, groups.dense);
  // Both means share their errors, since they are never used at the same time.
  coded_.compressed().state() = later.compressed().state();
}

void WarmupMean::accumulate(const Step& step) const {
  const auto scope = step.enter(Phase::encode);
  const Vector<float>& target = coded_.compressed().accumulator();
  step.gradient.visit([&](const auto& g) {
    for_each_element("kadam::WarmupMean::accumulate", step.exec, static_cast<std::int64_t>(target.extent(0)),
                     AddScaledNumber{step.gradient_scale()}, reads(g), updates(target));
  });
}

StepPhase WarmupMean::phase(const std::string& code, const CodecOptions& codec, const CommonOptions& common,
                            const Problem& problem, const Kernel& dense_update, const Work& coded_update,
                            MemoryUse& use) {
  const char* const name = "warm-up";
  if (code == no_code) {
    use += DenseMeanLayout(problem.ranks, problem.elements(), common.gradients).cost().memory;
    return dense_phase(name, common, problem, dense_update);
  }
  MemoryUse of_code;
  StepPhase phase = GroupedMean::phase(name, in_blocks_of(codec, code), problem, of_code);
  use.workspace_bytes += of_code.workspace_bytes;  // the errors are counted with those of the momentum
  phase.add({cost::scale, problem.all()});         // accumulate(), beside the encoding
  phase.add(coded_update);
  return phase;
}

}  // namespace kadam
