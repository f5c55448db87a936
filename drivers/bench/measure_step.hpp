// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <bench/exchange_results.hpp>
#include <kadam/comm/communicator.hpp>
#include <kadam/layout/tensor_layout.hpp>
#include <kadam/options/parameter_groups.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace kadam::bench {

/// Tensors as networks have them: matrices and biases of at most 1024 elements in turn, beginning with a
/// matrix. alternating_groups() gives decay to matrices and none to biases, so no two neighbours share a
/// group.
///
/// rows: of each matrix; what does not fill a column is in the last bias. 0: no tensor has a shape, so
/// algorithms that treat matrices in another way take all as vectors. Errors: std::invalid_argument for more
/// tensors than elements, for a matrix without a column, and where there is no bias for the rest.
[[nodiscard]] TensorLayout alternating_tensors(std::int64_t elements, std::int64_t tensors,
                                               std::int64_t rows = 0);
[[nodiscard]] std::vector<ParameterGroup> alternating_groups(const TensorLayout& layout);

/// Measured figures of a step of an optimizer after its warm-up. Hides kadam::StepResult in this namespace.
struct StepResult {
  std::string optimizer;
  std::int64_t elements = 0;
  std::int64_t tensors = 1;
  int ranks = 1;
  Timing seconds;         ///< of the slowest rank
  double launches = 0.0;  ///< of kernels by this rank in a step, mean of several; likewise the next three
  double copies = 0.0;
  double fences = 0.0;
  double bytes_sent = 0.0;
  double spent_seconds = 0.0;  ///< on all runs
  double needed_bytes = 0.0;   ///< step_memory_bytes()
  double peak_bytes = 0.0;     ///< of the process that took most memory; 0 where the system does not tell
};

/// Bytes of memory that a rank needs for parameters, gradient and the optimizer of measure_step(), computed
/// before anything is allocated.
[[nodiscard]] std::size_t step_memory_bytes(const std::string& optimizer, std::int64_t elements,
                                            const Communicator& communicator);

/// Makes the optimizer with its defaults, weight decay and a warm-up of one step, and times its steps, short
/// ones in groups. progress(repetition) is called before each run. Collective.
[[nodiscard]] StepResult measure_step(const std::string& optimizer, const TensorLayout& layout,
                                      const std::shared_ptr<Communicator>& communicator, const Effort& effort,
                                      const std::function<void(int)>& progress);

/// For people.
[[nodiscard]] std::string step_table_head();
[[nodiscard]] std::string step_table_row(const StepResult& result);
/// For programs: a JSON object and a newline.
[[nodiscard]] std::string json_line_of(const StepResult& result);

}  // namespace kadam::bench
