// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/codec/block_codec.hpp>
#include <kadam/collectives/node_level.hpp>
#include <kadam/collectives/phases.hpp>
#include <kadam/collectives/pipelined_reduction.hpp>
#include <kadam/collectives/sliced_chunks.hpp>
#include <kadam/comm/communicator.hpp>
#include <kadam/kernels/bfloat16_errors.hpp>
#include <kadam/kernels/coded_vector.hpp>
#include <kadam/kernels/number_format.hpp>
#include <kadam/kernels/without_code.hpp>
#include <kadam/state/state_fields.hpp>

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <variant>

namespace kadam {

/// The layout of a CompressedMean: its messages, memory and cost, without its buffers.
class CompressedMeanLayout {
 public:
  CompressedMeanLayout() = default;
  /// errors: float32, or bf16 for a ShortErrorCode in blocks of 1 to Bfloat16Errors::longest_block elements;
  /// the first exchange of another code throws std::logic_error.
  CompressedMeanLayout(const Arrangement& ranks, const AnyQuantiser& quantiser, std::int64_t elements,
                       std::int64_t block_elements, NumberFormat errors = NumberFormat::float32);

  [[nodiscard]] const NodeLevelLayout& node() const { return node_; }
  /// Codec of the whole vector.
  [[nodiscard]] const BlockCodec& codec() const { return codec_; }
  /// Codec of the elements that this rank compresses: with one level the whole vector, else its shard.
  [[nodiscard]] const BlockCodec& codec_of_chunks() const { return codec_of_chunks_; }
  [[nodiscard]] const ChunkLayout& chunks() const { return codec_of_chunks_.message().chunks(); }
  /// This rank's number among the owners of chunks(), which is the number of its own chunk.
  [[nodiscard]] int owner() const { return owner_; }
  /// Whether other ranks own chunks. If not, nothing is compressed: the code is the identity, and there is no
  /// error. In two levels the ranks of the node still exchange.
  [[nodiscard]] bool compresses() const { return chunks().ranks() > 1; }
  /// The format of the errors; float32 if there are none.
  [[nodiscard]] NumberFormat errors() const { return compresses() ? errors_ : NumberFormat::float32; }

  /// The cost of an exchange without decoding, which the caller does, and all memory of the mean.
  [[nodiscard]] Cost cost() const;
  /// The work of decoding the whole vector.
  [[nodiscard]] Work decoding() const;

 private:
  [[nodiscard]] MemoryUse memory() const;

  CodeFigures code_{};
  NodeLevelLayout node_;
  BlockCodec codec_;
  BlockCodec codec_of_chunks_;
  int owner_ = 0;
  NumberFormat errors_ = NumberFormat::float32;
};

/// C-AR(y), a compressed all-reduce: the mean over ranks, compressed both ways, with an error kept on both
/// sides (1-bit Adam, Tang et al. 2021, algorithm 1).
///
///   h = y + we;  q = C(h);  we <- h - q                     every rank
///   chunk j of q goes to rank j                             all-to-all
///   p = (1/n) sum q_i + se;  r = C(p);  se <- p - r         owner of the chunk
///   r goes to all                                           all-gather
///
/// we is the worker error of a rank, se the server error of a chunk, which its owner keeps. Every rank, the
/// owner too, then decodes the same bytes of r: the result, `out`. Law, per element and from zero errors:
/// sum_t out + (1/n) sum we + se = sum_t (1/n) sum y. One rank: the identity, without error.
///
/// Errors in bf16 are rounded by chance (Bfloat16Errors), differently in each exchange: the law then holds
/// for the expected value. Ranks still decode the same bytes.
///
/// Chunks travel in slices of about Communicator::piece_bytes(): a rank encodes, reduces and decodes some
/// slices while others are on the wire. That changes no bit of the result.
///
/// In two levels (N nodes of g ranks; the hierarchical form of 1-bit Adam's section 6): each node takes the
/// exact mean of y, shard by shard; the N ranks that hold a shard exchange it by C-AR; each rank sends the
/// codes of r to its node. There is one error per node, spread over its ranks; with N for n the law is the
/// same.
///
/// Memory: errors 4 d + 4 d/n, half of it in bf16, messages about 3 d bits/8; in two levels errors 4 d/g + 4
/// d/n, messages about d (1 + 2/g) bits/8, and 8 d + 4 d/g for dense parts. Wire: (n - 1)/n 2 (d bits/8 + 4
/// d/B) bytes per rank when chunks are equal, for scale blocks of B elements; in two levels (N - 1)/N 2 (d
/// bits/8 + 4 d/B)/g, and inside the node (g - 1)/g (4 d + d bits/8 + 4 d/B). Worked number: d = 2^20, n = 4,
/// B = 2048, 1 bit: 199680 bytes, 31.5 times less than the dense mean; with g = 2: 66560 bytes between nodes.
class CompressedMean {
 public:
  /// An error in its format.
  using Error = std::variant<Vector<float>, Vector<Bfloat16>>;
  struct State {
    Error worker_error;  ///< [d] on every rank; in two levels [shard]
    Error server_error;  ///< [own chunk]
  };

  CompressedMean() = default;
  /// The communicator must outlive this object. errors: as for CompressedMeanLayout.
  CompressedMean(const ExecutionSpace& exec, const AnyQuantiser& quantiser, Communicator& communicator,
                 std::int64_t elements, std::int64_t block_elements,
                 NumberFormat errors = NumberFormat::float32);

  /// A function that is called for some elements of `out` as soon as decode() may be called for these; each
  /// element is in one call. With one level there is a call for each slice, while other slices travel; in two
  /// levels, or if nothing is compressed, one call at the end.
  using Arrived = std::function<void(const ElementRange&)>;

  /// Compresses y and exchanges it; decode() gives the result. Inactive elements add nothing; their error
  /// becomes 0. Collective. Shape: y [d].
  void exchange(const ExecutionSpace& exec, Phases& phases, const Vector<const float>& y,
                const ActiveMask<MemorySpace>& active, const Arrived& arrived = {});

  /// Makes the communicator and the buffers of start(). Without this call the first start() makes them.
  /// Collective.
  void prepare_background();
  /// Starts the exchange() of y in the background and sends all that can be sent. Kernels that are enqueued
  /// on exec afterwards may change y. Until finish() only poll() may be called, and this object and `phases`
  /// have to stay where they are; the communicator and exec are free for other work. In two levels start()
  /// first takes the mean inside the node; if that mean goes by messages, start() waits for them. Bytes
  /// between nodes count as background traffic. Collective.
  void start(const ExecutionSpace& exec, Phases& phases, const Vector<const float>& y,
             const ActiveMask<MemorySpace>& active);
  /// Continues the exchange that start() has started, without waiting.
  void poll() {
    if (under_way_ != nullptr) under_way_->poll();
  }
  /// Waits for the exchange that start() has started; then `out` can be decoded. Collective.
  void finish(const ExecutionSpace& exec, Phases& phases);

  /// Multiplies all errors by `factor`. This function, add_owed(), accumulator() and exchange_accumulated()
  /// need errors in float32. Errors: std::bad_variant_access for errors in bf16.
  void scale_errors(const ExecutionSpace& exec, float factor) const;
  /// Adds the errors to `target` [d], so that the mean of all ranks' targets grows by (1/n) sum we + se.
  void add_owed(const ExecutionSpace& exec, const Vector<float>& target) const;

  /// Exchanges a y that continues the last exchange: y = load(i, out of element i of that exchange). Compiled
  /// for each of Codes, which have to include the code and, for a rank alone, IdentityQuantiser. Collective.
  /// Errors: std::logic_error for a code that Codes lacks.
  template <class Codes = AnyQuantiser, class Load>
  void exchange_continued(const ExecutionSpace& exec, Phases& phases, const Load& load,
                          const ActiveMask<MemorySpace>& active, const Arrived& arrived = {}) {
    if (node_.exists()) {
      {
        const auto scope = phases.enter(exec, Phase::encode);
        write_mean(exec, active, input_);
        // Inactive elements are left out after the mean over the node.
        continue_values(exec, load, input_);
      }
      exchange_in_two_levels(exec, phases, input_, active, arrived);
      return;
    }
    run(exec, phases, active, arrived, [&](const BlockRange& blocks) {
      visit_error(state_.worker_error, Side::worker, [&](const auto& error) {
        layout_.codec().encode<Codes>(exec, blocks, ContinuedLoad<Load, MemorySpace>{load, replies_}, active,
                                      error, outgoing());
      });
    });
  }

  /// The worker error of this rank: of the whole vector, in two levels of its shard. Errors:
  /// std::bad_variant_access for errors in bf16, as for scale_errors().
  [[nodiscard]] const Vector<float>& worker_error() const {
    return std::get<Vector<float>>(state_.worker_error);
  }
  /// The vector that y is added to before exchange_accumulated(): the worker error, in two levels a vector of
  /// zeros.
  [[nodiscard]] const Vector<float>& accumulator() const { return node_.exists() ? input_ : worker_error(); }
  /// Exchanges a y that has been added to accumulator(). Collective.
  void exchange_accumulated(const ExecutionSpace& exec, Phases& phases, const ActiveMask<MemorySpace>& active,
                            const Arrived& arrived = {});

  /// Calls apply(i, out of element i) for every active element in [begin, end), after an exchange. Compiled
  /// for each of Codes, as exchange_continued(): an algorithm with one code compiles fewer kernels.
  template <class Codes = AnyQuantiser, class Apply>
  void decode(const ExecutionSpace& exec, const ActiveMask<MemorySpace>& active, std::int64_t begin,
              std::int64_t end, const Apply& apply) const {
    layout_.codec().decode<Codes>(exec, replies_, active, begin, end, apply);
  }
  /// Calls function(out of the last exchange as a CodedVector), compiled for each of Codes.
  template <class Codes = AnyQuantiser, class Function>
  void visit_result(const Function& function) const {
    layout_.codec().visit<Codes>([&](const auto& quantiser) {
      function(CodedVector<std::decay_t<decltype(quantiser)>, MemorySpace>{quantiser, map(), replies_});
    });
  }
  /// The message of the last exchange: codes of out, of the whole vector.
  [[nodiscard]] const Words<MemorySpace>& message() const { return replies_; }
  /// values(i) <- out of element i of the last exchange, for active elements.
  void write_mean(const ExecutionSpace& exec, const ActiveMask<MemorySpace>& active,
                  const Vector<float>& values) const;

  /// |out|^2 of the last exchange. Waits for exec.
  [[nodiscard]] double squared_norm(const ExecutionSpace& exec, const ActiveMask<MemorySpace>& active,
                                    const SumSpace<MemorySpace>& space) const {
    return layout_.codec().squared_norm(exec, replies_, active, space);
  }

  /// This rank's share of |we|^2: the mean of the shares over all ranks is the mean of |we|^2 over the ranks,
  /// in two levels over the nodes. Waits for exec.
  [[nodiscard]] double squared_error(const ExecutionSpace& exec, const SumSpace<MemorySpace>& space) const;

  /// The kernels' view of the scale blocks.
  [[nodiscard]] const BlockMap& map() const { return layout_.codec().message().map(); }
  [[nodiscard]] const CompressedMeanLayout& layout() const { return layout_; }
  [[nodiscard]] State& state() { return state_; }
  /// Adds the number of exchanges, which seeds the rounding of errors in bf16, to `fields`; nothing if the
  /// errors are in float32 or there are none.
  void describe_numbers(StateFields& fields);
  /// Adds the errors to `fields`, always in float32. Unless layout().compresses() there is no server error: a
  /// rank adds the server error of a checkpoint to its worker error, and the next exchange delivers both.
  void describe_state(const ExecutionSpace& exec, StateFields& fields) const;
  /// Takes over the errors that were loaded into `fields`.
  void adopt_state(const ExecutionSpace& exec, const StateFields& fields) const;
  /// Adds the message of the last exchange to `fields`, for exchange_continued().
  void describe_message(StateFields& fields) const;

 private:
  void exchange_in_two_levels(const ExecutionSpace& exec, Phases& phases, const Vector<const float>& y,
                              const ActiveMask<MemorySpace>& active, const Arrived& arrived);

  /// The active elements of this rank's shard.
  [[nodiscard]] ActiveMask<MemorySpace> in_shard(ActiveMask<MemorySpace> active) const {
    active.offset += node_.shard().begin;
    return active;
  }
  void gather_in_node(const ExecutionSpace& exec, Phases& phases) const;

  [[nodiscard]] const ChunkLayout& chunks_of_all() const { return layout_.codec().message().chunks(); }
  /// The message that this rank encodes. A single rank decodes the same one.
  [[nodiscard]] const Words<MemorySpace>& outgoing() const {
    return layout_.compresses() ? messages_ : own_replies_;
  }
  enum class Side : std::uint8_t { worker, server };
  /// Calls function(error) with the error as encoders take it.
  template <class Function>
  void visit_error(const Error& error, Side side, const Function& function) const {
    if (const auto* const floats = std::get_if<Vector<float>>(&error)) {
      function(*floats);
    } else {
      function(Bfloat16Errors<MemorySpace>{std::get<Vector<Bfloat16>>(error), rounding(side)});
    }
  }
  /// The seed of the rounding of errors in the present exchange.
  [[nodiscard]] std::uint32_t rounding(Side side) const;
  /// Allocates zeros in the format of the errors.
  [[nodiscard]] Error allocate_error(const ExecutionSpace& exec, const std::string& label,
                                     std::int64_t elements) const;

  using Encode = std::function<void(const BlockRange&)>;
  /// Returns the function that encodes blocks of `values`, which have an element for each one of the chunks.
  [[nodiscard]] Encode encoding(const ExecutionSpace& exec, const Vector<const float>& values,
                                const ActiveMask<MemorySpace>& active);
  [[nodiscard]] ReductionSteps steps_of(const ExecutionSpace& exec, Phases& phases,
                                        const ActiveMask<MemorySpace>& active, const Arrived& arrived,
                                        const Encode& encode);
  [[nodiscard]] std::array<ExchangeBuffers, 2> buffers() const;
  void run(const ExecutionSpace& exec, Phases& phases, const ActiveMask<MemorySpace>& active,
           const Arrived& arrived, const Encode& encode);
  void reduce(const ExecutionSpace& exec, const Slice& slice, const ActiveMask<MemorySpace>& active) const;

  CompressedMeanLayout layout_;
  Communicator* communicator_ = nullptr;
  NodeLevel node_;
  State state_;
  std::int64_t exchanges_ = 0;  ///< exchanges begun: part of the seed of rounding
  SlicedChunks slices_;
  Vector<float> input_;                       ///< y, in two levels
  Vector<float> node_mean_;                   ///< this rank's shard of the node's mean of y
  Words<MemorySpace> messages_;               ///< codes of h, of the chunks that this rank compresses
  Words<MemorySpace> received_;               ///< codes of h of the own chunk, from all its ranks
  Words<MemorySpace> replies_;                ///< codes of r, of the whole vector
  Words<MemorySpace> own_replies_;            ///< the part of replies_ for the chunks of messages_
  std::shared_ptr<Communicator> background_;  ///< of the owners of chunks; null before prepare_background()
  std::unique_ptr<OverlappedReduction> under_way_;
};

}  // namespace kadam
