// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/codec/block_codec.hpp>
#include <kadam/collectives/node_level.hpp>

#include <cstdint>

namespace kadam {

/// What CompressedMean exchanges and holds, without its buffers.
class CompressedMeanLayout {
 public:
  CompressedMeanLayout() = default;
  CompressedMeanLayout(const Arrangement& ranks, const AnyQuantiser& quantiser, std::int64_t elements,
                       std::int64_t block_elements);

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
};

}  // namespace kadam
