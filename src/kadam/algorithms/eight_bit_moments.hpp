// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/algorithms/step.hpp>
#include <kadam/execution.hpp>
#include <kadam/kernels/byte_moments.hpp>
#include <kadam/layout/tensor_layout.hpp>
#include <kadam/options/option_fields.hpp>
#include <kadam/state/state_fields.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace kadam {

/// What moments are kept in.
enum class MomentFormat : std::uint8_t { float32, eight_bit };

/// Describes the option `moments`.
void describe_moments(OptionFields& fields, MomentFormat& moments);

/// First and second moment of the mean gradient in 8 bits an element each, zero at first: in place of
/// Moments.
///
/// Each element is a share of the largest in its block of 256 of one tensor, rounded by chance, by bits that
/// follow from step and place: all ranks have the same. Memory: 2 B per element, 8 B per block, 16 B per
/// tensor.
class EightBitMoments {
 public:
  EightBitMoments() = default;
  /// label: the owner's, as in "kadam::Adam".
  EightBitMoments(const ExecutionSpace& exec, const std::string& label, const TensorLayout& layout);
  [[nodiscard]] static std::size_t memory_bytes(const TensorLayout& layout);

  /// The step t of some whole tensors, by a rule of all elements; the parameters and the gradient are whole
  /// as well.
  void update(const ExecutionSpace& exec, const BySegment<MemorySpace, AdamStepOf>& rule, std::int64_t t,
              const ElementRange& tensors, const Parameters& parameters, const Gradient& gradient) const;

  /// As float32, the same on all ranks: any optimizer that has moments goes on from them. Codes and scales
  /// follow from these numbers to the last bit. Memory: 8 B per element, while the fields live.
  void describe_state(const ExecutionSpace& exec, StateFields& fields) const;
  /// After the fields were read.
  void adopt_state(const ExecutionSpace& exec, const StateFields& fields) const;

 private:
  std::vector<std::int64_t> boundaries_;    ///< of tensors
  std::vector<std::int64_t> first_blocks_;  ///< at each of them
  ByteMoments<MemorySpace> moments_;
};

}  // namespace kadam
