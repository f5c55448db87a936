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

/// The set of coordinates that are compressed: all but tensors kept dense and, where the algorithm requires
/// it, coordinates without variance.
///
/// Memory: d/8 bytes.
class CompressedCoordinates {
 public:
  CompressedCoordinates() = default;
  /// Compresses all but the dense ranges.
  CompressedCoordinates(const ExecutionSpace& exec, std::int64_t elements,
                        const std::vector<ElementRange>& dense);

  /// From now on compresses all with v > 0 but the dense ranges. Reads v; waits for exec.
  void require_variance(const ExecutionSpace& exec, const Vector<float>& v);

  /// Empty when all coordinates are compressed.
  [[nodiscard]] const ActiveMask<MemorySpace>& active() const { return active_; }
  /// Number of coordinates that had no variance at the last require_variance(), kept dense or not.
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

/// Returns the ranges of tensors kept dense and of tensors with lr_scale = 0. One bit per element cannot
/// say that an element does not move.
[[nodiscard]] std::vector<ElementRange> still_or_kept_dense(const ResolvedGroups& groups);

/// The mean of a vector over ranks, as the parameter groups ask for: compressed, except that tensors kept
/// dense have an exact mean and coordinates that are left out have none.
///
/// An exchange has three steps: exchange_kept(); one of CompressedMean's exchanges, which calls `arrived`
/// with the elements that decode() may be called for; decode_kept().
///
/// Memory and wire: CompressedMean's, DenseSubset's and CompressedCoordinates'; see phase().
class GroupedMean {
 public:
  GroupedMean() = default;
  /// left_out: the ranges that are not compressed, groups.dense among them; in any order, and they may
  /// overlap.
  GroupedMean(const ExecutionSpace& exec, const CodecOptions& codec, Communicator& communicator,
              std::int64_t elements, const ResolvedGroups& groups, const std::vector<ElementRange>& left_out);

  [[nodiscard]] CompressedMean& compressed() { return compressed_; }
  [[nodiscard]] const CompressedMean& compressed() const { return compressed_; }
  /// The elements that are compressed.
  [[nodiscard]] const ActiveMask<MemorySpace>& active() const { return coordinates_.active(); }

  /// Leaves out coordinates with v = 0 from now on. Reads v; waits for exec.
  void require_variance(const ExecutionSpace& exec, const Vector<float>& v) {
    coordinates_.require_variance(exec, v);
  }
  [[nodiscard]] std::int64_t inactive_elements() const { return coordinates_.inactive_elements(); }

  /// Exchanges load(i) of the elements that are kept dense. Collective.
  template <class Load>
  void exchange_kept(const Step& step, const Load& load) {
    kept_.exchange(step.exec, step.phases, load);
  }
  /// CompressedMean::exchange(), exchange_continued() and exchange_accumulated(), of compressed elements.
  void exchange(const Step& step, const Vector<const float>& values, const CompressedMean::Arrived& arrived) {
    compressed_.exchange(step.exec, step.phases, values, active(), arrived);
  }
  template <class Codes = AnyQuantiser, class Load>
  void exchange_continued(const Step& step, const Load& load, const CompressedMean::Arrived& arrived) {
    compressed_.exchange_continued<Codes>(step.exec, step.phases, load, active(), arrived);
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

  /// Adds the cost of an exchange and of decoding to `phase`, and the memory of the mean to `use`.
  static void add(const CodecOptions& codec, const Problem& problem, StepPhase& phase, MemoryUse& use);
  /// The same for an exchange that starts in phase `start`, travels as `when` says and ends in phase
  /// `finish`.
  static void add(const CodecOptions& codec, const Problem& problem, StepPhase& start, StepPhase& finish,
                  const PlannedExchange& when, MemoryUse& use);
  /// Returns a phase of this name with the check of the gradient and one exchange; adds the memory to `use`.
  /// The algorithm adds its own work.
  [[nodiscard]] static StepPhase phase(const char* name, const CodecOptions& codec, const Problem& problem,
                                       MemoryUse& use);
  /// Bytes of CompressedMean::message().
  [[nodiscard]] static std::size_t message_bytes(const CodecOptions& codec, const Problem& problem);

 private:
  CompressedMean compressed_;
  DenseSubset kept_;
  CompressedCoordinates coordinates_;
};

}  // namespace kadam
