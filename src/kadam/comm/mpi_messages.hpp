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

/// Throws unless status is MPI_SUCCESS: MpiError, or PeerFailure if MPI reports that a rank has failed. call:
/// the text of the MPI call, for the message.
void require_mpi_success(int status, const char* call);

}  // namespace detail

/// Messages by non-blocking sends and receives on one MPI communicator.
///
/// MPI counts bytes with an int: a longer message travels as several, of at most `largest_bytes` each.
class MpiMessages final : public Messages {
 public:
  /// How progress() waits: busily, for a stream of messages, or with naps between its questions; see
  /// Patience.
  enum class Waits : std::uint8_t { busily, with_naps };

  /// largest_bytes: 0 < largest_bytes <= 2^31 - 1. gave_up: set to true if give_up() drops messages that are
  /// not done. The communicator and gave_up have to outlive this object.
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
  /// The contents of one request: a part of a message.
  struct Part {
    bool is_receive = false;
    std::size_t id = 0;
  };
  void start(const Part& part, const MPI_Request& request);
  /// Adds to `done` each receive whose last request is finished, and each finished part of a send. Returns
  /// whether any request was finished.
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
  std::vector<std::size_t> parts_missing_;  ///< of each receive, by its id
  std::size_t sending_ = 0;
  std::size_t receiving_ = 0;
};

}  // namespace kadam

/// Makes an MPI call and throws if it fails. A macro, so that the message gives the text of the call.
#define KADAM_MPI(call) ::kadam::detail::require_mpi_success(call, #call)
