// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/comm/transport.hpp>

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace kadam {
namespace detail {

/// Throws MpiError unless status is MPI_SUCCESS.
void require_mpi_success(int status, const char* call);

}  // namespace detail

/// Messages by non-blocking sends and receives on one MPI communicator.
///
/// MPI counts bytes with an int: a longer message travels as several, of at most `largest_bytes` each.
class MpiMessages final : public Messages {
 public:
  /// How progress() waits: a stream of messages busily, see Patience.
  enum class Waits : std::uint8_t { busily, with_naps };

  /// The communicator has to outlive this object, and so has gave_up, which becomes true where something is
  /// given up. 0 < largest_bytes <= 2^31 - 1.
  MpiMessages(MPI_Comm communicator, std::size_t largest_bytes, Waits waits, bool& gave_up);
  ~MpiMessages() override;

  void send(int to, int tag, const std::byte* data, std::size_t bytes, SendMode mode,
            std::size_t id) override;
  void receive(int from, int tag, std::byte* data, std::size_t bytes, std::size_t id) override;
  void receive_any(int from, std::byte* data, std::size_t bytes, std::size_t id) override;
  void progress(Seconds patience, Done& done) override;
  [[nodiscard]] std::size_t sending() const override { return sending_; }
  [[nodiscard]] std::size_t receiving() const override { return receiving_; }
  void give_up() override;

 private:
  /// What one request carries: a part of a message.
  struct Part {
    bool is_receive = false;
    std::size_t id = 0;
  };
  void start(const Part& part, const MPI_Request& request);
  /// Whether any request was finished.
  [[nodiscard]] bool take_finished(Done& done);
  void finish(int place, const MPI_Status& status, Done& done);
  void forget_finished();

  MPI_Comm communicator_;
  std::size_t largest_bytes_;
  Waits waits_;
  bool& gave_up_;
  std::vector<MPI_Request> requests_;
  std::vector<Part> parts_;                 ///< of requests_
  std::vector<int> finished_;               ///< places in requests_
  std::vector<MPI_Status> statuses_;        ///< of finished_
  std::vector<std::size_t> parts_missing_;  ///< of a message that is received, by its id
  std::size_t sending_ = 0;
  std::size_t receiving_ = 0;
};

}  // namespace kadam

/// One line per call site, so that the message names the call.
#define KADAM_MPI(call) ::kadam::detail::require_mpi_success(call, #call)
