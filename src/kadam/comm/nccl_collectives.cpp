// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/comm/communicator.hpp>
#include <kadam/comm/device_event.hpp>
#include <kadam/comm/node_collectives.hpp>
#include <kadam/comm/patience.hpp>

#include <array>
#include <cstring>
#include <exception>
#include <nccl.h>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

namespace kadam {
namespace {

void require_nccl_success(ncclResult_t status, const char* call) {
  if (status == ncclSuccess) return;
  throw std::runtime_error(std::string(call) + " failed: " + ncclGetErrorString(status));
}

void require_cuda_success(cudaError_t status, const char* call) {
  if (status == cudaSuccess) return;
  throw std::runtime_error(std::string(call) + " failed: " + cudaGetErrorString(status));
}

ncclDataType_t type_of(NumberFormat format) {
  switch (format) {
    case NumberFormat::bfloat16:
      return ncclBfloat16;
    case NumberFormat::float16:
      return ncclFloat16;
    default:
      return ncclFloat32;
  }
}

/// Whether each rank has a device to itself: the same answer on all ranks. NCCL accepts only one rank per
/// device, and hangs if only some ranks notice that they share one.
bool have_a_device_each(Communicator& ranks, int device) {
  std::array<char, 32> bus{};
  require_cuda_success(cudaDeviceGetPCIBusId(bus.data(), static_cast<int>(bus.size()), device),
                       "cudaDeviceGetPCIBusId");
  // "00000000:3B:00.0", as numbers that can be gathered.
  std::array<double, bus.size() / sizeof(double)> own{};
  std::memcpy(own.data(), bus.data(), bus.size());
  const std::vector<double> all = ranks.all_gather_values(own);
  std::set<std::string> devices;
  for (std::size_t r = 0; r < all.size(); r += own.size()) {
    devices.emplace(reinterpret_cast<const char*>(&all[r]), bus.size());
  }
  return devices.size() == static_cast<std::size_t>(ranks.size());
}

/// The identity of the new NCCL communicator, which rank 0 draws.
ncclUniqueId common_id(Communicator& ranks) {
  std::array<double, sizeof(ncclUniqueId) / sizeof(double)> own{};
  if (ranks.rank() == 0) {
    ncclUniqueId drawn;
    require_nccl_success(ncclGetUniqueId(&drawn), "ncclGetUniqueId");
    std::memcpy(own.data(), &drawn, sizeof(drawn));
  }
  const std::vector<double> all = ranks.all_gather_values(own);
  ncclUniqueId id;
  std::memcpy(&id, all.data(), sizeof(id));
  return id;
}

class NcclCollectives final : public NodeCollectives {
 public:
  NcclCollectives(Communicator& ranks, const ncclUniqueId& id) : rank_(ranks.rank()) {
    require_nccl_success(ncclCommInitRank(&communicator_, ranks.size(), id, rank_), "ncclCommInitRank");
  }
  /// While an exception is on its way, other ranks may be gone: then it waits for none of them.
  ~NcclCollectives() override {
    if (communicator_ == nullptr) return;
    if (std::uncaught_exceptions() > exceptions_) {
      ncclCommAbort(communicator_);
    } else {
      ncclCommDestroy(communicator_);
    }
  }

  [[nodiscard]] std::string name() const override { return "NCCL"; }

  /// Pieces differ in length, so it makes a reduction to each owner instead of one reduce-scatter.
  void mean_to_owners(const ExecutionSpace& exec, NumberFormat format, const std::byte* values,
                      std::span<const Piece> pieces, std::byte* out) override {
    require_peers();
    const std::size_t number_bytes = bytes_per_number(format);
    require_nccl_success(ncclGroupStart(), "ncclGroupStart");
    for (std::size_t r = 0; r < pieces.size(); ++r) {
      if (pieces[r].bytes == 0) continue;
      require_nccl_success(
          ncclReduce(values + pieces[r].offset_bytes, static_cast<int>(r) == rank_ ? out : nullptr,
                     pieces[r].bytes / number_bytes, type_of(format), ncclAvg, static_cast<int>(r),
                     communicator_, exec.cuda_stream()),
          "ncclReduce");
    }
    require_nccl_success(ncclGroupEnd(), "ncclGroupEnd");
    enqueued_.record(exec);
  }

  void gather(const ExecutionSpace& exec, std::byte* buffer, std::span<const Piece> pieces) override {
    require_peers();
    require_nccl_success(ncclGroupStart(), "ncclGroupStart");
    for (std::size_t r = 0; r < pieces.size(); ++r) {
      if (pieces[r].bytes == 0) continue;
      std::byte* const piece = buffer + pieces[r].offset_bytes;
      require_nccl_success(ncclBroadcast(piece, piece, pieces[r].bytes, ncclUint8, static_cast<int>(r),
                                         communicator_, exec.cuda_stream()),
                           "ncclBroadcast");
    }
    require_nccl_success(ncclGroupEnd(), "ncclGroupEnd");
    enqueued_.record(exec);
  }

  void require_peers() override {
    if (failure_.empty()) {
      ncclResult_t state = ncclSuccess;
      require_nccl_success(ncclCommGetAsyncError(communicator_, &state), "ncclCommGetAsyncError");
      if (state == ncclSuccess || state == ncclInProgress) return;
      failure_ = std::string("kadam: NCCL gave up an exchange inside the node: ") + ncclGetErrorString(state);
#if NCCL_VERSION_CODE >= 21300
      failure_ += std::string(" (") + ncclGetLastError(communicator_) + ")";
#endif
      ncclCommAbort(communicator_);
      communicator_ = nullptr;
    }
    throw std::runtime_error(failure_);
  }

  void settle() override {
    for (const Patience patience = patience_of_program(); !enqueued_.is_reached(); patience())
      require_peers();
    require_peers();
  }

 private:
  int rank_;
  ncclComm_t communicator_ = nullptr;
  DeviceEvent enqueued_;  ///< a mark behind the work of the last call
  std::string failure_;   ///< if not empty, the communicator is gone
  int exceptions_ = std::uncaught_exceptions();
};

}  // namespace

std::unique_ptr<NodeCollectives> make_nccl_collectives(Communicator& ranks) {
  const int device = ExecutionSpace().cuda_device();
  if (!have_a_device_each(ranks, device)) return nullptr;
  require_cuda_success(cudaSetDevice(device), "cudaSetDevice");
  return std::make_unique<NcclCollectives>(ranks, common_id(ranks));
}

}  // namespace kadam
