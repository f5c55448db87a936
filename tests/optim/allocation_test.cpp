// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/comm/mpi_communicator.hpp>
#include <kadam/optim/make_optimizer.hpp>
#include <support/gradients.hpp>
#include <support/host_views.hpp>
#include <support/mpi_options.hpp>
#include <support/mpi_world.hpp>
#include <support/random_vectors.hpp>
#include <support/smallest_options.hpp>

#include <Kokkos_Core.hpp>

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

/// What a Kokkos Tools library would see: labels, instances, regions, few fences, no allocation after the
/// first step, and how much is held.
namespace kadam::allocation_test {
namespace {

std::vector<std::string> allocations;
std::vector<std::string> kernels;
std::set<std::uint32_t> devices;  ///< that kernels ran on: execution spaces and their instances
std::set<std::string> regions;
std::map<std::string, int> fences;  ///< how often, by label
int open_regions = 0;

/// Kokkos' own scratch memory grows with the first kernels of an instance.
bool is_of_kokkos(const char* label) {
  return std::string_view(label).starts_with("Kokkos::");
}

/// Of a device: what the host looks at once, at the end of a warm-up, may have a place there.
bool is_where_kernels_run(const Kokkos::Tools::SpaceHandle& space) {
  return kernels_run_on_host || std::string_view(space.name) != Kokkos::HostSpace::name();
}

void record_allocation(Kokkos::Tools::SpaceHandle space, const char* label, const void* /*data*/,
                       std::uint64_t /*size*/) {
  if (!is_of_kokkos(label) && is_where_kernels_run(space)) allocations.emplace_back(label);
}

std::map<const void*, std::uint64_t> held;

void record_size(Kokkos::Tools::SpaceHandle /*space*/, const char* label, const void* data,
                 std::uint64_t size) {
  if (!is_of_kokkos(label)) held[data] = size;
}

void forget_size(Kokkos::Tools::SpaceHandle /*space*/, const char* /*label*/, const void* data,
                 std::uint64_t /*size*/) {
  held.erase(data);
}

/// Bytes of all Views that are alive and were made since.
class HeldBytes {
 public:
  HeldBytes() {
    held.clear();
    Kokkos::Tools::Experimental::set_allocate_data_callback(record_size);
    Kokkos::Tools::Experimental::set_deallocate_data_callback(forget_size);
  }
  ~HeldBytes() {
    Kokkos::Tools::Experimental::set_allocate_data_callback(nullptr);
    Kokkos::Tools::Experimental::set_deallocate_data_callback(nullptr);
  }
  HeldBytes(const HeldBytes&) = delete;
  HeldBytes& operator=(const HeldBytes&) = delete;

  [[nodiscard]] static std::uint64_t now() {
    std::uint64_t bytes = 0;
    for (const auto& [data, size] : held) bytes += size;
    return bytes;
  }
};

void record_kernel(const char* label, std::uint32_t device, std::uint64_t* /*id*/) {
  kernels.emplace_back(label);
  devices.insert(device);
}

void record_fence(const char* label, std::uint32_t /*device*/, std::uint64_t* /*id*/) {
  if (std::string_view(label).starts_with("kadam::")) ++fences[label];
}

void record_region(const char* label) {
  regions.insert(label);
  ++open_regions;
}

void forget_region() {
  --open_regions;
}

class Tools {
 public:
  Tools() {
    allocations.clear();
    kernels.clear();
    devices.clear();
    regions.clear();
    fences.clear();
    open_regions = 0;
    Kokkos::Tools::Experimental::set_allocate_data_callback(record_allocation);
    Kokkos::Tools::Experimental::set_begin_parallel_for_callback(record_kernel);
    Kokkos::Tools::Experimental::set_begin_parallel_reduce_callback(record_kernel);
    Kokkos::Tools::Experimental::set_begin_fence_callback(record_fence);
    Kokkos::Tools::Experimental::set_push_region_callback(record_region);
    Kokkos::Tools::Experimental::set_pop_region_callback(forget_region);
  }
  ~Tools() {
    Kokkos::Tools::Experimental::set_allocate_data_callback(nullptr);
    Kokkos::Tools::Experimental::set_begin_parallel_for_callback(nullptr);
    Kokkos::Tools::Experimental::set_begin_parallel_reduce_callback(nullptr);
    Kokkos::Tools::Experimental::set_begin_fence_callback(nullptr);
    Kokkos::Tools::Experimental::set_push_region_callback(nullptr);
    Kokkos::Tools::Experimental::set_pop_region_callback(nullptr);
  }
  Tools(const Tools&) = delete;
  Tools& operator=(const Tools&) = delete;
};

/// The options of an optimizer, and those with other buffers.
std::vector<OptionMap> option_sets(const std::string& name) {
  const OptionMap options = test::options_with_warmup(name, 3);
  std::vector<OptionMap> sets = {options, options};
  sets.back()["gradients"] = "bf16";
  for (const OptionHelp& option : optimizer_options(name)) {
    if (option.name == "variance_delay") {
      sets.push_back(options);
      sets.back()["variance_sync_interval"] = 2;
      sets.back()["variance_delay"] = 1;
    }
    if (option.name == "variance") {
      sets.push_back(options);
      sets.back()["variance"] = "factored";
      if (has_option(name, "variance_sync_interval")) sets.back()["variance_sync_interval"] = 2;
    }
    if (option.name == "round_delay") {
      for (const std::string code : {"sign", "none"}) {
        sets.push_back(options);
        sets.back()["code"] = code;
        sets.back()["sync_interval"] = 3;
        sets.back()["round_delay"] = 2;
      }
    }
    if (option.name == "warmup_code") {
      sets.push_back(options);
      sets.back()["warmup_code"] = "uniform8";
    }
    if (option.name == "shard_state") {
      sets.push_back(options);
      sets.back()["shard_state"] = true;
    }
    if (option.name == "errors") {
      sets.push_back(options);
      sets.back()["errors"] = "bf16";
    }
    if (option.name == "moments") {
      sets.push_back(options);
      sets.back()["moments"] = "8bit";
    }
    if (option.name == "value_bits") {
      sets.push_back(options);
      sets.back()["value_bits"] = 2;
    }
    if (option.name != "exchange") continue;
    for (const std::int64_t select_block : {64, 0}) {
      sets.push_back(options);
      sets.back()["exchange"] = "owner";
      sets.back()["select_block"] = select_block;
    }
  }
  return sets;
}

std::string format_of(const OptionMap& options) {
  return options.contains("gradients") ? std::get<std::string>(options.at("gradients")) : "float32";
}

class AllocationTest : public testing::TestWithParam<std::tuple<std::string, Staging>> {
 protected:
  static void run(const std::string& name, const OptionMap& options, Staging staging);
  static void compare_memory(const std::string& name, const OptionMap& options, Staging staging,
                             int ranks_per_node = 1);
};

void AllocationTest::run(const std::string& name, const OptionMap& options, Staging staging) {
  const auto communicator = make_mpi_communicator(MPI_COMM_WORLD, test::mpi_options(staging));
  const std::int64_t d = 150000;  // two ranks: a region of a block that is long enough for LargeTopK
  const TensorLayout layout({{"a", 0, 100}, {"b", 100, d, {1499, 100}}});
  const auto optimizer =
      make_optimizer(name, options, layout, communicator, {{.tensors = "a", .dense = true}});
  const auto parameters = test::to_device(test::random_vector(d, 2));
  const Parameters with_model(parameters, Vector<Bfloat16>("model", static_cast<std::size_t>(d)));
  std::vector<Gradient> gradients;
  for (std::int64_t t = 1; t <= 8; ++t) {
    gradients.push_back(
        test::to_gradient(format_of(options), test::random_gradient(d, communicator->rank(), t)));
  }
  // Not the default instance: what forgets to use the caller's is seen.
  const ExecutionSpace exec = Kokkos::Experimental::partition_space(ExecutionSpace(), 1).front();
  optimizer->step(exec, with_model, gradients[0]);
  const Tools tools;
  for (std::size_t t = 1; t < gradients.size(); ++t) {
    optimizer->gradient_ready(exec, gradients[t], {d / 3, d});
    optimizer->step(exec, with_model, gradients[t]);
  }
  exec.fence();
  EXPECT_EQ(allocations, std::vector<std::string>{});
  EXPECT_FALSE(kernels.empty());
  // Exchanges wait for nothing but messages and marks, however many pieces they have.
  const int steps = static_cast<int>(gradients.size()) - 1;
  for (const auto& [label, count] : fences) EXPECT_LE(count, 2 * steps) << label;
  EXPECT_EQ(devices, std::set{Kokkos::Tools::Experimental::device_id(exec)});
  EXPECT_EQ(open_regions, 0);
  EXPECT_TRUE(regions.contains("kadam::check"));
  EXPECT_TRUE(regions.contains("kadam::decode"));  // where parameters are updated
  const OptimizerTraits& traits = optimizer_traits(name);
  const bool compresses = !traits.dense && (!traits.shards || communicator->size() > 1);
  EXPECT_EQ(regions.contains("kadam::encode"), compresses);
  for (const std::string& kernel : kernels) {
    EXPECT_TRUE(kernel.starts_with("kadam::") || kernel.starts_with("Kokkos::")) << kernel;
  }
}

void AllocationTest::compare_memory(const std::string& name, const OptionMap& options, Staging staging,
                                    int ranks_per_node) {
  MpiOptions exchanges = {{staging}};
  exchanges.ranks_per_node = ranks_per_node;
  const auto communicator = make_mpi_communicator(MPI_COMM_WORLD, exchanges);
  const std::int64_t d = 150000;
  const TensorLayout layout({{"a", 0, 5000}, {"b", 5000, d, {290, 500}}});
  const auto parameters = test::to_device(test::random_vector(d, 2));
  const Gradient gradient =
      test::to_gradient(format_of(options), test::random_gradient(d, communicator->rank(), 1));
  const HeldBytes held_bytes;
  const auto optimizer =
      make_optimizer(name, options, layout, communicator, {{.tensors = "a", .dense = true}});
  for (int t = 0; t < 5; ++t) optimizer->step(ExecutionSpace{}, parameters, gradient);
  Kokkos::fence();
  const MemoryUse said = optimizer->memory();
  // Beside what grows with d: partial sums, a few numbers per tensor.
  const std::uint64_t least = said.state_bytes + said.workspace_bytes;
  EXPECT_GE(HeldBytes::now(), least);
  EXPECT_LE(HeldBytes::now(), least + 40000);
}

TEST_P(AllocationTest, HoldsTheMemoryThatItSays) {
  const auto& [name, staging] = GetParam();
  for (const OptionMap& options : option_sets(name)) compare_memory(name, options, staging);
  const bool has_nodes = test::divides_ranks(2);
  if (has_nodes && has_option(name, "shard_state")) compare_memory(name, {{"shard_state", true}}, staging, 2);
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
}  // namespace kadam::allocation_test
