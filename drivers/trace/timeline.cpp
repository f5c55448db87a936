// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <trace/chrome_trace.hpp>
#include <trace/exchange_events.hpp>
#include <trace/timeline.hpp>

#include <algorithm>
#include <exception>
#include <fstream>
#include <stdexcept>
#include <utility>

namespace kadam::trace {
namespace {

void append(const std::filesystem::path& path, const std::string& text, bool is_first) {
  // Only the first makes the file: another host that does not see it has to say so.
  std::ofstream stream(
      path, is_first ? std::ios::out | std::ios::trunc : std::ios::in | std::ios::out | std::ios::ate);
  stream << text;
  if (!stream.flush()) {
    throw std::runtime_error(path.string() + ": cannot be " +
                             (is_first ? "written"
                                       : "appended to: all ranks have to "
                                         "see the folder of the run"));
  }
}

}  // namespace

Timeline::Timeline(std::shared_ptr<Communicator> communicator, const StepRange& steps)
    : communicator_(std::move(communicator)),
      steps_(steps),
      first_(measure_offset(*communicator_, [this] { return recorder_->now(); })),
      kokkos_events_(recorder_) {
  communicator_->observe(std::make_shared<ExchangeEvents>(recorder_));
}

Timeline::~Timeline() {
  communicator_->observe(nullptr);
}

std::size_t Timeline::write(const std::filesystem::path& path) {
  recorder_->keep(false);
  const ClockOffset last = measure_offset(*communicator_, [this] { return recorder_->now(); });
  const CommonClock clock(first_, last);
  const int ranks = communicator_->size();
  for (int rank = 0; rank < ranks; ++rank) {
    std::exception_ptr failure;
    try {
      if (rank == communicator_->rank()) {
        append(path, chrome_trace(*recorder_, clock, {rank, ranks, std::max(first_.error, last.error)}),
               rank == 0);
      }
    } catch (...) {
      failure = std::current_exception();
    }
    communicator_->require_success(failure);
  }
  const double left_out = communicator_->sum_over_ranks(static_cast<double>(recorder_->left_out()));
  return static_cast<std::size_t>(left_out);
}

}  // namespace kadam::trace
