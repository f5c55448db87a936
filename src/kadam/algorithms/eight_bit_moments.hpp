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

/// The format in which moments are kept.
enum class MomentFormat : std::uint8_t { float32, eight_bit };

/// Describes the option `moments`.
void describe_moments(OptionFields& fields, MomentFormat& moments);

/// First and second moment of the mean gradient, zero at first, each in 8 bits per element: in place of
/// Moments.
///
/// Each element is kept as a fraction of the largest element in its block, 256 elements of one tensor. The
/// fraction is rounded by chance, by bits that follow from the step and from the element's place, so all
/// ranks round alike. Memory: 2 B per element, 8 B per block, 16 B per tensor.
class EightBitMoments {
 public:
  EightBitMoments() = default;
  /// label: the name of the owner, as in "kadam::Adam".
  EightBitMoments(const ExecutionSpace& exec, const std::string& label, const TensorLayout& layout);
  [[nodiscard]] static std::size_t memory_bytes(const TensorLayout& layout);

  /// Takes step t for the elements in `tensors`, a range of whole tensors. rule, parameters and gradient are
  /// those of the whole vector. t chooses the random bits.
  void update(const ExecutionSpace& exec, const BySegment<MemorySpace, AdamStepOf>& rule, std::int64_t t,
              const ElementRange& tensors, const Parameters& parameters, const Gradient& gradient) const;

  /// Describes the moments as float32 vectors, equal on all ranks, so that any optimizer with moments can go
  /// on from them. adopt_state() makes the same codes and scales from them, to the last bit. Memory: 8 B per
  /// element while `fields` lives.
  void describe_state(const ExecutionSpace& exec, StateFields& fields) const;
  /// Called after the vectors in `fields` were read: encodes them.
  void adopt_state(const ExecutionSpace& exec, const StateFields& fields) const;

 private:
  std::vector<std::int64_t> boundaries_;    ///< of tensors
  std::vector<std::int64_t> first_blocks_;  ///< number of blocks before each of them
  ByteMoments<MemorySpace> moments_;
};

}  // namespace kadam
