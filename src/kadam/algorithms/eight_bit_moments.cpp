// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/algorithms/eight_bit_moments.hpp>
#include <kadam/kernels/adam_update.hpp>

#include <algorithm>

namespace kadam {

void describe_moments(OptionFields& fields, MomentFormat& moments) {
  fields.add_choice<MomentFormat>("moments", moments,
                                  {{"float32", MomentFormat::float32}, {"8bit", MomentFormat::eight_bit}},
                                  "format of m and v in memory; 8bit: each element as a share of the largest "
                                  "in its block of 256, rounded stochastically");
}

EightBitMoments::EightBitMoments(const ExecutionSpace& exec, const std::string& label,
                                 const TensorLayout& layout)
    : boundaries_(layout.boundaries()),
      first_blocks_(TensorBlocks<MemorySpace>::first_blocks(boundaries_)),
      moments_{TensorBlocks<MemorySpace>::make(boundaries_),
               allocate_zeros<std::uint8_t>(exec, label + "::m", layout.elements()),
               allocate_zeros<std::uint8_t>(exec, label + "::v", layout.elements()),
               allocate_zeros<float>(exec, label + "::m_scales", first_blocks_.back()),
               allocate_zeros<float>(exec, label + "::v_scales", first_blocks_.back())} {}

std::size_t EightBitMoments::memory_bytes(const TensorLayout& layout) {
  const auto blocks =
      static_cast<std::size_t>(TensorBlocks<MemorySpace>::first_blocks(layout.boundaries()).back());
  return 2 * static_cast<std::size_t>(layout.elements()) + 2 * sizeof(float) * blocks +
         TensorBlocks<MemorySpace>::memory_bytes(layout.tensors().size());
}

void EightBitMoments::update(const ExecutionSpace& exec, const BySegment<MemorySpace, AdamStepOf>& rule,
                             std::int64_t t, const ElementRange& tensors, const Parameters& parameters,
                             const Gradient& gradient) const {
  const auto block_at = [&](std::int64_t boundary) {
    const auto found = std::lower_bound(boundaries_.begin(), boundaries_.end(), boundary);
    return first_blocks_[static_cast<std::size_t>(found - boundaries_.begin())];
  };
  update_byte_moments(exec, rule, moments_, static_cast<std::uint32_t>(t), block_at(tensors.begin),
                      block_at(tensors.end), parameters.master(), gradient, parameters.copy());
}

void EightBitMoments::describe_state(const ExecutionSpace& exec, StateFields& fields) const {
  const auto elements = static_cast<std::int64_t>(moments_.m.extent(0));
  const Vector<float> m = allocate<float>(exec, "kadam::EightBitMoments::m", elements);
  const Vector<float> v = allocate<float>(exec, "kadam::EightBitMoments::v", elements);
  if (fields.saves()) decode_byte_moments(exec, moments_, m, v);
  fields.equal("m", m);
  fields.equal("v", v);
}

void EightBitMoments::adopt_state(const ExecutionSpace& exec, const StateFields& fields) const {
  encode_byte_moments<ExecutionSpace, MemorySpace>(exec, fields.vector("m"), fields.vector("v"), moments_);
}

}  // namespace kadam
