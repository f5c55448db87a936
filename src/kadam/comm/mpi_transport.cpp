// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/comm/mpi_communicator.hpp>
#include <kadam/comm/mpi_error.hpp>
#include <kadam/comm/transport.hpp>

#include <limits>
#include <string>
#include <utility>
#include <vector>

#if defined(OPEN_MPI)
#include <mpi-ext.h>
#endif

namespace kadam {
namespace {

void check(int status, const char* call) {
  if (status == MPI_SUCCESS) return;
  std::string text(MPI_MAX_ERROR_STRING, '\0');
  int length = 0;
  MPI_Error_string(status, text.data(), &length);
  text.resize(static_cast<std::size_t>(length));
  throw MpiError(std::string(call) + " failed: " + text);
}

// One line per call site, so that the message names the call.
#define KADAM_MPI(call) check(call, #call)

int to_count(std::size_t bytes) {
  if (bytes > static_cast<std::size_t>(std::numeric_limits<int>::max())) {
    throw MpiError(
        "kadam: a message of " + std::to_string(bytes) +
        " bytes is longer than MPI's int counts can say (2147483647): use more ranks or smaller vectors");
  }
  return static_cast<int>(bytes);
}

bool library_is_device_aware() {
#if defined(MPIX_CUDA_AWARE_SUPPORT) && defined(KOKKOS_ENABLE_CUDA)
  return MPIX_Query_cuda_support() == 1;
#elif defined(MPIX_ROCM_AWARE_SUPPORT) && defined(KOKKOS_ENABLE_HIP)
  return MPIX_Query_rocm_support() == 1;
#else
  return false;
#endif
}

class MpiTransport final : public Transport {
 public:
  explicit MpiTransport(MPI_Comm communicator) {
    require_running();
    if (communicator == MPI_COMM_NULL) {
      throw MpiError("kadam::make_mpi_communicator: expected a communicator, got MPI_COMM_NULL");
    }
    KADAM_MPI(MPI_Comm_dup(communicator, &communicator_));
    KADAM_MPI(MPI_Comm_set_errhandler(communicator_, MPI_ERRORS_RETURN));
    KADAM_MPI(MPI_Comm_rank(communicator_, &rank_));
    KADAM_MPI(MPI_Comm_size(communicator_, &size_));
    const auto ranks = static_cast<std::size_t>(size_);
    for (auto* list : {&send_counts_, &send_offsets_, &receive_counts_, &receive_offsets_})
      list->resize(ranks);
  }

  ~MpiTransport() override {
    int finalized = 0;
    MPI_Finalized(&finalized);
    if (finalized == 0) MPI_Comm_free(&communicator_);
  }

  [[nodiscard]] int rank() const override { return rank_; }
  [[nodiscard]] int size() const override { return size_; }
  [[nodiscard]] bool accepts_device_memory() const override { return library_is_device_aware(); }
  [[nodiscard]] std::string description() const override {
    return "MPI, " + std::to_string(size_) + (size_ == 1 ? " rank" : " ranks");
  }

  void all_to_all(const std::byte* send, std::span<const Piece> send_pieces, std::byte* receive,
                  std::span<const Piece> receive_pieces) override {
    fill(send_pieces, send_counts_, send_offsets_);
    fill(receive_pieces, receive_counts_, receive_offsets_);
    KADAM_MPI(MPI_Alltoallv(send, send_counts_.data(), send_offsets_.data(), MPI_BYTE, receive,
                            receive_counts_.data(), receive_offsets_.data(), MPI_BYTE, communicator_));
  }

  void all_gather(std::byte* buffer, std::span<const Piece> pieces) override {
    fill(pieces, receive_counts_, receive_offsets_);
    KADAM_MPI(MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, buffer, receive_counts_.data(),
                             receive_offsets_.data(), MPI_BYTE, communicator_));
  }

  void all_reduce_sum(float* values, std::size_t count) override {
    KADAM_MPI(MPI_Allreduce(MPI_IN_PLACE, values, to_count(count), MPI_FLOAT, MPI_SUM, communicator_));
  }

 private:
  static void require_running() {
    int initialized = 0;
    int finalized = 0;
    MPI_Initialized(&initialized);
    MPI_Finalized(&finalized);
    if (initialized == 0 || finalized != 0) {
      throw MpiError(
          "kadam::make_mpi_communicator: MPI is not running: call MPI_Init_thread before, and "
          "MPI_Finalize after the last Kadam object is gone");
    }
  }

  static void fill(std::span<const Piece> pieces, std::vector<int>& counts, std::vector<int>& offsets) {
    for (std::size_t r = 0; r < pieces.size(); ++r) {
      counts[r] = to_count(pieces[r].bytes);
      offsets[r] = to_count(pieces[r].offset_bytes);
    }
  }

  MPI_Comm communicator_ = MPI_COMM_NULL;
  int rank_ = 0;
  int size_ = 1;
  std::vector<int> send_counts_;
  std::vector<int> send_offsets_;
  std::vector<int> receive_counts_;
  std::vector<int> receive_offsets_;
};

}  // namespace

std::shared_ptr<Communicator> make_mpi_communicator(MPI_Comm communicator, Staging staging) {
  return std::make_shared<Communicator>(std::make_unique<MpiTransport>(communicator), staging);
}

}  // namespace kadam
