// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/optim/make_optimizer.hpp>
#include <kadam/python/arguments.hpp>
#include <kadam/python/bound_optimizer.hpp>

#include <exception>
#include <stdexcept>
#include <utility>

namespace kadam::python {

BoundOptimizer::BoundOptimizer(std::string_view name, nb::handle tensors, nb::handle comm, nb::handle groups,
                               const ExchangeWords& exchange, const nb::dict& options)
    : name_(name) {
  const std::shared_ptr<Communicator> communicator = communicator_of(comm, exchange);
  TensorLayout layout;
  std::exception_ptr own;
  try {
    layout = tensors_from(tensors);
    groups_ = groups_from(groups);
    options_ = options_from(options);
  } catch (...) {
    own = std::current_exception();
  }
  const nb::gil_scoped_release others_run;
  communicator->require_success(own);
  exchange_ = exchange_options(exchange);
  places_.emplace(layout.elements());
  optimizer_ = make_optimizer(name_, options_, std::move(layout), communicator, groups_);
}

Optimizer& BoundOptimizer::get() const {
  if (optimizer_ != nullptr) return *optimizer_;
  throw std::runtime_error("this optimizer is closed: close() was called, or the program is ending");
}

BoundOptimizer::OnStream BoundOptimizer::on(nb::object stream) const {
  (void)get();
  const std::optional<StreamHandle> given = stream_in(stream);
  return {std::move(stream), given, places_->streams.handle_of(given)};
}

StepResult BoundOptimizer::step(nb::handle x, nb::handle gradient, nb::handle model, nb::object stream) {
  (void)get();
  OnStream where;
  std::optional<ParameterArrays> parameters;
  std::optional<GradientArray> g;
  try {
    where = on(std::move(stream));
    parameters.emplace("x", x, model, elements(), where.handle);
    g.emplace(gradient, get().gradient_format(), elements(), where.handle);
  } catch (...) {
    give_up_step();
    throw;
  }
  const StepResult result =
      alone_on(where, [&](Optimizer& optimizer, const ExecutionSpace& exec, ArrayCopies& copies) {
        const Parameters own = parameters->in(exec, copies);
        const StepResult done = optimizer.step(exec, own, g->in(exec, copies));
        if (!done.skipped)
          parameters->give_back(exec, copies, own);  // else a copy of the model holds nothing
        return done;
      });
  announced_.reset();
  return result;
}

void BoundOptimizer::give_up_step() {
  alone([](Optimizer& optimizer) { optimizer.give_up_step(); });
}

void BoundOptimizer::leave_out(const std::vector<std::size_t>& tensors) {
  alone([&](Optimizer& optimizer) { optimizer.leave_out(tensors); });
}

void BoundOptimizer::set(const nb::kwargs& options) {
  const OptionMap values = options_from(options);
  alone([&](Optimizer& optimizer) { optimizer.set(values); });
}

void BoundOptimizer::set_group(std::string_view tensors, double lr_scale,
                               std::optional<double> weight_decay) {
  alone([&](Optimizer& optimizer) { optimizer.set_group(tensors, lr_scale, weight_decay); });
}

void BoundOptimizer::gradient_ready(nb::object gradient, std::int64_t first, std::int64_t last,
                                    nb::object stream) {
  const OnStream where = on(std::move(stream));
  const GradientArray g(gradient, get().gradient_format(), elements(), where.handle);
  // A copy is only complete in step().
  if (g.array().needs_copy()) return;
  alone_on(where, [&](Optimizer& optimizer, const ExecutionSpace& exec, ArrayCopies& copies) {
    optimizer.gradient_ready(exec, g.in(exec, copies), {first, last});
  });
  announced_ = std::move(gradient);
}

void BoundOptimizer::progress() {
  alone([](Optimizer& optimizer) { optimizer.progress(); });
}

void BoundOptimizer::raise_bits(std::uint32_t bits) {
  alone([&](Optimizer& optimizer) { optimizer.raise(bits); });
}

void BoundOptimizer::flush(nb::handle x, nb::handle model, nb::object stream) {
  const OnStream where = on(std::move(stream));
  const ParameterArrays parameters("x", x, model, elements(), where.handle);
  alone_on(where, [&](Optimizer& optimizer, const ExecutionSpace& exec, ArrayCopies& copies) {
    const Parameters own = parameters.in(exec, copies);
    optimizer.flush(exec, own);
    parameters.give_back(exec, copies, own);
  });
}

void BoundOptimizer::consensus(nb::handle x, nb::handle out, nb::handle model, nb::object stream) {
  const OnStream where = on(std::move(stream));
  const ReadParameters present("x", x, elements(), where.handle);
  const ParameterArrays result("out", out, model, elements(), where.handle);
  alone_on(where, [&](Optimizer& optimizer, const ExecutionSpace& exec, ArrayCopies& copies) {
    const Parameters own = result.out(exec, copies);
    optimizer.write_consensus(exec, present.in(exec, copies), own);
    result.give_back(exec, copies, own);
  });
}

void BoundOptimizer::wait() {
  alone([&](Optimizer& optimizer) {
    optimizer.communicator().settle();
    exec().fence("kadam::python::wait");
  });
}

nb::dict BoundOptimizer::statistics() {
  const Optimizer& optimizer = get();
  const ByteCounters& sent = optimizer.communicator().bytes_sent();
  const MemoryUse memory = optimizer.memory();
  nb::dict all;
  all["elements"] = optimizer.layout().elements();
  all["steps_taken"] = optimizer.steps_taken();
  all["steps_skipped"] = optimizer.steps_skipped();
  all["state_bytes"] = memory.state_bytes;
  all["workspace_bytes"] = memory.workspace_bytes;
  all["sent_bytes"] = sent.total();
  all["sent_control_bytes"] = sent.sent(Traffic::control);
  all["sent_dense_bytes"] = sent.sent(Traffic::dense);
  all["sent_compressed_bytes"] = sent.sent(Traffic::compressed);
  all["sent_sparse_bytes"] = sent.sent(Traffic::sparse);
  all["sent_background_bytes"] = sent.sent(Traffic::background);
  all["sent_node_bytes"] = sent.sent(Traffic::node);
  const auto& seconds = get().phases().seconds();
  all["check_seconds"] = seconds[static_cast<std::size_t>(Phase::check)];
  all["encode_seconds"] = seconds[static_cast<std::size_t>(Phase::encode)];
  all["exchange_seconds"] = seconds[static_cast<std::size_t>(Phase::exchange)];
  all["decode_seconds"] = seconds[static_cast<std::size_t>(Phase::decode)];
  return all;
}

Health BoundOptimizer::health() {
  return alone([&](Optimizer& optimizer) { return optimizer.health(exec()); });
}

void BoundOptimizer::measure_phases(bool on) {
  alone([&](Optimizer& optimizer) { optimizer.phases().measure(on); });
}

void BoundOptimizer::close() {
  if (optimizer_ == nullptr) return;
  if (!optimizer_->is_synchronised() &&
      PyErr_WarnEx(PyExc_RuntimeWarning,
                   "close() was called before flush(): each rank still holds steps that the others will "
                   "never get; call flush() first",
                   1) != 0)
    throw nb::python_error();
  announced_.reset();
  alone([&](Optimizer& /*optimizer*/) { let_go(); });
  stream_.reset();
}

void BoundOptimizer::let_go() noexcept {
#ifdef KADAM_ENABLE_CHECKPOINT
  snapshots_.reset();
#endif
  optimizer_.reset();
  places_.reset();
}

}  // namespace kadam::python
