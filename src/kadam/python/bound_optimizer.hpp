// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/config.hpp>
#include <kadam/python/array.hpp>
#include <kadam/python/communicator.hpp>
#include <kadam/python/kokkos_user.hpp>
#include <kadam/python/streams.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <nanobind/nanobind.h>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#ifdef KADAM_ENABLE_CHECKPOINT
#include <kadam/checkpoint/snapshots.hpp>
#endif

namespace kadam::python {

/// Claims an object for one call. Throws std::runtime_error, and does not wait, if another call has claimed
/// it.
class Claim {
 public:
  explicit Claim(std::atomic<bool>& is_busy) : is_busy_(is_busy) {
    if (!is_busy_.exchange(true)) return;
    throw std::runtime_error(
        "another thread is in a call of this optimizer: use it from one thread at a time");
  }
  Claim(const Claim&) = delete;
  Claim& operator=(const Claim&) = delete;
  ~Claim() { is_busy_ = false; }

 private:
  std::atomic<bool>& is_busy_;
};

/// The checkpoint that load() or load_newest() has restored.
struct LoadedCheckpoint {
  std::int64_t step = 0;
  std::filesystem::path path;
  std::map<std::string, std::string> words;
};

/// The snapshot that go_on(), admit() or join() has restored.
struct RestoredSnapshot {
  std::int64_t step = 0;
  std::map<std::string, std::string> words;
  std::vector<int> lost;
};

/// The class kadam.Optimizer of Python: an Optimizer that takes arrays of Python. It releases Python's lock
/// while it works. What its functions do is in their texts for Python: bind_optimizer.cpp.
///
/// Collective where Optimizer is. Errors: as Optimizer and Array have them; std::runtime_error after close(),
/// or while another thread is in a call.
class BoundOptimizer final : public KokkosUser {
 public:
  using Words = std::map<std::string, std::string>;

  BoundOptimizer(std::string_view name, nb::handle tensors, nb::handle comm, nb::handle groups,
                 const ExchangeWords& exchange, const nb::dict& options);
  ~BoundOptimizer() override { let_go(); }

  StepResult step(nb::handle x, nb::handle gradient, nb::handle model, nb::object stream);
  void give_up_step();
  void leave_out(const std::vector<std::size_t>& tensors);
  void set(const nb::kwargs& options);
  void set_group(std::string_view tensors, double lr_scale, std::optional<double> weight_decay);
  void gradient_ready(nb::object gradient, std::int64_t first, std::int64_t last, nb::object stream);
  void progress();
  void raise_bits(std::uint32_t bits);
  void flush(nb::handle x, nb::handle model, nb::object stream);
  void consensus(nb::handle x, nb::handle out, nb::handle model, nb::object stream);
  void wait();

  std::filesystem::path save(nb::handle x, const std::filesystem::path& folder, int keep, const Words& words,
                             nb::object stream);
  LoadedCheckpoint load(nb::handle x, const std::filesystem::path& path, nb::handle model, nb::object stream);
  std::optional<LoadedCheckpoint> load_newest(nb::handle x, const std::filesystem::path& folder,
                                              nb::handle model, nb::object stream);
  void keep_snapshots(nb::handle x, std::int64_t every, std::int64_t spread, const Words& words,
                      nb::object stream);
  void after_step(nb::handle x, const Words& words, nb::object stream);
  /// To be called after a PeerFailure.
  RestoredSnapshot go_on(nb::handle x, nb::handle model, nb::object stream);
  /// Whether a process had asked to join when the last snapshot became whole.
  [[nodiscard]] bool has_newcomers() const;
  std::optional<RestoredSnapshot> admit(nb::handle x, const Words& words, nb::handle model,
                                        nb::object stream);
  /// For a newcomer, whose optimizer has one rank until then.
  RestoredSnapshot join(nb::handle x, const std::vector<std::string>& doors, std::int64_t every,
                        std::int64_t spread, const std::string& host, nb::handle model, nb::object stream);
  /// Returns a checkpoint::MemoryState in a tuple: its words, and its vectors as arrays of bytes.
  [[nodiscard]] nb::tuple state(nb::handle x, nb::object stream);
  void set_state(nb::handle x, const Words& words, const nb::dict& vectors, nb::handle model,
                 nb::object stream);

  [[nodiscard]] nb::dict statistics();
  [[nodiscard]] Health health();
  void measure_phases(bool on);

  [[nodiscard]] const std::vector<ParameterGroup>& groups() const { return groups_; }
  /// Errors: std::runtime_error after close().
  [[nodiscard]] Optimizer& get() const;

  /// Ends the optimizer, after a warning if flush() would deliver something. Collective.
  void close();
  void let_go() noexcept override;

 private:
  /// The stream of a call.
  struct OnStream {
    nb::object stream;                  ///< as it was given
    std::optional<StreamHandle> given;  ///< its handle; nothing for None
    StreamHandle handle;                ///< of the stream that arrays must be ready on
  };
  [[nodiscard]] OnStream on(nb::object stream) const;

  /// What an optimizer has besides, and must give up before Kokkos ends.
  struct Places {
    explicit Places(std::int64_t elements) : copies(elements) {}

    Streams streams;
    ArrayCopies copies;
  };

  /// Returns call(optimizer, exec, copies), run on the stream `on`, without Python's lock, and with no other
  /// call at the same time.
  template <class Call>
  auto alone_on(const OnStream& on, const Call& call);
  /// Returns call(optimizer), run in the same way; exec() is that of the call before.
  template <class Call>
  auto alone(const Call& call);
  [[nodiscard]] std::int64_t elements() const { return get().layout().elements(); }
#ifdef KADAM_ENABLE_CHECKPOINT
  /// A function that makes the optimizer anew for other ranks, in place of this one.
  [[nodiscard]] std::function<Optimizer&(std::shared_ptr<Communicator>)> maker();
#endif
  [[nodiscard]] const ExecutionSpace& exec() const {
    return places_->streams.last();
  }

  std::string name_;
  OptionMap options_;  ///< as the program gave them
  std::vector<ParameterGroup> groups_;
  ExchangeOptions exchange_;
  std::unique_ptr<Optimizer> optimizer_;
#ifdef KADAM_ENABLE_CHECKPOINT
  std::optional<checkpoint::Snapshots> snapshots_;  ///< if they are kept
#endif
  std::optional<Places> places_;
  nb::object announced_;  ///< the gradient of gradient_ready(): kept alive until the step that takes it
  nb::object stream_;     ///< of the last call: kept alive until its work has been waited for
  std::atomic<bool> is_busy_ = false;
};

template <class Call>
auto BoundOptimizer::alone_on(const OnStream& on, const Call& call) {
  const Claim claim(is_busy_);
  Optimizer& optimizer = get();
  const ExecutionSpace& exec = places_->streams.for_call(on.given);
  stream_ = on.stream;
  const nb::gil_scoped_release others_run;
  return call(optimizer, exec, places_->copies);
}

template <class Call>
auto BoundOptimizer::alone(const Call& call) {
  const Claim claim(is_busy_);
  Optimizer& optimizer = get();
  const nb::gil_scoped_release others_run;
  return call(optimizer);
}

/// Adds kadam.Optimizer to the module.
void bind_optimizer(nb::module_& module);

}  // namespace kadam::python
