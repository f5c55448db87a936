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

name: one of kadam.optimizers(). tensors: a dict from names to numbers of elements or shapes, in the order in which
the tensors lie in one flat vector. comm: a communicator of mpi4py, which Kadam duplicates; a kadam.Ranks, over TCP;
None: one rank. groups: dicts with 'tensors' (a pattern of names, * stands for anything), 'lr_scale', 'weight_decay'
(None: the optimizer's) and 'dense'. ranks_per_node: 1 for one level; 0: two levels, a node is the ranks that share
memory; else two levels, with this number of ranks in a node. gpu_aware: whether MPI takes device memory ('auto', 'on',
'off'). piece_bytes: length of the pieces of messages; None: automatic. timeout_seconds: how long a call waits for other
ranks while nothing arrives or leaves; then it raises PeerFailure, a RuntimeError, and names the missing ranks; 0: for
ever. allow_alone: allows one rank where torchrun, mpirun or srun has started
several tasks; by default that is an error. All other arguments are options of the optimizer: kadam.options(name),
docs/configuration.md.

Arrays are those of NumPy, PyTorch, CuPy, JAX, or other objects with DLPack or a buffer: contiguous, with as many
elements as all tensors together, in the memory of the host or of the device that Kadam computes on. Parameters are
float32, and Kadam writes into them. Some calls take a model: a bfloat16 or float16 array, into which Kadam writes the
rounded parameters. An array on the host is complete when a call returns; for a device see wait().

Some calls take a stream, which they work on: one of PyTorch or CuPy, or its handle as a number. With
torch.cuda.current_stream() a call runs after the work that the program launched before, and before the work that it
launches next. None: a stream of Kadam's own; Kadam makes arrays ready for it, as DLPack says; see wait() before you
use them again. On a processor it is always None.

"Collective" means: all ranks call it. A mistake in making an optimizer, or in step(), is reported on all ranks; a
wrong array of one rank in another call leaves the other ranks waiting, for timeout_seconds.)";

void bind_training(Class& optimizer) {
  optimizer
      // A gradient that is None, as PyTorch has it before the first backward pass, gets a sentence as well.
      .def("step", &BoundOptimizer::step, "x"_a.none(), "gradient"_a.none(), "model"_a = nb::none(),
           nb::kw_only(), "stream"_a = nb::none(),
           nb::sig("def step(self, x: object, gradient: object, model: object | None = None, *, stream: "
                   "object | None = None) -> StepResult"),
           "Takes one step: updates x in place from this rank's gradient, which is the mean over its own\n"
           "batch, in the format of the option 'gradients' ('bf16' also as bits in uint16). A NaN is not an\n"
           "error: see skipped. Do not change x between steps: some algorithms only write it. Collective.")
      .def(
          "give_up_step", &BoundOptimizer::give_up_step,
          "Replaces step() on a rank that cannot take it: on the other ranks step() raises PeerFailure. "
          "With\n"
          "local_adam and local_muon by default the step of the next round does so, and this call waits for\n"
          "it. The ranks cannot exchange anything afterwards.")
      .def("leave_out", &BoundOptimizer::leave_out, "tensors"_a,
           "Says before step() that this rank has no gradient for these tensors (numbers from 0 on, in the\n"
           "order of tensors); their part of the gradient must be zeros. adam leaves tensors alone that all\n"
           "ranks name: no momentum, no decay, no count of the step. Other algorithms use the gradient 0.")
      .def(
          "set", &BoundOptimizer::set, "options"_a,
          "set(lr=0.001): sets lr (for every step, in place of a schedule), weight_decay or clip_norm from\n"
          "the next step on. All ranks must set the same value before the same step, else that step fails "
          "on\n"
          "all ranks (with local_adam and local_muon by default: the next round). The value holds until the\n"
          "next set(); checkpoints keep it. Raises ValueError, and sets nothing, for another option or "
          "value.")
      .def("set_group", &BoundOptimizer::set_group, "tensors"_a, nb::kw_only(), "lr_scale"_a = 1.0,
           "weight_decay"_a = nb::none(),
           "Sets lr_scale and weight_decay of a parameter group in the same way; tensors is its pattern. "
           "What\n"
           "you leave out becomes 1 and the optimizer's. Raises ValueError also for a pattern of no group, "
           "and\n"
           "for an lr_scale that becomes 0 or was 0.")
      .def(
          "gradient_ready", &BoundOptimizer::gradient_ready, "gradient"_a, "first"_a, "last"_a, nb::kw_only(),
          "stream"_a = nb::none(),
          "Says during the backward pass that elements first to last - 1 of the next gradient are final and\n"
          "may be sent. Pass the same gradient to the next step(). Does not wait for other ranks.")
      .def("progress", &BoundOptimizer::progress,
           "Moves background exchanges on; call it now and then while you compute a gradient.")
      .def("raise_bits", &BoundOptimizer::raise_bits, "bits"_a,
           "Raises bits that all ranks find in the result of the next step (with local_adam and local_muon "
           "by\n"
           "default: of the last step of the round), so that all stop after the same step.")
      .def("flush", &BoundOptimizer::flush, "x"_a, "model"_a = nb::none(), nb::kw_only(),
           "stream"_a = nb::none(),
           "Delivers the steps that ranks hold back between synchronisations; call it at the end of "
           "training.\n"
           "Collective.")
      .def("consensus", &BoundOptimizer::consensus, "x"_a, "out"_a, "model"_a = nb::none(), nb::kw_only(),
           "stream"_a = nb::none(),
           "Writes the parameters that flush() would leave into out, and changes nothing else: evaluate "
           "these\n"
           "during training. Collective.")
      .def("wait", &BoundOptimizer::wait,
           "Waits until the device has finished all work of Kadam, on Kadam's stream or the last one given,\n"
           "exchanges of devices inside a node included.");
}

void bind_checkpoints(Class& optimizer) {
  optimizer
      .def(
          "save", &BoundOptimizer::save, "x"_a, "folder"_a, "keep"_a = 2, "words"_a = BoundOptimizer::Words(),
          nb::kw_only(), "stream"_a = nb::none(),
          "Saves all that is needed to go on to the last bit, in folder/step-..., and keeps the newest "
          "`keep`\n"
          "checkpoints (0: all). words: texts of the program, which load() returns. Returns the new folder.\n"
          "Collective; raises RuntimeError on all ranks, but a wrong argument only here.")
      .def("load", &BoundOptimizer::load, "x"_a, "path"_a, "model"_a = nb::none(), nb::kw_only(),
           "stream"_a = nb::none(),
           "Goes on from a checkpoint, on any number of ranks; writes x. Collective; raises RuntimeError on "
           "all\n"
           "ranks, but a wrong argument only here. After a failure make a new optimizer.")
      .def("load_newest", &BoundOptimizer::load_newest, "x"_a, "folder"_a, "model"_a = nb::none(),
           nb::kw_only(), "stream"_a = nb::none(),
           "Goes on from the newest whole checkpoint in a folder; returns None if the folder has no "
           "checkpoint.\n"
           "Warns of each checkpoint that it passes over. Collective. Raises RuntimeError on all ranks if "
           "there\n"
           "are checkpoints and none is whole; then make a new optimizer.")
      .def("keep_snapshots", &BoundOptimizer::keep_snapshots, "x"_a, "every"_a = 100, "spread"_a = 1,
           "words"_a = BoundOptimizer::Words(), nb::kw_only(), "stream"_a = nb::none(),
           "Takes a snapshot of the state into the memory of the ranks, now and after every `every` steps: "
           "see\n"
           "after_step() and go_on(). A copy of this rank's part travels to another rank within `spread` "
           "steps.\n"
           "every, spread: the same on all ranks. Collective.")
      .def("after_step", &BoundOptimizer::after_step, "x"_a, "words"_a = BoundOptimizer::Words(),
           nb::kw_only(), "stream"_a = nb::none(),
           "Call it after every step: it takes a snapshot when one is due, and moves on one that travels.\n"
           "words: texts of the program, which go_on() returns. Does nothing without keep_snapshots().\n"
           "Collective.")
      .def("go_on", &BoundOptimizer::go_on, "x"_a, "model"_a = nb::none(), nb::kw_only(),
           "stream"_a = nb::none(),
           "Call it after a PeerFailure: it goes on from the newest whole snapshot, on the ranks that are "
           "left;\n"
           "writes x. Afterwards rank and size are new, so distribute the data again. Collective over the "
           "ranks\n"
           "that are left. Raises SnapshotLost on all of them if no snapshot is whole: then use "
           "load_newest();\n"
           "also if keep_snapshots() was not called. Raises PeerFailure over an MPI that does not tolerate\n"
           "faults, and where the others have gone on without this rank.")
      .def_prop_ro(
          "has_newcomers", &BoundOptimizer::has_newcomers,
          "Whether a process had asked to join when the last snapshot became whole: then call admit(). The\n"
          "same on all ranks.")
      .def(
          "admit", &BoundOptimizer::admit, "x"_a, "words"_a = BoundOptimizer::Words(), "model"_a = nb::none(),
          nb::kw_only(), "stream"_a = nb::none(),
          "Admits the processes that ask to join: makes the optimizer anew for the present ranks, followed "
          "by\n"
          "the newcomers, and goes on from the present step; writes x. Afterwards rank and size are new, so\n"
          "distribute the data again. Returns None if no process asks any more; then nothing changes.\n"
          "Collective.")
      .def(
          "join", &BoundOptimizer::join, "x"_a, "doors"_a, "every"_a = 100, "spread"_a = 1, "host"_a = "",
          "model"_a = nb::none(), nb::kw_only(), "stream"_a = nb::none(),
          "For an optimizer that was made with comm=None and otherwise like those of the working ranks: "
          "joins\n"
          "these ranks at their next admit(), and takes over their parameters and state; writes x. doors: "
          "the\n"
          "`door` of some of them. every, spread: as in their keep_snapshots(). host: an address at which "
          "the\n"
          "others reach this process; \"\": Kadam finds it out. Raises ValueError if this optimizer differs\n"
          "from theirs, RuntimeError if none of them admits it.")
      .def("state", &BoundOptimizer::state, "x"_a, nb::kw_only(), "stream"_a = nb::none(),
           nb::sig("def state(self, x: object, *, stream: object | None = None) -> tuple[dict[str, str], "
                   "dict[str, object]]"),
           "Returns all that this rank holds, x included: words, and vectors as arrays of bytes. Use it to "
           "go\n"
           "back some steps, or to keep states in your own files. Collective.")
      .def("set_state", &BoundOptimizer::set_state, "x"_a, "words"_a, "vectors"_a, "model"_a = nb::none(),
           nb::kw_only(), "stream"_a = nb::none(),
           "Goes on from state() to the last bit, on the same rank of the same number of ranks; writes x.\n"
           "Collective; raises RuntimeError on all ranks, but a wrong argument only here.");
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
          "Returns figures that say whether training goes well; None where there is no such figure.\n"
          "docs/algorithms says which values are good. Reads the whole state, so do not call it in every "
          "step.\n"
          "Collective.")
      .def("measure_phases", &BoundOptimizer::measure_phases, "on"_a,
           "Sets whether statistics have the seconds of the last step. If so, each phase waits for the "
           "device.")
      .def(
          "planned_bytes",
          [](const BoundOptimizer& of, std::int64_t step, std::string_view phase) {
            return of.get().bytes_sent_in(step, phase);
          },
          "step"_a, "phase"_a,
          "Returns the bytes that this rank sends in a step (1, 2 ...) of this phase, without control "
          "traffic.")
      .def_prop_ro("statistics", &BoundOptimizer::statistics,
                   "Steps, bytes in memory, bytes sent by kind, and seconds if they are measured.")
      .def_prop_ro(
          "sent_bytes", [](const BoundOptimizer& of) { return of.get().communicator().bytes_sent().total(); },
          "Bytes that this rank has sent to others in total.")
      .def_prop_ro("name", [](const BoundOptimizer& of) { return of.get().name(); })
      .def_prop_ro("rank", [](const BoundOptimizer& of) { return of.get().communicator().rank(); })
      .def_prop_ro(
          "size", [](const BoundOptimizer& of) { return of.get().communicator().size(); },
          "The number of ranks.")
      .def_prop_ro(
          "door", [](const BoundOptimizer& of) { return of.get().communicator().door(); },
          "The address at which processes ask this rank to join, \"HOST:PORT\"; \"\" over MPI.")
      .def_prop_ro(
          "elements", [](const BoundOptimizer& of) { return of.get().layout().elements(); },
          "The number of elements of the flat vector.")
      .def_prop_ro(
          "tensors", [](const BoundOptimizer& of) { return to_python(of.get().layout()); },
          "The first element of each tensor, and the one after its last, by name.")
      .def_prop_ro(
          "options",
          [](const BoundOptimizer& of) {
            // What is written into it would be lost.
            return nb::module_::import_("types").attr("MappingProxyType")(to_python(of.get().options()));
          },
          nb::for_getter(nb::sig("def options(self, /) -> types.MappingProxyType[str, object]")),
          "All options that the optimizer was made with, defaults included; read-only, and without the\n"
          "changes of set().")
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
      "Collective over comm. A wrong argument raises ValueError on its rank and PeerFailure on the others;\n"
      "arguments that differ between ranks raise ValueError on all.");
  bind_training(optimizer);
  bind_checkpoints(optimizer);
  bind_knowledge(optimizer);
  optimizer.def(
      "close", &BoundOptimizer::close,
      "Releases everything; do not call anything else after it. Call it before MPI ends. Warns if "
      "parameters\n"
      "differ between ranks because flush() was not called. Collective; so is the end of an optimizer that\n"
      "was not closed.");
}

}  // namespace kadam::python
