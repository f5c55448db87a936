// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/comm/staging_pool.hpp>

#include <algorithm>

namespace kadam {

StagingPool::StagingPool(int ranks, std::size_t longest_bytes)
    : slots_(depth * static_cast<std::size_t>(ranks - 1)),
      slot_bytes_(std::min(longest_bytes, std::max(most_bytes_each_way / slots_, least_slot_bytes))) {}

void StagingPool::allocate() {
  if (memory_.is_allocated()) return;
  memory_ = Bytes(Kokkos::view_alloc(Kokkos::WithoutInitializing, "kadam::StagingPool"), bytes());
  sends_.resize(slots_);
  receives_.resize(slots_);
  for (std::size_t k = 0; k < slots_; ++k) {
    sends_[k].data = memory_.data() + k * slot_bytes_;
    receives_[k].data = memory_.data() + (slots_ + k) * slot_bytes_;
  }
  if constexpr (!kernels_run_on_host) {
    instances_ = Kokkos::Experimental::partition_space(ExecutionSpace(), std::vector<int>{1, 1});
  }
}

const ExecutionSpace& StagingPool::to_host(const ExecutionSpace& exec) const {
  return instances_.empty() ? exec : instances_[0];
}

const ExecutionSpace& StagingPool::to_device(const ExecutionSpace& exec) const {
  return instances_.empty() ? exec : instances_[1];
}

}  // namespace kadam
