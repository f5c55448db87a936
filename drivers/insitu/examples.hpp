// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <insitu/history.hpp>
#include <insitu/surrogate.hpp>
#include <kadam/comm/communicator.hpp>

#include <array>
#include <cstdint>

namespace kadam::insitu {

/// What makes numbers of size one of what goes into the surrogate and of what comes out: inputs are
/// (s - mean) / deviation, outputs are change / change_size, each species with its own. Of one jump of the
/// whole grid; then fixed.
struct Scaling {
  std::array<double, species> mean{};
  std::array<double, species> deviation{};
  std::array<double, species> change_size{};  ///< root mean square

  /// The same numbers on all ranks. Collective. Errors: std::runtime_error where a species is the same
  /// everywhere, or does not change: there is nothing to learn.
  [[nodiscard]] static Scaling of_jump(const ExecutionSpace& exec, Communicator& communicator,
                                       const Block& block, const Field& before, const Field& after,
                                       std::int64_t halo);
};

/// Which example of a batch lies where: [example][slot before, slot after, y, x], y and x in the block.
using Sites = Vector<std::int32_t>;
inline constexpr std::int64_t site_numbers = 4;

/// Fills inputs and targets of a batch: the squares of 2 r + 1 cells around the sites, r the halo's width,
/// and the changes in their centres. Enqueued on exec. Memory: 16 (2 r + 1)^2 B read, half of it written.
void gather_examples(const ExecutionSpace& exec, const FieldStack& states, std::int64_t radius,
                     const Sites& sites, const Scaling& scaling, const Surrogate::Batch& batch);

/// The inputs of `examples` consecutive cells of one field, beginning with cell `first` of the block.
void gather_inputs(const ExecutionSpace& exec, const Field& field, std::int64_t radius, const Block& block,
                   std::int64_t first, const Scaling& scaling, const workloads::Matrix<float>& inputs);

/// after = before + change, for these cells.
void apply_changes(const ExecutionSpace& exec, const Field& before, std::int64_t radius, const Block& block,
                   std::int64_t first, const Scaling& scaling, const workloads::Matrix<const float>& outputs,
                   const Field& after);

}  // namespace kadam::insitu
