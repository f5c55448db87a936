// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/codec/block_codec.hpp>
#include <kadam/collectives/node_level.hpp>

#include <cstdint>

namespace kadam {

/// What LowBitReduceScatter exchanges and holds, without its buffers.
class LowBitLayout {
 public:
  LowBitLayout() = default;
  /// gradients: the format that they will have.
  LowBitLayout(const Arrangement& ranks, const AnyQuantiser& quantiser, std::int64_t elements,
               std::int64_t block_elements, NumberFormat gradients = NumberFormat::float32);

  [[nodiscard]] std::int64_t elements() const { return elements_; }
  [[nodiscard]] NumberFormat gradients() const { return gradients_; }
  [[nodiscard]] const NodeLevelLayout& node() const { return node_; }
  /// Of what this rank compresses: with one level the whole vector, else its shard.
  [[nodiscard]] const BlockCodec& codec() const { return codec_; }
  [[nodiscard]] const ChunkLayout& chunks() const { return codec_.message().chunks(); }
  /// This rank among those who own these chunks.
  [[nodiscard]] int owner() const { return owner_; }
  /// Whether there is somebody to send to: else the mean is the gradient itself.
  [[nodiscard]] bool compresses() const { return chunks().ranks() > 1; }

  [[nodiscard]] Cost cost() const;

 private:
  std::int64_t elements_ = 0;
  NumberFormat gradients_ = NumberFormat::float32;
  CodeFigures code_{};
  NodeLevelLayout node_;
  BlockCodec codec_;
  int owner_ = 0;
};

}  // namespace kadam
