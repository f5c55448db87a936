// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/algorithms/algorithm.hpp>
#include <kadam/algorithms/step.hpp>
#include <kadam/collectives/compressed_mean.hpp>
#include <kadam/collectives/dense_mean.hpp>
#include <kadam/execution.hpp>
#include <kadam/kernels/active_mask.hpp>
#include <kadam/layout/chunk_layout.hpp>
#include <kadam/options/common_options.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace kadam {

/// Which coordinates are compressed: those that have variance, where the algorithm needs it, and lie in no
/// tensor that is kept dense.
///
/// Memory: d/8 bytes.
class CompressedCoordinates {
 public:
  CompressedCoordinates() = default;
  /// All but the dense ranges.
  CompressedCoordinates(const ExecutionSpace& exec, std::int64_t elements,
                        const std::vector<ElementRange>& dense);

  /// All with v > 0 but the dense ranges. Reads v; waits for exec.
  void require_variance(const ExecutionSpace& exec, const Vector<float>& v);

  /// Empty when all coordinates are compressed.
  [[nodiscard]] const ActiveMask<MemorySpace>& active() const { return active_; }
  /// Coordinates without variance when it was last required, kept dense or not.
  [[nodiscard]] std::int64_t inactive_elements() const { return inactive_; }
  [[nodiscard]] static std::size_t memory_bytes(std::int64_t elements) {
    return static_cast<std::size_t>(ActiveMask<MemorySpace>::words_for(elements)) * sizeof(std::uint32_t);
  }

 private:
  std::int64_t elements_ = 0;
  Vector<ElementRange> dense_;
  Vector<std::uint32_t> mask_;
  ActiveMask<MemorySpace> active_;
  std::int64_t inactive_ = 0;
};

/// What no code is asked for where steps are compressed: tensors kept dense, and those that do not move,
/// which one bit could not say.
[[nodiscard]] std::vector<ElementRange> still_or_kept_dense(const ResolvedGroups& groups);

/// The mean of a vector over ranks, compressed but for its exceptions: tensors kept dense have an exact mean,
/// coordinates that are left out have none.
///
/// An exchange has three steps: exchange_kept(); one of CompressedMean's exchanges, which calls `arrived` for
/// what is there to decode(); decode_kept().
///
/// Memory and wire: CompressedMean's, DenseSubset's and CompressedCoordinates'; see phase().
class GroupedMean {
 public:
  GroupedMean() = default;
  /// left_out: what is not compressed; it holds groups.dense.
  GroupedMean(const ExecutionSpace& exec, const CodecOptions& codec, Communicator& communicator,
              std::int64_t elements, const ResolvedGroups& groups, const std::vector<ElementRange>& left_out);

  [[nodiscard]] CompressedMean& compressed() { return compressed_; }
  [[nodiscard]] const CompressedMean& compressed() const { return compressed_; }
  /// Which elements are compressed.
  [[nodiscard]] const ActiveMask<MemorySpace>& active() const { return coordinates_.active(); }

  /// Leaves out what has no variance, from now on. Reads v; waits for exec.
  void require_variance(const ExecutionSpace& exec, const Vector<float>& v) {
    coordinates_.require_variance(exec, v);
  }
  [[nodiscard]] std::int64_t inactive_elements() const { return coordinates_.inactive_elements(); }

  /// Exchanges load(i) of the elements that are kept dense. Collective.
  template <class Load>
  void exchange_kept(const Step& step, const Load& load) {
    kept_.exchange(step.exec, step.phases, load);
  }
  /// CompressedMean::exchange(), exchange_continued(), exchange_accumulated() of what is compressed.
  void exchange(const Step& step, const Vector<const float>& values, const CompressedMean::Arrived& arrived) {
    compressed_.exchange(step.exec, step.phases, values, active(), arrived);
  }
  template <class Load>
  void exchange_continued(const Step& step, const Load& load, const CompressedMean::Arrived& arrived) {
    compressed_.exchange_continued(step.exec, step.phases, load, active(), arrived);
  }
  void exchange_accumulated(const Step& step, const CompressedMean::Arrived& arrived) {
    compressed_.exchange_accumulated(step.exec, step.phases, active(), arrived);
  }
  /// CompressedMean::start().
  void start(const Step& step, const Vector<const float>& values) {
    compressed_.start(step.exec, step.phases, values, active());
  }
  /// Calls update(i, mean of element i) for all compressed elements of the range. Update: as
  /// decode_and_apply() takes it, such as an UpdateBySegment.
  template <class Codes = AnyQuantiser, class Update>
  void decode(const Step& step, const ElementRange& arrived, const Update& update) const {
    compressed_.decode<Codes>(step.exec, active(), arrived.begin, arrived.end, update);
  }
  /// Calls update(i, mean of element i) for all elements that are kept dense.
  template <class Update>
  void decode_kept(const Step& step, const Update& update) const {
    const auto scope = step.enter(Phase::decode);
    kept_.decode(step.exec, update);
  }

  /// Adds one such exchange and the decoding to a phase, and to `use` what the mean holds.
  static void add(const CodecOptions& codec, const Problem& problem, StepPhase& phase, MemoryUse& use);
  /// The same of an exchange that starts in one phase, travels as `when` says, and is finished in another.
  static void add(const CodecOptions& codec, const Problem& problem, StepPhase& start, StepPhase& finish,
                  const PlannedExchange& when, MemoryUse& use);
  /// A step with one such exchange: what else there is, is the algorithm's.
  [[nodiscard]] static StepPhase phase(const char* name, const CodecOptions& codec, const Problem& problem,
                                       MemoryUse& use);

 private:
  CompressedMean compressed_;
  DenseSubset kept_;
  CompressedCoordinates coordinates_;
};

}  // namespace kadam
