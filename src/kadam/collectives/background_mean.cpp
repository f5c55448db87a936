// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/collectives/background_mean.hpp>
#include <kadam/collectives/dense_mean.hpp>
#include <kadam/collectives/ordered_reduction.hpp>
#include <kadam/collectives/pipelined_reduction.hpp>
#include <kadam/comm/patience.hpp>
#include <kadam/comm/spare_core.hpp>
#include <kadam/kernels/ordered_mean.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>

namespace kadam {
namespace {

using PinnedVector = Kokkos::View<float*, Kokkos::SharedHostPinnedSpace>;
using Clock = std::chrono::steady_clock;

/// The most pieces on their way at a time: a foreground exchange may have to wait for these. Without a limit
/// MPI takes copies of short messages at once, so that a whole vector of them stands before the next message.
constexpr std::size_t most_pieces_sending = 4;

/// On a CPU the values themselves; elsewhere a copy. A template, so that only one of the two is compiled.
template <class Pinned>
void make_readable_by_host(const ExecutionSpace& exec, const Vector<const float>& values, Pinned& readable) {
  if constexpr (host_reaches_vectors) {
    // A View of their place in the type at hand: where a device shares the host's memory, pinned memory is a
    // space of its own. Nobody writes it.
    readable = Pinned(const_cast<float*>(values.data()), values.size());
  } else {
    Kokkos::deep_copy(exec, readable, values);
  }
}

std::optional<int> spare_core_of(Communicator& foreground) {
  const std::shared_ptr<Communicator> node = foreground.split_by_node();
  CoreUse use;
  use.own_cores = cores_of_this_thread();
  use.node_cores = static_cast<int>(std::thread::hardware_concurrency());
  use.threads = Kokkos::DefaultHostExecutionSpace().concurrency();
  use.node_ranks = node->size();
  use.node_rank = node->rank();
  return spare_core(use);
}

void require_threads(const Communicator& communicator) {
  if (!communicator.allows_threads()) {
    throw std::invalid_argument(
        "kadam::BackgroundMean: progress = thread needs MPI_THREAD_MULTIPLE: ask for it in "
        "MPI_Init_thread, or choose progress = poll");
  }
}

}  // namespace

Cost background_mean_cost(const Arrangement& ranks, std::int64_t elements) {
  Cost cost = DenseMeanLayout(Arrangement::flat(ranks.ranks, ranks.rank), elements).cost();
  const std::size_t vector = sizeof(float) * static_cast<std::size_t>(elements);
  if (ranks.ranks == 1) cost.memory.workspace_bytes = vector;  // the result
  if (ranks.ranks > 1 && !host_reaches_vectors) cost.memory.workspace_bytes += 2 * vector;
  for (Transfer& transfer : cost.transfers) {
    transfer.traffic = Traffic::background;
    transfer.has_one_level = true;
  }
  return cost;
}

/// Makes one exchange after the other. The thread, if there is one, works on each from begin() to its end.
class BackgroundMean::Work {
 public:
  Work(const ExecutionSpace& exec, std::shared_ptr<Communicator> foreground, const ChunkLayout& chunks,
       Progress progress);
  ~Work();
  Work(const Work&) = delete;
  Work& operator=(const Work&) = delete;

  void start(const ExecutionSpace& exec, const Vector<const float>& values);
  void poll();
  Vector<const float> mean(const ExecutionSpace& exec);
  void reset(const ExecutionSpace& exec) const { Kokkos::deep_copy(exec, result_, 0.0F); }
  const Vector<float>& settled(const ExecutionSpace& exec) {
    (void)mean(exec);
    return result_;
  }

  [[nodiscard]] const BackgroundSeconds& seconds() const { return seconds_; }

 private:
  void begin();
  void complete();
  void finish_job();
  template <class Part>
  bool attempt(const Part& part);
  void throw_failure();
  void keep_own_part(const Slice& slice) const;
  void reduce(const Slice& slice) const;
  [[nodiscard]] ReductionRun::State advance();
  void start_thread();
  void work_in_thread(std::optional<int> core);
  void work_on_job();

  std::shared_ptr<Communicator> foreground_;
  std::shared_ptr<Communicator> own_;  ///< made by the first start(), which is collective as duplicate() is
  ChunkLayout chunks_;
  ElementRange own_chunk_;
  Progress progress_;
  SlicedChunks slices_;
  ReductionSteps steps_;
  Vector<float> result_;
  PinnedVector values_;  ///< on a CPU the caller's own memory, as mean_ is the memory of result_
  PinnedVector parts_;
  PinnedVector mean_;

  std::optional<Exchange> exchange_;  ///< while messages are under way
  std::optional<ReductionRun> run_;   ///< from start() to mean()
  bool is_complete_ = false;          ///< run_ is done, and its seconds are counted
  Clock::time_point started_;
  Clock::time_point finished_;
  BackgroundSeconds seconds_;
  int exceptions_ = std::uncaught_exceptions();

  // Between the program and the thread.
  std::thread thread_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool has_job_ = false;
  std::atomic<bool> stops_ = false;
  std::atomic<bool> is_awaited_ = false;
  std::exception_ptr failure_;  ///< read when no job is under way
};

BackgroundMean::Work::Work(const ExecutionSpace& exec, std::shared_ptr<Communicator> foreground,
                           const ChunkLayout& chunks, Progress progress)
    : foreground_(std::move(foreground)),
      chunks_(chunks),
      own_chunk_(chunks.chunk(foreground_->rank())),
      progress_(progress),
      result_(allocate_zeros<float>(exec, "kadam::BackgroundMean::mean", chunks.elements())) {
  if (chunks.ranks() == 1) return;
  if (progress == Progress::thread) require_threads(*foreground_);
  const auto pinned = [](const std::string& label, std::int64_t elements) {
    return PinnedVector(Kokkos::view_alloc(Kokkos::WithoutInitializing, label),
                        static_cast<std::size_t>(elements));
  };
  parts_ = pinned("kadam::BackgroundMean::parts", own_chunk_.elements() * chunks.ranks());
  mean_ = Kokkos::create_mirror_view(Kokkos::SharedHostPinnedSpace{}, result_);
  if (!host_reaches_vectors) values_ = pinned("kadam::BackgroundMean::values", chunks.elements());
  cut_numbers<float>(slices_, chunks, foreground_->piece_bytes(true));
  steps_.encode = [this](int chunk, const Slice& slice) {
    if (chunk == foreground_->rank()) keep_own_part(slice);
  };
  steps_.reduce = [this](const Slice& slice) { reduce(slice); };
}

BackgroundMean::Work::~Work() {
  // Other ranks come here too, unless something failed; then nobody may be waited for.
  try {
    if (exceptions_ == std::uncaught_exceptions()) complete();
  } catch (...) {  // NOLINT(bugprone-empty-catch): nobody is left who could hear of it
  }
  {
    const std::lock_guard lock(mutex_);
    stops_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void BackgroundMean::Work::start(const ExecutionSpace& exec, const Vector<const float>& values) {
  if (chunks_.ranks() == 1) {
    Kokkos::deep_copy(exec, result_, values);
    return;
  }
  if (run_) throw std::logic_error("kadam::BackgroundMean: call mean() before the next start()");
  throw_failure();
  make_readable_by_host(exec, values, values_);
  exec.fence("kadam::BackgroundMean::start");
  foreground_->count_sent(Traffic::background,
                          OrderedReduction::bytes_sent(chunks_, foreground_->rank(), NumberFormat::float32,
                                                       ReductionRun::Replies::to_all));
  // From here on the thread may fail: what it writes is read when it has done its job.
  if (!attempt([this] { begin(); })) throw_failure();
  if (progress_ == Progress::none) complete();
  poll();
}

void BackgroundMean::Work::begin() {
  if (own_ == nullptr) own_ = foreground_->duplicate();
  const std::array<ExchangeBuffers, 2> buffers = {ExchangeBuffers{bytes_of(values_), bytes_of(parts_)},
                                                  ExchangeBuffers{bytes_of(mean_), bytes_of(mean_)}};
  exchange_.emplace(*own_, Traffic::background, buffers);
  run_.emplace(slices_, own_->rank(), ReductionRun::Replies::to_all, *exchange_, steps_, most_pieces_sending);
  is_complete_ = false;
  started_ = Clock::now();
  if (progress_ != Progress::thread) return;
  if (!thread_.joinable()) start_thread();
  {
    const std::lock_guard lock(mutex_);
    has_job_ = true;
  }
  changed_.notify_all();
}

void BackgroundMean::Work::poll() {
  if (progress_ != Progress::poll || !run_ || !exchange_) return;
  (void)attempt([this] {
    auto state = advance();
    while (state == ReductionRun::State::working) state = advance();
    if (state == ReductionRun::State::done) finish_job();
  });
  throw_failure();
}

ReductionRun::State BackgroundMean::Work::advance() {
  using MayLeave = ReductionRun::MayLeave;
  const bool yields = !is_awaited_ && foreground_->is_exchanging();
  return run_->advance(yields ? MayLeave::nothing : MayLeave::everything);
}

/// Waits for what is under way.
void BackgroundMean::Work::complete() {
  if (!run_ || is_complete_) return;
  const auto asked = progress_ == Progress::none ? started_ : Clock::now();
  if (progress_ == Progress::thread) {
    is_awaited_ = true;
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return !has_job_; });
    is_awaited_ = false;
  } else if (exchange_) {
    (void)attempt([this] {
      for (auto state = advance(); state != ReductionRun::State::done; state = advance()) {
        if (state == ReductionRun::State::waiting) run_->wait();
      }
      finish_job();
    });
  }
  throw_failure();
  const auto seconds_of = [](Clock::duration length) {
    return std::chrono::duration<double>(length).count();
  };
  seconds_.running += seconds_of(finished_ - started_);
  seconds_.exposed += std::max(0.0, seconds_of(finished_ - std::max(asked, started_)));
  ++seconds_.exchanges;
  is_complete_ = true;
}

void BackgroundMean::Work::finish_job() {
  finished_ = Clock::now();
  exchange_.reset();
}

/// Calls part() and returns whether it succeeded. A failure ends the exchange for good: other ranks may be
/// anywhere in it.
template <class Part>
bool BackgroundMean::Work::attempt(const Part& part) {
  try {
    part();
    return true;
  } catch (...) {
    failure_ = std::current_exception();
    exchange_.reset();
    return false;
  }
}

void BackgroundMean::Work::throw_failure() {
  if (failure_ == nullptr) return;
  run_.reset();
  std::rethrow_exception(failure_);
}

Vector<const float> BackgroundMean::Work::mean(const ExecutionSpace& exec) {
  if (!run_) {
    throw_failure();
    return result_;
  }
  complete();
  Kokkos::deep_copy(exec, result_, mean_);
  run_.reset();
  return result_;
}

void BackgroundMean::Work::keep_own_part(const Slice& slice) const {
  const std::int64_t first = own_->rank() * own_chunk_.elements() + slice.elements.begin - own_chunk_.begin;
  std::copy_n(values_.data() + slice.elements.begin, slice.elements.elements(), parts_.data() + first);
}

/// A plain loop: the program's execution space is busy with the program, and to launch kernels from a second
/// thread would run into whatever tools watch the first.
void BackgroundMean::Work::reduce(const Slice& slice) const {
  const OrderedMeanOfElement<float> mean{parts_.data() + (slice.elements.begin - own_chunk_.begin),
                                         mean_.data() + slice.elements.begin, chunks_.ranks(),
                                         own_chunk_.elements(), static_cast<float>(1.0 / chunks_.ranks())};
  const OrderedMeanOfTile<float> tile{mean, slice.elements.elements()};
  for (std::int64_t t = 0; t < tile.tiles(); ++t) tile(t);
}

void BackgroundMean::Work::start_thread() {
  const std::optional<int> core = spare_core_of(*foreground_);
  thread_ = std::thread([this, core] { work_in_thread(core); });
}

void BackgroundMean::Work::work_in_thread(std::optional<int> core) {
  if (core) bind_this_thread(*core);
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return has_job_ || stops_; });
    if (stops_) return;
    lock.unlock();
    (void)attempt([this] { work_on_job(); });
    lock.lock();
    has_job_ = false;
    changed_.notify_all();
  }
}

void BackgroundMean::Work::work_on_job() {
  Patience patience = patience_of_background();
  Deadline deadline(own_->patience());
  for (auto state = advance(); state != ReductionRun::State::done && !stops_; state = advance()) {
    if (state == ReductionRun::State::working || is_awaited_) patience.reset();
    // Other ranks may be late until the program waits for the mean.
    if (state == ReductionRun::State::working || !is_awaited_) deadline.reset();
    if (deadline.has_passed()) own_->report_missing_ranks();
    if (state == ReductionRun::State::waiting) patience();
  }
  finish_job();
}

BackgroundMean::BackgroundMean() = default;
BackgroundMean::BackgroundMean(const ExecutionSpace& exec, std::shared_ptr<Communicator> foreground,
                               const ChunkLayout& chunks, Progress progress)
    : work_(std::make_unique<Work>(exec, std::move(foreground), chunks, progress)) {}
BackgroundMean::~BackgroundMean() = default;
BackgroundMean::BackgroundMean(BackgroundMean&&) noexcept = default;
BackgroundMean& BackgroundMean::operator=(BackgroundMean&&) noexcept = default;

void BackgroundMean::start(const ExecutionSpace& exec, const Vector<const float>& values) {
  work_->start(exec, values);
}
void BackgroundMean::poll() {
  work_->poll();
}
Vector<const float> BackgroundMean::mean(const ExecutionSpace& exec) {
  return work_->mean(exec);
}
const Vector<float>& BackgroundMean::settled(const ExecutionSpace& exec) {
  return work_->settled(exec);
}
void BackgroundMean::reset(const ExecutionSpace& exec) {
  work_->reset(exec);
}
const BackgroundSeconds& BackgroundMean::seconds() const {
  return work_->seconds();
}

}  // namespace kadam
