// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/comm/communicator.hpp>
#include <kadam/comm/mpi_messages.hpp>
#include <kadam/comm/patience.hpp>

#include <algorithm>
#include <string>

#if defined(OPEN_MPI)
#include <mpi-ext.h>
#endif

namespace kadam {
namespace {

/// Calls part(offset, count) for each part of a message, at least once. Both ends cut a message in the same
/// places.
template <class Function>
void for_each_part(std::size_t bytes, std::size_t largest, const Function& part) {
  std::size_t offset = 0;
  do {
    const std::size_t count = std::min(bytes - offset, largest);
    part(offset, static_cast<int>(count));
    offset += count;
  } while (offset < bytes);
}

}  // namespace

void detail::require_mpi_success(int status, const char* call) {
  if (status == MPI_SUCCESS) return;
  std::string text(MPI_MAX_ERROR_STRING, '\0');
  int length = 0;
  MPI_Error_string(status, text.data(), &length);
  text.resize(static_cast<std::size_t>(length));
  text = std::string(call) + " failed: " + text;
#ifdef OMPI_HAVE_MPI_EXT_FTMPI
  int error_class = MPI_SUCCESS;
  MPI_Error_class(status, &error_class);
  if (error_class == MPIX_ERR_PROC_FAILED || error_class == MPIX_ERR_PROC_FAILED_PENDING ||
      error_class == MPIX_ERR_REVOKED)
    throw PeerFailure("a rank has failed, or another rank has reported a failure: " + text);
#endif
  throw MpiError(text);
}

MpiMessages::MpiMessages(MPI_Comm communicator, std::size_t largest_bytes, Waits waits, bool& gave_up)
    : communicator_(communicator), largest_bytes_(largest_bytes), waits_(waits), gave_up_(gave_up) {}

MpiMessages::~MpiMessages() {
  int finalized = 0;
  MPI_Finalized(&finalized);
  if (finalized == 0) MpiMessages::give_up();
}

void MpiMessages::start(const Part& part, const MPI_Request& request) {
  requests_.push_back(request);
  parts_.push_back(part);
}

void MpiMessages::send(int to, int tag, const std::byte* data, std::size_t bytes, SendMode mode,
                       std::size_t id) {
  const auto start_send = mode == SendMode::synchronous ? MPI_Issend : MPI_Isend;
  for_each_part(bytes, largest_bytes_, [&](std::size_t offset, int count) {
    MPI_Request request = MPI_REQUEST_NULL;
    KADAM_MPI(start_send(data + offset, count, MPI_BYTE, to, tag, communicator_, &request));
    start({false, id}, request);
    ++sending_;
  });
}

void MpiMessages::receive(int from, int tag, std::byte* data, std::size_t bytes, std::size_t id) {
  if (parts_missing_.size() <= id) parts_missing_.resize(id + 1, 0);
  ++receiving_;
  for_each_part(bytes, largest_bytes_, [&](std::size_t offset, int count) {
    MPI_Request request = MPI_REQUEST_NULL;
    KADAM_MPI(MPI_Irecv(data + offset, count, MPI_BYTE, from, tag, communicator_, &request));
    start({true, id}, request);
    ++parts_missing_[id];
  });
}

void MpiMessages::receive_any(int from, std::byte* data, std::size_t bytes, std::size_t id) {
  if (parts_missing_.size() <= id) parts_missing_.resize(id + 1, 0);
  ++receiving_;
  MPI_Request request = MPI_REQUEST_NULL;
  const auto most = static_cast<int>(std::min(bytes, largest_bytes_));
  KADAM_MPI(MPI_Irecv(data, most, MPI_BYTE, from, MPI_ANY_TAG, communicator_, &request));
  start({true, id}, request);
  ++parts_missing_[id];
}

/// Asks MPI in a loop, because MPI's own waits have no time limit.
void MpiMessages::progress(Seconds patience, Done& done) {
  Deadline deadline(patience);
  const Patience naps = patience_of_program();
  while (!requests_.empty() && done.empty()) {
    if (take_finished(done)) {
      deadline.reset();  // a part of a message is done, or all of it
    } else if (deadline.has_passed()) {
      return;
    } else if (waits_ == Waits::with_naps) {
      naps();
    }
  }
}

bool MpiMessages::take_finished(Done& done) {
  finished_.resize(requests_.size());
  if (statuses_.size() < requests_.size()) statuses_.resize(requests_.size());
  int count = 0;
  const int status = MPI_Testsome(static_cast<int>(requests_.size()), requests_.data(), &count,
                                  finished_.data(), statuses_.data());
  if (status == MPI_ERR_IN_STATUS) {
    for (int k = 0; k < count; ++k)
      detail::require_mpi_success(statuses_[static_cast<std::size_t>(k)].MPI_ERROR, "MPI_Testsome");
  }
  detail::require_mpi_success(status, "MPI_Testsome");
  if (count == 0 || count == MPI_UNDEFINED) return false;
  finished_.resize(static_cast<std::size_t>(count));
  for (std::size_t k = 0; k < finished_.size(); ++k) finish(finished_[k], statuses_[k], done);
  forget_finished();
  return true;
}

void MpiMessages::finish(int place, const MPI_Status& status, Done& done) {
  const Part& part = parts_[static_cast<std::size_t>(place)];
  if (!part.is_receive) {
    --sending_;
    done.sent.push_back(part.id);
  } else if (--parts_missing_[part.id] == 0) {
    --receiving_;
    done.arrived.push_back({part.id, status.MPI_TAG});
  }
}

/// MPI sets the requests that are done to MPI_REQUEST_NULL.
void MpiMessages::forget_finished() {
  std::size_t kept = 0;
  for (std::size_t k = 0; k < requests_.size(); ++k) {
    if (requests_[k] == MPI_REQUEST_NULL) continue;
    requests_[kept] = requests_[k];
    parts_[kept] = parts_[k];
    ++kept;
  }
  requests_.resize(kept);
  parts_.resize(kept);
}

void MpiMessages::give_up() {
  gave_up_ = gave_up_ || !requests_.empty();
  for (std::size_t k = 0; k < requests_.size(); ++k) {
    if (requests_[k] == MPI_REQUEST_NULL) continue;
    if (parts_[k].is_receive) {
      MPI_Cancel(&requests_[k]);
      MPI_Wait(&requests_[k], MPI_STATUS_IGNORE);
    } else {
      // The receiver may be gone, and a wait for it might never end. An MPI that tolerates faults ends the
      // program if a send fails whose request was freed: there the request is left as it is.
#ifndef OMPI_HAVE_MPI_EXT_FTMPI
      MPI_Request_free(&requests_[k]);
#endif
    }
  }
  requests_.clear();
  parts_.clear();
  std::fill(parts_missing_.begin(), parts_missing_.end(), std::size_t{0});
  sending_ = 0;
  receiving_ = 0;
}

}  // namespace kadam
