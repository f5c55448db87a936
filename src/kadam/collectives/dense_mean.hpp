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

/// Which part of a mean a rank gets: all of it, or its shard. In two levels there is one shard for each rank
/// of a node; with one level, one for each rank, its chunk. (NodeLevelLayout::shard() is the whole vector
/// with one level.)
enum class Received : std::uint8_t { all, shard };

/// The layout of a DenseMean: its messages, memory and cost, without its buffers.
class DenseMeanLayout {
 public:
  DenseMeanLayout() = default;
  /// widest: of the formats that will be exchanged, the one with the most bytes.
  DenseMeanLayout(const Arrangement& ranks, std::int64_t elements,
                  NumberFormat widest = NumberFormat::float32, Received received = Received::all);

  [[nodiscard]] std::int64_t elements() const { return elements_; }
  /// n
  [[nodiscard]] int ranks() const { return ranks_; }
  [[nodiscard]] const NodeLevelLayout& node() const { return node_; }
  /// The chunks of this rank's shard, in two levels; with one level those of the whole vector.
  [[nodiscard]] const ChunkLayout& chunks() const { return chunks_; }
  /// This rank among the owners of chunks(): the number of its chunk.
  [[nodiscard]] int owner() const { return owner_; }
  /// Whether each rank gets only its shard; false for a single rank.
  [[nodiscard]] bool is_divided() const { return is_divided_; }
  /// The elements whose mean this rank gets.
  [[nodiscard]] const ElementRange& received() const { return received_; }
  /// How the received() elements of all ranks lie on the ranks.
  [[nodiscard]] Placement placement() const;
  /// The cost of one mean in this format, without DenseMean::gather(). Its memory is that of DenseMean.
  [[nodiscard]] Cost cost(NumberFormat format = NumberFormat::float32) const;
  /// The gather of the shards of one level; empty in two levels, or if ranks get the whole mean.
  [[nodiscard]] const ChunkGather& gather() const { return gather_; }
  /// The cost of DenseMean::gather(): nothing unless is_divided().
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
  ChunkGather gather_;  ///< of the shards of one level
};

/// The mean of a vector over ranks, summed in rank order and times 1/n: bitwise equal on all ranks, whatever
/// arrives first. Chunks go to their owners (all-to-all), which sum them; the means go to all ranks
/// (all-gather). In two levels the mean inside each node comes first, then the mean of the nodes' means.
///
/// The vector is sent in its own format, 16 bits or 32, to the owners and back; an owner adds up in float32
/// and rounds the mean once (at each level).
///
/// Wire: 2 (n - 1)/n 4d bytes per rank when chunks are equal, half of that in 16 bits. In two levels, with g
/// ranks in each of N nodes: 2 (N - 1)/N 4d/g between nodes and 2 (g - 1)/g 4d inside. Memory: 4d for the
/// parts and 4d for the result; in two levels 8d + 8d/g in all; half of that if nothing wider than 16 bits
/// is ever exchanged.
///
/// With Received::shard a rank gets the mean of its shard alone, to the same bits. The rank makes float32
/// numbers of it, such as its shard of x, which gather() then sends to all. For a float32 vector both
/// together send the bytes of a whole mean; for 16 bits the way back, which is float32, has twice the bytes.
/// Memory: 4d and 4d/n; in two levels 4d + 12d/g.
///
/// Worked number: d = 256, n = 4: 1536 bytes sent by each rank, 768 in 16 bits; in two levels, g = 2: 512
/// between nodes and 1024 inside.
class DenseMean {
 public:
  DenseMean() = default;
  /// The communicator has to outlive this object. widest: of the formats that will be exchanged, the one with
  /// the most bytes.
  DenseMean(const ExecutionSpace& exec, Communicator& communicator, std::int64_t elements,
            NumberFormat widest = NumberFormat::float32, Received received = Received::all);

  /// Returns the mean of values, valid until the next call; with one rank it is `values` itself. Collective.
  /// Shape: values [d]; the result [received()]. Errors: std::logic_error for a format wider than `widest`.
  [[nodiscard]] Vector<const float> operator()(const ExecutionSpace& exec, Phases& phases,
                                               const Vector<const float>& values);
  /// The same in the format of the gradient. Completes what gradient_ready() has started.
  [[nodiscard]] Numbers<MemorySpace> of_gradient(const ExecutionSpace& exec, Phases& phases,
                                                 const Numbers<MemorySpace>& gradient);

  /// Returns the memory of a float32 mean of this object, for a caller that keeps other numbers there until
  /// the next call. Empty if `mean` is of 16 bits, or the caller's own values (one rank).
  [[nodiscard]] Vector<float> own_memory_of(const Numbers<MemorySpace>& mean) const;

  /// Fills the other shards of x: each rank sends its own shard to the ranks that hold the others, in two
  /// levels those of its node. Does nothing unless is_divided(). Collective. Shape: x [d].
  void gather(const ExecutionSpace& exec, Phases& phases, const Vector<float>& x) const;
  /// The sum of `own`, a number that each rank has made of its shard, over all shards, in their order: the
  /// same on every rank. Returns `own` itself unless is_divided(). Collective. Wire: 8 B of control to each
  /// rank with another shard.
  [[nodiscard]] double sum_over_shards(double own) const;

  /// Announces elements `range` of the gradient, and sends the slices that are complete with them.
  ///
  /// The elements are final once exec has done what is enqueued on it, and do not change until of_gradient()
  /// is called, next and with this gradient. Other ranks may announce other elements, or none. Until
  /// of_gradient() the communicator has an exchange under way. Waits for no other rank. Does nothing in two
  /// levels, where a rank first needs the mean of its node. `phases` has to stay where it is until
  /// of_gradient().
  void gradient_ready(const ExecutionSpace& exec, Phases& phases, const Numbers<MemorySpace>& gradient,
                      const ElementRange& range);
  /// Moves on the exchange that gradient_ready() has started, without waiting.
  void poll();
  /// Whether gradient_ready() has started an exchange since the last of_gradient().
  [[nodiscard]] bool is_under_way() const { return early_ != nullptr; }
  /// Whether that is the exchange of this gradient.
  [[nodiscard]] bool is_under_way_for(const Numbers<MemorySpace>& gradient) const;

  [[nodiscard]] const DenseMeanLayout& layout() const { return layout_; }
  /// The bytes of Traffic::dense that a rank sends in one call: with one level all bytes, in two levels those
  /// to other nodes.
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
  Vector<std::byte> node_mean_;  ///< [shard], with two levels
  Vector<std::byte> mean_;
  std::unique_ptr<OverlappedReduction> early_;  ///< the exchange that gradient_ready() has started
};

/// The cost of a DenseSubset of these ranges: nothing if they have no element.
[[nodiscard]] Cost dense_subset_cost(const Arrangement& ranks, const std::vector<ElementRange>& ranges);

namespace detail {

/// packed(k) <- load(index(k)), where index(k) is element k of the ranges in the flat vector
template <class Load>
struct PackRanges {
  Vector<std::int64_t> index;
  Load load;
  Vector<float> packed;
  KOKKOS_FUNCTION void operator()(const std::int64_t k) const { packed(k) = load(index(k)); }
};

/// apply(index(k), values(k)), where index(k) is element k of the ranges in the flat vector
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

  /// Takes the mean over ranks of load(i) for all elements i of the ranges; decode() gives it. Collective.
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

  /// The same for elements [first, last) of the ranges, counted through all ranges.
  template <class Apply>
  void decode_packed(const ExecutionSpace& exec, std::int64_t first, std::int64_t last,
                     const Apply& apply) const {
    if (first == last) return;
    Kokkos::parallel_for("kadam::DenseSubset::decode", Policy(exec, first, last),
                         detail::ApplyToRanges<Apply>{index_, result_, apply});
  }

 private:
  using Policy = Kokkos::RangePolicy<ExecutionSpace, Kokkos::IndexType<std::int64_t>>;
  /// How many elements of the ranges lie before element i of the flat vector.
  [[nodiscard]] std::int64_t elements_before(std::int64_t i) const;

  std::vector<ElementRange> ranges_;
  std::int64_t elements_ = 0;
  Vector<std::int64_t> index_;
  Vector<float> packed_;
  Vector<const float> result_;
  DenseMean mean_;
};

}  // namespace kadam
