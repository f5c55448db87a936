// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/comm/exchange.hpp>
#include <kadam/comm/gathers.hpp>
#include <kadam/comm/launcher.hpp>
#include <kadam/comm/mpi_communicator.hpp>
#include <kadam/comm/mpi_messages.hpp>

#include <algorithm>
#include <limits>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#if defined(OPEN_MPI)
#include <mpi-ext.h>
#endif

namespace kadam {
namespace {

int to_count(std::size_t count) {
  if (count > static_cast<std::size_t>(std::numeric_limits<int>::max())) {
    throw MpiError("kadam: one call of MPI sums at most 2147483647 numbers, got " + std::to_string(count) +
                   ": use a shorter vector");
  }
  return static_cast<int>(count);
}

void require_running() {
  int initialized = 0;
  int finalized = 0;
  MPI_Initialized(&initialized);
  MPI_Finalized(&finalized);
  if (initialized == 0 || finalized != 0) {
    throw MpiError(
        "kadam::make_mpi_communicator: MPI is not running: call MPI_Init_thread first, and "
        "MPI_Finalize only after the last Kadam object is gone");
  }
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

static_assert(2 * Exchange::most_numbers <= 32767, "MPI promises no tag above");

/// The MPI communicators that were made from one another: a failure ends all of them together.
class MpiFamily {
 public:
  /// Whether MPI tolerates faults and was started to do so.
  [[nodiscard]] static bool tolerates_faults() {
#ifdef OMPI_HAVE_MPI_EXT_FTMPI
    int* is_enabled = nullptr;
    int is_known = 0;
    KADAM_MPI(MPI_Comm_get_attr(MPI_COMM_WORLD, MPIX_FT, static_cast<void*>(&is_enabled), &is_known));
    return is_known != 0 && *is_enabled != 0;
#else
    return false;
#endif
  }

  void add(MPI_Comm one) {
    members_.push_back(one);
  }
  void remove(MPI_Comm one) {
    std::erase(members_, one);
  }
  [[nodiscard]] bool is_revoked() const {
    return is_revoked_;
  }
  void revoke() {
    is_revoked_ = true;
#ifdef OMPI_HAVE_MPI_EXT_FTMPI
    for (const MPI_Comm one : members_) MPIX_Comm_revoke(one);
#endif
  }

 private:
  std::vector<MPI_Comm> members_;
  bool is_revoked_ = false;
};

/// Owns an MPI communicator, and a second one of the same ranks for all-gathers: a receive that takes any tag
/// must not take their messages.
class MpiTransport final : public Transport {
 public:
  MpiTransport(MPI_Comm own, std::size_t largest_message_bytes, std::shared_ptr<MpiFamily> family)
      : communicator_(own), largest_message_bytes_(largest_message_bytes), family_(std::move(family)) {
    KADAM_MPI(MPI_Comm_set_errhandler(communicator_, MPI_ERRORS_RETURN));
    KADAM_MPI(MPI_Comm_dup(communicator_, &gathers_));  // with the same way to report errors
    family_->add(communicator_);
    family_->add(gathers_);
    KADAM_MPI(MPI_Comm_rank(communicator_, &rank_));
    KADAM_MPI(MPI_Comm_size(communicator_, &size_));
  }

  /// Does not free a communicator on which messages were given up: MPI may give its identity to the next one
  /// (MPICH does), which would receive these messages. Nor one that was revoked: MPI_Comm_free() would wait
  /// for ranks that are gone.
  ~MpiTransport() override {
    int finalized = 0;
    MPI_Finalized(&finalized);
    family_->remove(gathers_);
    family_->remove(communicator_);
    if (finalized != 0 || gave_up_ || family_->is_revoked()) return;
    MPI_Comm_free(&gathers_);
    MPI_Comm_free(&communicator_);
  }

  [[nodiscard]] int rank() const override { return rank_; }
  [[nodiscard]] int size() const override { return size_; }
  [[nodiscard]] bool accepts_device_memory() const override { return library_is_device_aware(); }
  [[nodiscard]] bool allows_threads() const override {
    int provided = MPI_THREAD_SINGLE;
    KADAM_MPI(MPI_Query_thread(&provided));
    return provided == MPI_THREAD_MULTIPLE;
  }
  [[nodiscard]] std::size_t longest_message_bytes() const override { return largest_message_bytes_; }
  [[nodiscard]] std::string description() const override {
    return "MPI, " + std::to_string(size_) + (size_ == 1 ? " rank" : " ranks");
  }

  [[nodiscard]] std::unique_ptr<Messages> messages() override {
    return std::make_unique<MpiMessages>(communicator_, largest_message_bytes_, MpiMessages::Waits::busily,
                                         gave_up_);
  }

  /// Not MPI_Allgather: a wait for that would keep a core busy.
  bool all_gather(std::byte* all, std::size_t bytes, Seconds patience) override {
    MpiMessages messages(gathers_, largest_message_bytes_, MpiMessages::Waits::with_naps, gave_up_);
    return gather_by_messages(messages, rank_, size_, all, bytes, patience, gathered_);
  }

  std::vector<int> missing_ranks(Seconds patience) override {
    MpiMessages messages(gathers_, largest_message_bytes_, MpiMessages::Waits::with_naps, gave_up_);
    return call_roll(messages, rank_, size_, patience);
  }

  void all_reduce_sum(float* values, std::size_t count) override {
    KADAM_MPI(MPI_Allreduce(MPI_IN_PLACE, values, to_count(count), MPI_FLOAT, MPI_SUM, communicator_));
  }

  [[nodiscard]] std::unique_ptr<Transport> duplicate() override {
    MPI_Comm copy = MPI_COMM_NULL;
    KADAM_MPI(MPI_Comm_dup(communicator_, &copy));
    return std::make_unique<MpiTransport>(copy, largest_message_bytes_, family_);
  }

  [[nodiscard]] std::unique_ptr<Transport> split(int colour) override {
    MPI_Comm part = MPI_COMM_NULL;
    KADAM_MPI(MPI_Comm_split(communicator_, colour, rank_, &part));
    return std::make_unique<MpiTransport>(part, largest_message_bytes_, family_);
  }

  [[nodiscard]] std::unique_ptr<Transport> split_by_node() override {
    MPI_Comm node = MPI_COMM_NULL;
    KADAM_MPI(MPI_Comm_split_type(communicator_, MPI_COMM_TYPE_SHARED, rank_, MPI_INFO_NULL, &node));
    return std::make_unique<MpiTransport>(node, largest_message_bytes_, family_);
  }

  [[nodiscard]] bool survives_failures() const override { return MpiFamily::tolerates_faults(); }
  void revoke() override { family_->revoke(); }
  [[nodiscard]] std::unique_ptr<Transport> shrink() override {
    revoke();
    // In each attempt one more rank may fail.
    for (int attempt = 1;; ++attempt) {
      try {
        MPI_Comm left = MPI_COMM_NULL;
#ifdef OMPI_HAVE_MPI_EXT_FTMPI
        KADAM_MPI(MPIX_Comm_shrink(communicator_, &left));
#endif
        return std::make_unique<MpiTransport>(left, largest_message_bytes_, std::make_shared<MpiFamily>());
      } catch (const PeerFailure&) {
        if (attempt >= size_) throw;
      }
    }
  }

 private:
  MPI_Comm communicator_;
  MPI_Comm gathers_ = MPI_COMM_NULL;
  std::size_t largest_message_bytes_;
  std::shared_ptr<MpiFamily> family_;
  bool gave_up_ = false;
  int rank_ = 0;
  int size_ = 1;
  std::vector<std::byte> gathered_;
};

}  // namespace

std::shared_ptr<Communicator> make_mpi_communicator(MPI_Comm communicator, const MpiOptions& options) {
  require_running();
  if (communicator == MPI_COMM_NULL) {
    throw MpiError("kadam::make_mpi_communicator: expected a communicator, got MPI_COMM_NULL");
  }
  constexpr const char* remedy =
      "start the program with the mpirun of the MPI it was built with, or with srun --mpi=pmix (Open MPI) "
      "or srun --mpi=pmi2 (MPICH); with allow_alone each task trains alone";
  constexpr auto most_bytes = static_cast<std::size_t>(std::numeric_limits<int>::max());
  if (options.largest_message_bytes == 0 || options.largest_message_bytes > most_bytes) {
    throw std::invalid_argument(
        "kadam::make_mpi_communicator: expected largest_message_bytes from 1 to 2147483647, got " +
        std::to_string(options.largest_message_bytes));
  }
  int ranks_of_all = 1;
  KADAM_MPI(MPI_Comm_size(MPI_COMM_WORLD, &ranks_of_all));
  if (ranks_of_all == 1 && !options.allow_alone) refuse_to_be_alone("MPI sees one rank in each", remedy);
  MPI_Comm own = MPI_COMM_NULL;
  KADAM_MPI(MPI_Comm_dup(communicator, &own));
  auto made = std::make_shared<Communicator>(
      std::make_unique<MpiTransport>(own, options.largest_message_bytes, std::make_shared<MpiFamily>()),
      options.exchange);
  made->form_levels(options.ranks_per_node);
  return made;
}

}  // namespace kadam
