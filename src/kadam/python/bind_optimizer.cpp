// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/python/arguments.hpp>
#include <kadam/python/bound_optimizer.hpp>

#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>
#include <new>

namespace kadam::python {
namespace {

using namespace nb::literals;
using Class = nb::class_<BoundOptimizer>;

constexpr const char* class_text = R"(An optimizer over the ranks of a communicator: one object per rank.

name: one of kadam.optimizers(). tensors: a dict of names and numbers of elements, or shapes, in the order in
which they lie in one flat vector. comm: a communicator of mpi4py, of which a duplicate is kept; None: one rank.
groups: dicts with 'tensors' (a pattern of names, * stands for anything), 'lr_scale', 'weight_decay' (None: the
optimizer's) and 'dense'. ranks_per_node, gpu_aware ('auto', 'on', 'off'), piece_bytes: how to exchange.
timeout_seconds: how long a call waits for other ranks while nothing comes or leaves, before it raises RuntimeError
and names those that are missing; 0: for ever. allow_alone: one rank is enough where torchrun, mpirun or srun has started several tasks; else that is refused.
All other arguments are options of the optimizer: kadam.options(name), docs/configuration.md.

Arrays are those of NumPy, PyTorch, CuPy, JAX and whatever else has DLPack or a buffer: contiguous, with as many
elements as all tensors together, in the memory of the host, or of the device that Kadam computes on. Parameters
are float32 and written in place. model, where it is taken: bfloat16 or float16, written with the rounded
parameters. What is on the host is written when a call returns; on a device see wait().

stream, where it is taken: the stream that a call works on, as PyTorch or CuPy has it, or its handle as a number:
with torch.cuda.current_stream() a call comes after what the program launched before, and before what it launches
next. None: a stream of Kadam's own, which arrays are made ready for, as DLPack says; before they are used again
see wait(). On a processor always None.

"Collective" means: all ranks call it. Mistakes in making one, or in step(), are said on all ranks; one rank's wrong
array elsewhere leaves the others waiting, for timeout_seconds.)";

void bind_training(Class& optimizer) {
  optimizer
      // A gradient that is None, as PyTorch has it before the first backward pass, gets a sentence as well.
      .def("step", &BoundOptimizer::step, "x"_a.none(), "gradient"_a.none(), "model"_a = nb::none(),
           nb::kw_only(), "stream"_a = nb::none(),
           nb::sig("def step(self, x: object, gradient: object, model: object | None = None, *, stream: "
                   "object | None = None) -> StepResult"),
           "One step: x is updated in place from this rank's gradient, the mean over its own batch, in the "
           "format\n"
           "of the option 'gradients' ('bf16' also as bits in uint16). A NaN is no error: see skipped. "
           "Collective.")
      .def(
          "give_up_step", &BoundOptimizer::give_up_step,
          "Instead of step(), where this rank cannot take it: ends the step on all ranks with RuntimeError,\n"
          "that of local_adam and local_muon in the step of the next round, which it then waits for. "
          "Nothing\n"
          "can be exchanged afterwards.")
      .def("leave_out", &BoundOptimizer::leave_out, "tensors"_a,
           "Before step(): this rank has no gradient for these tensors, numbers from 0 on in the order of\n"
           "tensors; their part of the gradient is zeros. Those that all ranks name are left alone in this "
           "step:\n"
           "no momentum, no decay, no count of the step. Of adam; for other algorithms the gradient is 0.")
      .def("set", &BoundOptimizer::set, "options"_a,
           "set(lr=0.001): sets lr (of every step, in place of a schedule), weight_decay or clip_norm from\n"
           "the next step on; the same on all ranks before the same step, which fails on all otherwise.\n"
           "Holds until it is set again; checkpoints keep it.")
      .def("set_group", &BoundOptimizer::set_group, "tensors"_a, nb::kw_only(), "lr_scale"_a = 1.0,
           "weight_decay"_a = nb::none(),
           "The same of a parameter group that it was made with, by its pattern. weight_decay: None for the\n"
           "optimizer's.")
      .def("gradient_ready", &BoundOptimizer::gradient_ready, "gradient"_a, "first"_a, "last"_a,
           nb::kw_only(), "stream"_a = nb::none(),
           "During the backward pass: elements [first, last) of the next gradient are final and may be sent. "
           "The\n"
           "next step() has to be given the same gradient. Waits for no other rank.")
      .def("progress", &BoundOptimizer::progress,
           "Moves on what travels in the background; now and then during the computation of a gradient.")
      .def("raise_bits", &BoundOptimizer::raise_bits, "bits"_a,
           "Bits that all ranks find in the result of the next step: so that all stop after the same one.")
      .def("flush", &BoundOptimizer::flush, "x"_a, "model"_a = nb::none(), nb::kw_only(),
           "stream"_a = nb::none(),
           "Delivers what was held back between synchronisations: at the end of training. Collective.")
      .def("consensus", &BoundOptimizer::consensus, "x"_a, "out"_a, "model"_a = nb::none(), nb::kw_only(),
           "stream"_a = nb::none(),
           "Writes the parameters that flush() would leave into out, and changes nothing else: what to "
           "evaluate\n"
           "in the middle of training. Collective.")
      .def("wait", &BoundOptimizer::wait,
           "Waits until the device has done all that was asked of it: by Kadam, on its stream or the last "
           "one given.");
}

void bind_checkpoints(Class& optimizer) {
  optimizer
      .def("save", &BoundOptimizer::save, "x"_a, "folder"_a, "keep"_a = 2,
           "words"_a = BoundOptimizer::Words(), nb::kw_only(), "stream"_a = nb::none(),
           "Saves all that is needed to go on to the last bit, in folder/step-..., and keeps so many "
           "checkpoints\n"
           "(0: all). words: what the program itself wants to find again. Returns the new folder. "
           "Collective; fails\n"
           "on all ranks.")
      .def("load", &BoundOptimizer::load, "x"_a, "path"_a, "model"_a = nb::none(), nb::kw_only(),
           "stream"_a = nb::none(),
           "Goes on from a checkpoint, on any number of ranks; writes x. Collective; fails on all ranks. "
           "After a\n"
           "failure the optimizer is to be made anew.")
      .def("load_newest", &BoundOptimizer::load_newest, "x"_a, "folder"_a, "model"_a = nb::none(),
           nb::kw_only(), "stream"_a = nb::none(),
           "The same with the newest checkpoint in a folder that is whole; None if there is none at all. "
           "Warns of\n"
           "those that it passes over. Collective.")
      .def(
          "keep_snapshots", &BoundOptimizer::keep_snapshots, "x"_a, "every"_a = 100, "spread"_a = 1,
          "words"_a = BoundOptimizer::Words(), nb::kw_only(), "stream"_a = nb::none(),
          "Takes a snapshot of the state into the memory of the ranks, now and every so many steps from now\n"
          "on: see after_step() and go_on(). It travels to the rank that keeps it over `spread` steps.\n"
          "Collective.")
      .def("after_step", &BoundOptimizer::after_step, "x"_a, "words"_a = BoundOptimizer::Words(),
           nb::kw_only(), "stream"_a = nb::none(),
           "To be called after every step: takes a snapshot when one is due, and moves on one that travels.\n"
           "words: what the program itself wants to find again. Does nothing without keep_snapshots().\n"
           "Collective.")
      .def(
          "go_on", &BoundOptimizer::go_on, "x"_a, "model"_a = nb::none(), nb::kw_only(),
          "stream"_a = nb::none(),
          "After a PeerFailure: goes on from the newest snapshot that is whole, on the ranks that are left;\n"
          "writes x. rank and size are new then, and data are to be dealt anew. Collective over those "
          "ranks.\n"
          "SnapshotLost on all of them if none is whole: then load_newest() goes on. PeerFailure where "
          "others\n"
          "cannot go on: over an MPI that does not tolerate faults.")
      .def_prop_ro(
          "has_newcomers", &BoundOptimizer::has_newcomers,
          "Whether somebody had asked to join when the last snapshot was whole: then call admit(). The "
          "same on all ranks.")
      .def(
          "admit", &BoundOptimizer::admit, "x"_a, "words"_a = BoundOptimizer::Words(), "model"_a = nb::none(),
          nb::kw_only(), "stream"_a = nb::none(),
          "Takes in those who ask to join: the optimizer is made anew for these ranks and behind them the\n"
          "newcomers, and goes on where it stands; writes x. rank and size are new then, and data are to be\n"
          "dealt anew. None where nobody is left who asks: all is as before. Collective.")
      .def("join", &BoundOptimizer::join, "x"_a, "doors"_a, "every"_a = 100, "spread"_a = 1, "host"_a = "",
           "model"_a = nb::none(), nb::kw_only(), "stream"_a = nb::none(),
           "Of an optimizer made with comm=None, as those of ranks that are at work: joins them when they "
           "next\n"
           "call admit(), and has their parameters and state then; writes x. doors: `door` of some of them.\n"
           "every, spread: as theirs in keep_snapshots(). host: where others reach this process, \"\": found "
           "out.\n"
           "ValueError if it is not made as theirs, RuntimeError if none of them lets it in.")
      .def("state", &BoundOptimizer::state, "x"_a, nb::kw_only(), "stream"_a = nb::none(),
           nb::sig("def state(self, x: object, *, stream: object | None = None) -> tuple[dict[str, str], "
                   "dict[str, object]]"),
           "All that this rank holds, x included: words, and vectors as arrays of bytes. For who goes back "
           "some steps,\n"
           "or keeps states in files of its own.")
      .def("set_state", &BoundOptimizer::set_state, "x"_a, "words"_a, "vectors"_a, "model"_a = nb::none(),
           nb::kw_only(), "stream"_a = nb::none(),
           "Goes on from state() to the last bit, on the same rank of as many; writes x. Collective; fails "
           "on all ranks.");
}

nb::dict figures(const Health& health) {
  nb::dict all;
  for (const NamedFigure& figure : named_figures(health)) {
    all[figure.name] = figure.value ? nb::cast(*figure.value) : nb::none();
  }
  all["largest_step_tensor"] = health.largest_step ? nb::cast(health.largest_step->tensor_name) : nb::none();
  all["inactive_fraction"] = health.inactive_fraction;
  all["skipped_steps"] = health.skipped_steps;
  return all;
}

void bind_knowledge(Class& optimizer) {
  optimizer
      .def(
          "health", [](BoundOptimizer& of) { return figures(of.health()); },
          "Figures that say whether training goes well; None where there is no such figure. docs/algorithms "
          "says\n"
          "what is good. Reads the whole state: not for every step. Collective.")
      .def("measure_phases", &BoundOptimizer::measure_phases, "on"_a,
           "Whether statistics have the seconds of the last step. Waits for the device after every phase.")
      .def(
          "planned_bytes",
          [](const BoundOptimizer& of, std::int64_t step, std::string_view phase) {
            return of.get().bytes_sent_in(step, phase);
          },
          "step"_a, "phase"_a, "Bytes that this rank sends in step 1, 2 ... if it is of this phase.")
      .def_prop_ro("statistics", &BoundOptimizer::statistics,
                   "Steps, bytes in memory, bytes sent by kind, and seconds if they are measured.")
      .def_prop_ro(
          "sent_bytes", [](const BoundOptimizer& of) { return of.get().communicator().bytes_sent().total(); },
          "Sent by this rank to others, all in all, in bytes.")
      .def_prop_ro("name", [](const BoundOptimizer& of) { return of.get().name(); })
      .def_prop_ro("rank", [](const BoundOptimizer& of) { return of.get().communicator().rank(); })
      .def_prop_ro(
          "size", [](const BoundOptimizer& of) { return of.get().communicator().size(); },
          "The number of ranks.")
      .def_prop_ro(
          "door", [](const BoundOptimizer& of) { return of.get().communicator().door(); },
          "Where processes ask this rank to join, \"HOST:PORT\"; \"\" over MPI.")
      .def_prop_ro(
          "elements", [](const BoundOptimizer& of) { return of.get().layout().elements(); },
          "Of the flat vector.")
      .def_prop_ro(
          "tensors", [](const BoundOptimizer& of) { return to_python(of.get().layout()); },
          "First and last + 1 element of each tensor, by name.")
      .def_prop_ro(
          "options",
          [](const BoundOptimizer& of) {
            // What is written into it would be lost.
            return nb::module_::import_("types").attr("MappingProxyType")(to_python(of.get().options()));
          },
          nb::for_getter(nb::sig("def options(self, /) -> types.MappingProxyType[str, object]")),
          "All options that it was made with, defaults included: to be read. What set() sets is not in it.")
      .def_prop_ro("groups", [](const BoundOptimizer& of) { return to_python(of.groups()); });
}

}  // namespace

void bind_optimizer(nb::module_& module) {
  Class optimizer(module, "Optimizer", class_text);
  optimizer.def(
      "__init__",
      [](BoundOptimizer* self, std::string_view name, const nb::object& tensors, const nb::object& comm,
         const nb::object& groups, int ranks_per_node, std::string_view gpu_aware,
         std::optional<std::int64_t> piece_bytes, double timeout_seconds, bool allow_alone,
         const nb::kwargs& options) {
        new (self)
            BoundOptimizer(name, tensors, comm, groups,
                           {ranks_per_node, gpu_aware, piece_bytes, timeout_seconds, allow_alone}, options);
      },
      "name"_a, "tensors"_a, "comm"_a = nb::none(), nb::kw_only(), "groups"_a = nb::tuple(),
      "ranks_per_node"_a = 1, "gpu_aware"_a = "auto", "piece_bytes"_a = nb::none(),
      "timeout_seconds"_a = ExchangeWords{}.timeout_seconds, "allow_alone"_a = false, "options"_a,
      "Collective over comm. ValueError on all ranks for what is wrong, or differs between ranks.");
  bind_training(optimizer);
  bind_checkpoints(optimizer);
  bind_knowledge(optimizer);
  optimizer.def(
      "close", &BoundOptimizer::close,
      "Gives everything back; nothing else can be called after it. Before MPI ends. Warns where ranks keep\n"
      "steps that flush() would deliver. Collective, and so is the end of an optimizer that was not closed.");
}

}  // namespace kadam::python
