// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <bench/kernel_cases.hpp>
#include <bench/kernel_results.hpp>
#include <kadam/codec/any_quantiser.hpp>
#include <plan/measurement.hpp>

#include <algorithm>
#include <array>
#include <iterator>
#include <stdexcept>
#include <string>
#include <vector>

namespace kadam::plan_program {
namespace {

constexpr int repetitions = 5;

/// A kernel of a plan, the one of kadam-bench, and how many elements of the plan's one of that is.
struct Source {
  Kernel kernel;
  std::string name;
  double elements = 1.0;
};

constexpr double messages = 4.0;                                          // of ordered_mean and decode_mean
constexpr double percent = 0.01;                                          // of top-k and sparse kernels
constexpr double sparse_messages = 8;                                     // of the sparse mean
constexpr std::int64_t spectral_side = kernels_run_on_host ? 256 : 1024;  // smaller ones do not fill a device

std::vector<Source> all_sources() {
  std::vector<Source> sources = {
      {cost::check, "ordered_sum of squares"},
      {cost::scale, bench::update_limit_kernel},
      {cost::copy, bench::copy_kernel},
      {cost::adam_update, "adam_update"},
      {cost::adam_update_half, "adam_update, bf16"},
      {cost::update_byte_moments, "adam_update, 8-bit moments"},
      {cost::update_byte_moments_half, "adam_update, 8-bit moments, bf16"},
      {cost::lamb_update, "lamb_update"},
      {cost::dense_mean, "ordered_mean of 4", messages},
      {cost::accumulate_adam_direction, "accumulate_adam_direction"},
      {cost::local_step, "local step of 0/1 Adam"},
      {cost::onebit_lamb_update, "onebit_lamb_ratios"},
      {cost::loco_mean, "decode_mean of 4, uniform4", messages},
      {cost::top_k_percent, "top-k per 4096, 1 %"},
      {cost::top_k_permille, "top-k per 4096, 0.1 %"},
      {cost::top_k_all_percent, "top-k of all, 1 %"},
      {cost::top_k_all_permille, "top-k of all, 0.1 %"},
      {cost::sparse_sum, "sparse mean of 8, 1 %", sparse_messages * percent},
      {cost::multiply_by_right, "multiply_by_right, rank 2"},
      {cost::multiply_by_left, "multiply_by_left, rank 2"},
      {cost::subtract_low_rank, "subtract_low_rank, rank 2"},
      {cost::matrix_product, bench::orthogonalise_kernel(spectral_side, spectral_side)},
  };
  for_each_code([&](const auto& code) {
    const std::string name(code.name);
    sources.push_back({cost::encode(code.name, code.bits), "encode " + name + ", momentum fused"});
    sources.push_back({cost::decode(code.name, code.bits), "decode " + name + ", update fused"});
  });
  for_each_code<ShortErrorCode>([&](const auto& code) {
    sources.push_back(
        {cost::encode_short(code.name, code.bits), "encode " + std::string(code.name) + ", bf16 errors"});
  });
  for_each_code<UniformCode>([&](const auto& code) {
    sources.push_back(
        {cost::loco_encode(code.name, code.bits), "encode " + std::string(code.name) + ", moving average"});
  });
  return sources;
}

const std::vector<Source>& sources() {
  static const std::vector<Source> all = all_sources();
  return all;
}

std::string reduction_of_4(const std::string& code) {
  return "reduce " + code + " of 4";
}

/// Kernels that make up one of a plan's together with others.
constexpr std::array<const char*, 3> sums_of_others = {"subtract_message, 1 %", "clear_kept, 1 %",
                                                       "reduce sign of 64"};

double timing_of(const Timings& timings, const std::string& name) {
  const auto found = timings.find(name);
  if (found == timings.end()) {
    throw std::logic_error(std::string("kadam-plan: kadam-bench has no kernel '") + name + "' any more");
  }
  return found->second;
}

/// A chunk costs n r + p per element: the sum of n messages and the code of the reply.
void set_reductions(const Timings& timings, plan::KernelCosts& costs) {
  const double of_4 = timing_of(timings, reduction_of_4("sign"));
  const double of_64 = timing_of(timings, "reduce sign of 64");
  const double sign = std::max(0.0, (of_64 - of_4) / 60.0);
  const double reply = std::max(0.0, of_4 - 4.0 * sign);
  for_each_code([&](const auto& code) {
    const double per_message = (timing_of(timings, reduction_of_4(std::string(code.name))) - reply) / 4.0;
    costs.set(cost::reduce(code.name, code.bits), std::max(sign, per_message));
  });
  costs.set(cost::reply, reply);
}

bool is_wanted(const std::string& name) {
  const std::vector<std::string> codes = code_names();
  return std::find(sums_of_others.begin(), sums_of_others.end(), name) != sums_of_others.end() ||
         std::any_of(codes.begin(), codes.end(),
                     [&](const std::string& code) { return reduction_of_4(code) == name; }) ||
         std::any_of(sources().begin(), sources().end(),
                     [&](const Source& source) { return source.name == name; });
}

std::vector<bench::KernelCase> wanted_cases(const bench::Vectors& vectors) {
  std::vector<bench::KernelCase> cases;
  for (auto& list : {bench::limit_cases(vectors), bench::dense_cases(vectors), bench::lamb_cases(vectors),
                     bench::codec_cases(vectors), bench::loco_cases(vectors), bench::sparse_cases(vectors),
                     bench::low_rank_cases(vectors), bench::spectral_cases(vectors)}) {
    std::copy_if(list.begin(), list.end(), std::back_inserter(cases),
                 [](const bench::KernelCase& one) { return is_wanted(one.kernel); });
  }
  return cases;
}

}  // namespace

plan::KernelCosts costs_of(const Timings& timings) {
  plan::KernelCosts costs;
  for (const Source& source : sources())
    costs.set(source.kernel, timing_of(timings, source.name) / source.elements);
  const double came_back =
      timing_of(timings, "subtract_message, 1 %") + timing_of(timings, "clear_kept, 1 %");
  costs.set(cost::sparse_apply, came_back / percent);
  set_reductions(timings, costs);
  costs.take_others_as(cost::scale);
  return costs;
}

plan::KernelCosts measure_kernels(Communicator& communicator, int ranks_on_node) {
  constexpr std::int64_t longest = std::int64_t{1} << 22;
  constexpr std::int64_t shortest = std::int64_t{1} << 20;
  const bench::Vectors vectors(std::clamp(2 * longest / ranks_on_node, shortest, longest));
  const std::vector<bench::KernelCase> cases = wanted_cases(vectors);
  const auto measured = bench::measure(cases, repetitions, [](int) {});
  std::vector<double> seconds;
  seconds.reserve(cases.size());
  for (std::size_t k = 0; k < cases.size(); ++k) {
    seconds.push_back(measured[k].median / static_cast<double>(cases[k].elements));
  }
  const std::vector<double> all = communicator.all_gather_values(seconds);
  Timings timings;
  for (std::size_t k = 0; k < all.size(); ++k) {
    timings[cases[k % cases.size()].kernel] += all[k] / communicator.size();
  }
  return costs_of(timings);
}

}  // namespace kadam::plan_program
