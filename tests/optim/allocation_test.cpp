// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/comm/mpi_communicator.hpp>
#include <kadam/optim/make_optimizer.hpp>

#include <Kokkos_Core.hpp>

#include <gtest/gtest.h>

#include <string>
#include <support/host_views.hpp>
#include <support/random_vectors.hpp>
#include <support/smallest_options.hpp>
#include <vector>

/// What a Kokkos Tools library would see of a step: labels, and no allocation after the first.
namespace kadam {
namespace {

std::vector<std::string> allocations;
std::vector<std::string> kernels;

void record_allocation(Kokkos::Tools::SpaceHandle /*space*/, const char* label, const void* /*data*/,
                       std::uint64_t /*size*/) {
  allocations.emplace_back(label);
}

void record_kernel(const char* label, std::uint32_t /*device*/, std::uint64_t* /*id*/) {
  kernels.emplace_back(label);
}

class Tools {
 public:
  Tools() {
    allocations.clear();
    kernels.clear();
    Kokkos::Tools::Experimental::set_allocate_data_callback(record_allocation);
    Kokkos::Tools::Experimental::set_begin_parallel_for_callback(record_kernel);
    Kokkos::Tools::Experimental::set_begin_parallel_reduce_callback(record_kernel);
  }
  ~Tools() {
    Kokkos::Tools::Experimental::set_allocate_data_callback(nullptr);
    Kokkos::Tools::Experimental::set_begin_parallel_for_callback(nullptr);
    Kokkos::Tools::Experimental::set_begin_parallel_reduce_callback(nullptr);
  }
  Tools(const Tools&) = delete;
  Tools& operator=(const Tools&) = delete;
};

/// The options of an optimizer, and those with other buffers.
std::vector<OptionMap> option_sets(const std::string& name) {
  const OptionMap options = test::options_with_warmup(name, 3);
  std::vector<OptionMap> sets = {options};
  for (const OptionHelp& option : optimizer_options(name)) {
    if (option.name != "exchange") continue;
    for (const std::int64_t select_block : {64, 0}) {
      sets.push_back(options);
      sets.back()["exchange"] = std::string("owner");
      sets.back()["select_block"] = select_block;
    }
  }
  return sets;
}

class AllocationTest : public testing::TestWithParam<std::tuple<std::string, Staging>> {
 protected:
  static void run(const std::string& name, const OptionMap& options, Staging staging);
};

void AllocationTest::run(const std::string& name, const OptionMap& options, Staging staging) {
  const auto communicator = make_mpi_communicator(MPI_COMM_WORLD, staging);
  const std::int64_t d = 150000;  // two ranks: a region of a block that is long enough for LargeTopK
  const TensorLayout layout({{"a", 0, 100}, {"b", 100, d}});
  const auto optimizer =
      make_optimizer(name, options, layout, communicator, {{.tensors = "a", .dense = true}});
  const auto parameters = test::to_device(test::random_vector(d, 2));
  std::vector<Vector<const float>> gradients;
  for (std::int64_t t = 1; t <= 8; ++t)
    gradients.push_back(test::to_device(test::random_gradient(d, communicator->rank(), t)));
  const ExecutionSpace exec;
  optimizer->step(exec, parameters, gradients[0]);
  const Tools tools;
  for (std::size_t t = 1; t < gradients.size(); ++t) optimizer->step(exec, parameters, gradients[t]);
  exec.fence();
  EXPECT_EQ(allocations, std::vector<std::string>{});
  EXPECT_FALSE(kernels.empty());
  for (const std::string& kernel : kernels) {
    EXPECT_TRUE(kernel.starts_with("kadam::") || kernel.starts_with("Kokkos::")) << kernel;
  }
}

TEST_P(AllocationTest, NothingIsAllocatedAfterTheFirstStepAndEveryKernelIsLabelled) {
  const auto& [name, staging] = GetParam();
  for (const OptionMap& options : option_sets(name)) run(name, options, staging);
}

INSTANTIATE_TEST_SUITE_P(AllOptimizers, AllocationTest,
                         testing::Combine(testing::ValuesIn(optimizer_names()),
                                          testing::Values(Staging::automatic, Staging::always)),
                         [](const auto& test_info) {
                           return std::get<0>(test_info.param) +
                                  (std::get<1>(test_info.param) == Staging::always ? "_staged" : "");
                         });

}  // namespace
}  // namespace kadam
