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
#include <kadam/kernels/continue_values.hpp>
#include <kadam/kernels/number_format.hpp>
#include <kadam/state/state_fields.hpp>

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <variant>

namespace kadam {

/// What CompressedMean exchanges and holds, without its buffers.
class CompressedMeanLayout {
 public:
  CompressedMeanLayout() = default;
  /// errors: float32, or bf16 for a ShortErrorCode in blocks of 1 to Bfloat16Errors::longest_block elements.
  CompressedMeanLayout(const Arrangement& ranks, const AnyQuantiser& quantiser, std::int64_t elements,
                       std::int64_t block_elements, NumberFormat errors = NumberFormat::float32);

  [[nodiscard]] const NodeLevelLayout& node() const { return node_; }
  /// Of the whole vector.
  [[nodiscard]] const BlockCodec& codec() const { return codec_; }
  /// Of what this rank compresses: with one level the whole vector, else its shard.
  [[nodiscard]] const BlockCodec& codec_of_chunks() const { return codec_of_chunks_; }
  [[nodiscard]] const ChunkLayout& chunks() const { return codec_of_chunks_.message().chunks(); }
  /// This rank among those who own these chunks.
  [[nodiscard]] int owner() const { return owner_; }
  /// Whether there is somebody to send to: else the code is the identity, which leaves no error.
  [[nodiscard]] bool compresses() const { return chunks().ranks() > 1; }
  /// That errors are kept in; float32 where there are none.
  [[nodiscard]] NumberFormat errors() const { return compresses() ? errors_ : NumberFormat::float32; }

  /// Of an exchange, without the decoding, which is the caller's; the memory is all that is held.
  [[nodiscard]] Cost cost() const;
  /// Of decoding an element of the vector.
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

/// C-AR(y): the mean over ranks, compressed both ways, with an error kept on both sides (1-bit Adam, Tang et
/// al. 2021, algorithm 1).
///
///   h = y + we;  q = C(h);  we <- h - q                     every rank
///   chunk j of q goes to rank j                             all-to-all
///   p = (1/n) sum q_i + se;  r = C(p);  se <- p - r         owner of the chunk
///   r goes to all                                           all-gather
///
/// Every rank, the owner too, then decodes the same bytes of r. Law, per coordinate and from zero errors:
/// sum_t out + (1/n) sum we + se = sum_t (1/n) sum y. One rank: the identity, without error.
///
/// Errors in bf16 are rounded by chance (Bfloat16Errors), a rounding for each exchange: the law then holds in
/// the mean over the roundings. Ranks still decode the same bytes.
///
/// Chunks travel in slices of about Communicator::piece_bytes(): encoding, reducing and decoding some while
/// others are on the wire changes no bit of the result.
///
/// In two levels (N nodes of g ranks; the hierarchical form of 1-bit Adam's section 6): the exact mean of y
/// inside each node, shard by shard; C-AR of the shard between the N ranks that hold it; the codes of r to
/// all of the node. Errors then exist once per node: with we of a node spread over its ranks, and N for n,
/// the law is the same.
///
/// Memory: errors 4 d + 4 d/n, half of it in bf16, messages about 3 d bits/8; in two levels errors 4 d/g + 4
/// d/n, messages about d (1 + 2/g) bits/8, and 8 d + 4 d/g for dense parts. Wire: (n - 1)/n 2 (d bits/8 + 4
/// d/B) bytes per rank when chunks are equal; in two levels (N - 1)/N 2 (d bits/8 + 4 d/B)/g, and inside the
/// node (g - 1)/g (4 d + d bits/8 + 4 d/B). Worked number: d = 2^20, n = 4, B = 2048, 1 bit: 199 680
/// bytes, 31.5 times less than the dense mean; with g = 2: 66 560 bytes between nodes.
class CompressedMean {
 public:
  /// In the format of the errors.
  using Error = std::variant<Vector<float>, Vector<Bfloat16>>;
  struct State {
    Error worker_error;  ///< [d] on every rank; in two levels its shard
    Error server_error;  ///< [own chunk]
  };

  CompressedMean() = default;
  /// The communicator has to live on.
  CompressedMean(const ExecutionSpace& exec, const AnyQuantiser& quantiser, Communicator& communicator,
                 std::int64_t elements, std::int64_t block_elements,
                 NumberFormat errors = NumberFormat::float32);

  /// Called with elements whose out can be decoded, slice by slice, while others travel; in the end with all.
  using Arrived = std::function<void(const ElementRange&)>;

  /// Compresses y and exchanges it. Inactive elements are sent as nothing. Collective.
  void exchange(const ExecutionSpace& exec, Phases& phases, const Vector<const float>& y,
                const ActiveMask<MemorySpace>& active, const Arrived& arrived = {});

  /// Makes what start() needs beside exchange(): the first start() does it else. Collective.
  void prepare_background();
  /// The exchange() of y in the background, of which all goes on its way that can: y may change afterwards.
  /// From here to finish() nothing else may be asked of this mean; communicator and exec are free. In two
  /// levels the mean inside the node comes first, and is waited for. Collective. Bytes between nodes count as
  /// background traffic.
  void start(const ExecutionSpace& exec, Phases& phases, const Vector<const float>& y,
             const ActiveMask<MemorySpace>& active);
  /// Moves on what start() has started, without waiting.
  void poll() {
    if (under_way_ != nullptr) under_way_->poll();
  }
  /// Waits for what start() has started; then its out can be decoded. Collective.
  void finish(const ExecutionSpace& exec, Phases& phases);

  /// Multiplies what ranks and owners keep. This and the next, accumulator() and exchange_accumulated() want
  /// errors in float32: std::bad_variant_access else.
  void scale_errors(const ExecutionSpace& exec, float factor) const;
  /// Adds to `target` of this rank so much that the mean over ranks grows by what is owed: (1/n) sum we + se.
  void add_owed(const ExecutionSpace& exec, const Vector<float>& target) const;

  /// The same for a y that goes on from the last exchange: load(i, out of element i of that exchange).
  template <class Load>
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
        layout_.codec().encode(exec, blocks, ContinuedLoad<Load, MemorySpace>{load, replies_}, active, error,
                               outgoing());
      });
    });
  }

  /// What this rank owes: of the whole vector, in two levels of its shard.
  [[nodiscard]] const Vector<float>& worker_error() const {
    return std::get<Vector<float>>(state_.worker_error);
  }
  /// Where to add y for exchange_accumulated(): the worker error, or in two levels a vector of zeros.
  [[nodiscard]] const Vector<float>& accumulator() const { return node_.exists() ? input_ : worker_error(); }
  /// The same for a y that has been added to accumulator() already.
  void exchange_accumulated(const ExecutionSpace& exec, Phases& phases, const ActiveMask<MemorySpace>& active,
                            const Arrived& arrived = {});

  /// apply(i, out of element i) for every active element in [begin, end), after exchange(). Who can have a
  /// few codes only says which: fewer kernels are compiled.
  template <class Codes = AnyQuantiser, class Apply>
  void decode(const ExecutionSpace& exec, const ActiveMask<MemorySpace>& active, std::int64_t begin,
              std::int64_t end, const Apply& apply) const {
    layout_.codec().decode<Codes>(exec, replies_, active, begin, end, apply);
  }
  /// values(i) <- out of element i of the last exchange, for active elements.
  void write_mean(const ExecutionSpace& exec, const ActiveMask<MemorySpace>& active,
                  const Vector<float>& values) const;

  /// |out|^2 of the last exchange. Waits for exec.
  [[nodiscard]] double squared_norm(const ExecutionSpace& exec, const ActiveMask<MemorySpace>& active,
                                    const SumSpace<MemorySpace>& space) const {
    return layout_.codec().squared_norm(exec, replies_, active, space);
  }

  /// |we|^2, as a share: its mean over ranks is that over those who compress. Waits for exec.
  [[nodiscard]] double squared_error(const ExecutionSpace& exec, const SumSpace<MemorySpace>& space) const;

  /// The kernels' view of the scale blocks.
  [[nodiscard]] const BlockMap& map() const { return layout_.codec().message().map(); }
  [[nodiscard]] const CompressedMeanLayout& layout() const { return layout_; }
  [[nodiscard]] State& state() { return state_; }
  /// What is there of the state whether errors are or not.
  void describe_numbers(StateFields& fields);
  /// The errors, in float32 whatever they are kept in. One rank, which compresses nothing, has no server
  /// error: it adds that of a checkpoint to its own error, and delivers it all with the next exchange.
  void describe_state(const ExecutionSpace& exec, StateFields& fields) const;
  /// Takes over the errors that were loaded into `fields`.
  void adopt_state(const ExecutionSpace& exec, const StateFields& fields) const;
  /// What was decoded last, for exchange_continued().
  void describe_message(StateFields& fields) const;

 private:
  void exchange_in_two_levels(const ExecutionSpace& exec, Phases& phases, const Vector<const float>& y,
                              const ActiveMask<MemorySpace>& active, const Arrived& arrived);

  /// Which elements of this rank's shard are active.
  [[nodiscard]] ActiveMask<MemorySpace> in_shard(ActiveMask<MemorySpace> active) const {
    active.offset += node_.shard().begin;
    return active;
  }
  void gather_in_node(const ExecutionSpace& exec, Phases& phases) const;

  [[nodiscard]] const ChunkLayout& chunks_of_all() const { return layout_.codec().message().chunks(); }
  /// One rank decodes what it encoded.
  [[nodiscard]] const Words<MemorySpace>& outgoing() const {
    return layout_.compresses() ? messages_ : own_replies_;
  }
  enum class Side : std::uint8_t { worker, server };
  /// function(the error as encoders take it)
  template <class Function>
  void visit_error(const Error& error, Side side, const Function& function) const {
    if (const auto* const floats = std::get_if<Vector<float>>(&error)) {
      function(*floats);
    } else {
      function(Bfloat16Errors<MemorySpace>{std::get<Vector<Bfloat16>>(error), rounding(side)});
    }
  }
  /// Of the exchange under way.
  [[nodiscard]] std::uint32_t rounding(Side side) const;
  /// Zeros in the format of the errors.
  [[nodiscard]] Error allocate_error(const ExecutionSpace& exec, const std::string& label,
                                     std::int64_t elements) const;

  using Encode = std::function<void(const BlockRange&)>;
  /// Of values, one for each element of the chunks.
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
  std::int64_t exchanges_ = 0;  ///< begun; each rounds errors in bf16 in a way of its own
  SlicedChunks slices_;
  Vector<float> input_;                       ///< y, of two levels
  Vector<float> node_mean_;                   ///< and the shard of its mean
  Words<MemorySpace> messages_;               ///< codes of h, of the chunks that this rank compresses
  Words<MemorySpace> received_;               ///< codes of h of the own chunk, from all its ranks
  Words<MemorySpace> replies_;                ///< codes of r, of the whole vector
  Words<MemorySpace> own_replies_;            ///< of these, those of the same chunks
  std::shared_ptr<Communicator> background_;  ///< of those who own chunks; from the first start() on
  std::unique_ptr<OverlappedReduction> under_way_;
};

}  // namespace kadam
