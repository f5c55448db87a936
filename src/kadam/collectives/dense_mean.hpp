// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/collectives/chunk_gather.hpp>
#include <kadam/collectives/node_level.hpp>
#include <kadam/collectives/ordered_reduction.hpp>
#include <kadam/collectives/phases.hpp>
#include <kadam/collectives/pipelined_reduction.hpp>
#include <kadam/comm/communicator.hpp>
#include <kadam/execution.hpp>
#include <kadam/kernels/numbers.hpp>
#include <kadam/layout/chunk_layout.hpp>
#include <kadam/state/state_fields.hpp>

#include <Kokkos_Core.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace kadam {

/// What a rank gets of a mean: all of it, or its shard. Shards are those of the ranks of a node, with one
/// level those of all ranks.
enum class Received : std::uint8_t { all, shard };

/// What DenseMean exchanges and holds, without its buffers.
class DenseMeanLayout {
 public:
  DenseMeanLayout() = default;
  /// widest: the format with the most bytes of those that are going to be exchanged.
  DenseMeanLayout(const Arrangement& ranks, std::int64_t elements,
                  NumberFormat widest = NumberFormat::float32, Received received = Received::all);

  [[nodiscard]] std::int64_t elements() const { return elements_; }
  /// n
  [[nodiscard]] int ranks() const { return ranks_; }
  [[nodiscard]] const NodeLevelLayout& node() const { return node_; }
  /// Of the shard: with one level of the whole vector.
  [[nodiscard]] const ChunkLayout& chunks() const { return chunks_; }
  [[nodiscard]] int owner() const { return owner_; }
  /// Whether ranks get a shard each, of several.
  [[nodiscard]] bool is_divided() const { return is_divided_; }
  /// The elements that this rank gets the mean of.
  [[nodiscard]] const ElementRange& received() const { return received_; }
  /// How these lie on the ranks.
  [[nodiscard]] Placement placement() const;
  /// Of a mean in this format.
  [[nodiscard]] Cost cost(NumberFormat format = NumberFormat::float32) const;
  /// Of shards in one level.
  [[nodiscard]] const ChunkGather& gather() const { return gather_; }
  /// Of DenseMean::gather(): nothing unless ranks get shards.
  [[nodiscard]] Cost gather_cost() const;

 private:
  std::int64_t elements_ = 0;
  int ranks_ = 1;
  int rank_ = 0;
  NodeLevelLayout node_;
  ChunkLayout chunks_;
  int owner_ = 0;
  NumberFormat widest_ = NumberFormat::float32;
  bool is_divided_ = false;
  ElementRange received_;
  ChunkGather gather_;  ///< of shards in one level
};

/// The mean of a vector over ranks, summed in rank order and times 1/n: bitwise equal on all ranks, whatever
/// arrives first. All-to-all of chunks, sum by their owner, all-gather. In two levels: the mean inside each
/// node first, then that of the nodes' means.
///
/// In the format of the vector: what has 16 bits is sent with 16 bits, there and back; the owner adds up in
/// float32 and rounds the mean once (at each level).
///
/// Wire: 2 (n - 1)/n 4d bytes per rank when chunks are equal, half of that in 16 bits. In two levels, with g
/// ranks in each of N nodes: 2 (N - 1)/N 4d/g between nodes and 2 (g - 1)/g 4d inside. Memory: 4d for the
/// parts and 4d for the result; in two levels 8d + 8d/g in all; half of that if nothing wider than 16 bits
/// is ever exchanged.
///
/// With Received::shard a rank gets the mean of its shard alone, to the same bits, and gather() passes on the
/// float32 numbers that it makes of it: in float32 as many bytes as a whole mean, in 16 bits those of the
/// gather twice. Memory: 4d and 4d/n; in two levels 4d + 12d/g.
/// Worked number: d = 256, n = 4: 1536 bytes sent by each rank, 768 in 16 bits; in two levels, g = 2: 512
/// between nodes and 1024 inside.
class DenseMean {
 public:
  DenseMean() = default;
  /// The communicator has to live on. widest: the format with the most bytes of those that are going to be
  /// exchanged.
  DenseMean(const ExecutionSpace& exec, Communicator& communicator, std::int64_t elements,
            NumberFormat widest = NumberFormat::float32, Received received = Received::all);

  /// Collective. The result is valid until the next call; with one rank it is `values` itself. Shape: values
  /// [d]; the result [received()].
  [[nodiscard]] Vector<const float> operator()(const ExecutionSpace& exec, Phases& phases,
                                               const Vector<const float>& values);
  /// The same in the format that the gradient has.
  [[nodiscard]] Numbers<MemorySpace> of_gradient(const ExecutionSpace& exec, Phases& phases,
                                                 const Numbers<MemorySpace>& gradient);

  /// What each rank has in its shard of x goes to all that have other shards of it; nothing where each gets
  /// the whole mean. Collective. Shape: x [d].
  void gather(const ExecutionSpace& exec, Phases& phases, const Vector<float>& x) const;
  /// Adds what ranks have of their shards, in the order of the shards: the same sum on every rank. Where each
  /// gets the whole mean, own itself. Collective. Wire: 8 B of control to each rank with another shard.
  [[nodiscard]] double sum_over_shards(double own) const;

  /// These elements of the gradient that of_gradient() is to be called with next are final once exec has done
  /// what is enqueued on it, and stay as they are until then: those slices that are complete leave now. Other
  /// ranks may say so of other elements, or of none. Until of_gradient() the communicator has an exchange
  /// under way. Waits for no other rank. In two levels it does nothing: what a rank sends first is the mean
  /// of its node.
  void gradient_ready(const ExecutionSpace& exec, Phases& phases, const Numbers<MemorySpace>& gradient,
                      const ElementRange& range);
  /// Moves on what gradient_ready() has started, without waiting.
  void poll();
  /// Whether gradient_ready() was called since the last of_gradient(); and whether with this gradient.
  [[nodiscard]] bool is_under_way() const { return early_ != nullptr; }
  [[nodiscard]] bool is_under_way_for(const Numbers<MemorySpace>& gradient) const;

  [[nodiscard]] const DenseMeanLayout& layout() const { return layout_; }
  /// What a rank sends in one call: with one level all of it, with two what goes to other nodes.
  [[nodiscard]] static std::size_t bytes_sent(const Communicator& communicator, std::int64_t elements,
                                              NumberFormat format = NumberFormat::float32) {
    return DenseMeanLayout(communicator.arrangement(), elements).cost(format).bytes(Traffic::dense);
  }

 private:
  template <Number T>
  [[nodiscard]] std::unique_ptr<OverlappedReduction> start(const ExecutionSpace& exec, Phases& phases,
                                                           const Vector<const T>& values);
  template <Number T>
  Vector<const T> mean_of(const ExecutionSpace& exec, Phases& phases, const Vector<const T>& values,
                          std::unique_ptr<OverlappedReduction> run);

  DenseMeanLayout layout_;
  Communicator* communicator_ = nullptr;
  NodeLevel node_;
  OrderedReduction across_;
  Vector<std::byte> node_mean_;  ///< [shard], of two levels
  Vector<std::byte> mean_;
  std::unique_ptr<OverlappedReduction> early_;  ///< the mean of the next gradient, while that is computed
};

/// What DenseSubset exchanges and holds: nothing without an element.
[[nodiscard]] Cost dense_subset_cost(const Arrangement& ranks, const std::vector<ElementRange>& ranges);

namespace detail {

/// packed(k) <- load(element k of the ranges)
template <class Load>
struct PackRanges {
  Vector<std::int64_t> index;
  Load load;
  Vector<float> packed;
  KOKKOS_FUNCTION void operator()(const std::int64_t k) const { packed(k) = load(index(k)); }
};

/// apply(element k of the ranges, its value)
template <class Apply>
struct ApplyToRanges {
  Vector<std::int64_t> index;
  Vector<const float> values;
  Apply apply;
  KOKKOS_FUNCTION void operator()(const std::int64_t k) const { apply(index(k), values(k)); }
};

}  // namespace detail

/// The exact mean of a few ranges of a vector: the tensors that are kept out of compression.
///
/// Wire: 2 (n - 1)/n 4 k bytes for k elements. Memory: 12 k bytes and DenseMean's 8 k.
class DenseSubset {
 public:
  DenseSubset() = default;
  /// The ranges ascend, without overlap.
  DenseSubset(const ExecutionSpace& exec, Communicator& communicator,
              const std::vector<ElementRange>& ranges);

  /// Exchanges load(i) of all elements i of the ranges. Collective.
  template <class Load>
  void exchange(const ExecutionSpace& exec, Phases& phases, const Load& load) {
    if (elements_ == 0) return;
    Kokkos::parallel_for("kadam::DenseSubset::exchange", Policy(exec, 0, elements_),
                         detail::PackRanges<Load>{index_, load, packed_});
    result_ = mean_(exec, phases, packed_);
  }

  /// apply(i, mean of element i), after exchange(), for all elements i of the ranges in [begin, end).
  template <class Apply>
  void decode(const ExecutionSpace& exec, std::int64_t begin, std::int64_t end, const Apply& apply) const {
    decode_packed(exec, elements_before(begin), elements_before(end), apply);
  }
  /// The same for all elements of the ranges.
  template <class Apply>
  void decode(const ExecutionSpace& exec, const Apply& apply) const {
    decode_packed(exec, 0, elements_, apply);
  }

  /// The same for those with a number in [first, last) among the elements of the ranges.
  template <class Apply>
  void decode_packed(const ExecutionSpace& exec, std::int64_t first, std::int64_t last,
                     const Apply& apply) const {
    if (first == last) return;
    Kokkos::parallel_for("kadam::DenseSubset::decode", Policy(exec, first, last),
                         detail::ApplyToRanges<Apply>{index_, result_, apply});
  }

 private:
  using Policy = Kokkos::RangePolicy<ExecutionSpace, Kokkos::IndexType<std::int64_t>>;
  /// How many elements of the ranges lie before element i.
  [[nodiscard]] std::int64_t elements_before(std::int64_t i) const;

  std::vector<ElementRange> ranges_;
  std::int64_t elements_ = 0;
  Vector<std::int64_t> index_;
  Vector<float> packed_;
  Vector<const float> result_;
  DenseMean mean_;
};

}  // namespace kadam
