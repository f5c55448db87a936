/* SPDX-FileCopyrightText: The Kadam authors */
/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Kadam for C, and for all languages that call C.
 *
 *   kadam_kokkos_initialize(0, &error);                  unless the program starts Kokkos itself
 *   kadam_setup* setup = kadam_setup_create("onebit_adam");
 *   kadam_setup_real(setup, "lr", 1e-3);
 *   kadam_setup_integer(setup, "warmup_steps", 500);
 *   kadam_setup_tensor(setup, "weights", 7840);
 *   kadam_optimizer* optimizer = NULL;
 *   if (kadam_create(setup, MPI_COMM_WORLD, &optimizer, &error) != KADAM_SUCCESS) puts(error.text);
 *   kadam_setup_destroy(setup);
 *   ...
 *   kadam_step(optimizer, parameters, gradient, NULL, &error);
 *   ...
 *   kadam_destroy(&optimizer, NULL);
 *
 * docs/configuration.md and docs/algorithms/ list the options and say what they mean. The library never
 * initialises MPI, initialises Kokkos only in kadam_kokkos_initialize(), prints nothing, ends no program and
 * keeps no state outside of the objects here, but for the table of algorithms, to which C++ programs can add.
 * Only one thread at a time may use an object.
 *
 * A function whose comment says "Collective" must be called by all ranks of the optimizer's communicator. If
 * such a call fails on one rank, the other ranks may wait for it as long as kadam_setup_timeout_seconds()
 * says, unless the comment says that it fails on all ranks.
 */
/* NOLINTBEGIN: this is C, and has its names */
#ifndef KADAM_H
#define KADAM_H

#include <kadam/config.hpp> /* macros alone */

#include <stdint.h>
#ifdef KADAM_ENABLE_MPI
#include <mpi.h>
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ---- errors ---- */

typedef enum kadam_status {
  KADAM_SUCCESS = 0,
  KADAM_INVALID_ARGUMENT = 1, /* an option, a size or a pointer is wrong, or ranks set different values */
  KADAM_NOT_READY = 2,    /* Kokkos does not run; from kadam_kokkos_initialize(): it was initialised before */
  KADAM_MPI_FAILURE = 3,  /* an MPI call failed, MPI does not run, or the communicator is MPI_COMM_NULL */
  KADAM_PEER_FAILURE = 4, /* another rank failed, and its own error says why, or did not answer in time */
  KADAM_FAILURE = 5, /* a file, a checkpoint or a state could not be written, read or used; other errors */
  KADAM_NO_CHECKPOINT = 6, /* kadam_load_newest(): the folder has no checkpoint */
  KADAM_OUT_OF_MEMORY = 7,
  KADAM_NOT_BUILT = 8,  /* this library was built without the feature */
  KADAM_NO_SNAPSHOT = 9 /* no snapshot is whole, or kadam_keep_snapshots() was not called */
} kadam_status;

enum { KADAM_ERROR_LENGTH = 1024 };

/* The status of a call and its reason in words. It is the last argument of most functions; every call fills
 * it in, a successful one with KADAM_SUCCESS and an empty text. NULL: the caller does not need it. */
typedef struct kadam_error {
  kadam_status status;
  char text[KADAM_ERROR_LENGTH]; /* the reason, with a zero at its end; longer texts are cut */
} kadam_error;

/* ---- library ---- */

/* Returns the version of the library, as in "0.2.0". */
const char* kadam_version(void);
/* Returns the name that Kokkos has for where kernels run: "OpenMP", "Cuda", "HIP", "Serial". */
const char* kadam_execution_space(void);

/* Initialises Kokkos, for a program that does not do so itself. Call it once, after MPI_Init.
 * threads: number of host threads of this rank; 0: as OMP_NUM_THREADS and Kokkos' own settings say. */
kadam_status kadam_kokkos_initialize(int threads, kadam_error* error);
/* Finalises Kokkos. Call it after the last kadam_destroy() and before MPI_Finalize. */
kadam_status kadam_kokkos_finalize(kadam_error* error);

/* ---- what to make ---- */

/* The description of an optimizer. The functions on a setup do not fail: the setup keeps the first mistake,
 * and kadam_create() reports it. */
typedef struct kadam_setup kadam_setup;

/* Makes a setup for the optimizer with this name, as in "onebit_adam". Returns NULL if memory ran out; all
 * other functions accept that NULL, and kadam_create() reports it. */
kadam_setup* kadam_setup_create(const char* optimizer);
/* Frees a setup. The optimizers made from it keep copies. */
void kadam_setup_destroy(kadam_setup* setup);

/* Set an option by its name; of several values for one option the last one counts. Where an option takes a
 * number of steps or "auto", set "auto" with kadam_setup_text(). Whole numbers and reals stand for each
 * other; any other value of a wrong type is a mistake. value of kadam_setup_flag(): 0 for off, else on.
 * kadam_setup_reals() copies the values. */
void kadam_setup_real(kadam_setup* setup, const char* option, double value);
void kadam_setup_integer(kadam_setup* setup, const char* option, int64_t value);
void kadam_setup_flag(kadam_setup* setup, const char* option, int value);
void kadam_setup_text(kadam_setup* setup, const char* option, const char* value);
void kadam_setup_reals(kadam_setup* setup, const char* option, int count, const double* values);

/* Appends a tensor with this number of elements, 0 or more, to the flat vector of parameters. Each tensor
 * needs a name of its own. */
void kadam_setup_tensor(kadam_setup* setup, const char* name, int64_t elements);
/* Appends a tensor with the extents shape[0] to shape[dimensions - 1], the last one varying fastest.
 * Optimizers that treat matrices in their own way see a matrix with shape[0] rows. spectral: 0 for embeddings
 * and output layers, which muon, local_muon and low_rank_muon leave to Adam; else 1. */
void kadam_setup_shaped_tensor(kadam_setup* setup, const char* name, int dimensions, const int64_t* shape,
                               int spectral);
/* Adds a parameter group: the tensors whose names match the pattern `tensors`, in which * stands for any
 * characters. A tensor belongs to the first group that it matches. lr_scale: factor on the learning rate.
 * weight_decay: that of the group; NAN: that of the optimizer. dense: if not 0, the tensors are never
 * compressed but exchanged as an exact mean. */
void kadam_setup_group(kadam_setup* setup, const char* tensors, double lr_scale, double weight_decay,
                       int dense);

typedef enum kadam_memory {
  KADAM_MEMORY_HOST = 0,  /* host memory; where kernels run on a device, every call copies there and back */
  KADAM_MEMORY_DEVICE = 1 /* memory of the execution space; nothing is copied */
} kadam_memory;
/* Sets the kind of memory that holds all arrays given to the optimizer. Default: KADAM_MEMORY_HOST. */
void kadam_setup_memory(kadam_setup* setup, kadam_memory memory);

/* Sets the levels of an exchange, the same on all ranks. ranks = 1, the default: one level. ranks = 0: two
 * levels; the ranks that share memory form a node. ranks > 1: two levels; this number of consecutive ranks
 * forms a node. In two levels the ranks of a node first exchange an exact mean, then nodes exchange
 * compressed: docs/two_levels.md. All nodes need the same number of ranks, else kadam_create() fails on all
 * ranks. After kadam_go_on(), kadam_admit() and kadam_join() there is one level. */
void kadam_setup_ranks_per_node(kadam_setup* setup, int ranks);
/* Says whether MPI takes device memory, the same on all ranks. word: "on"; "off": messages pass through host
 * memory; "auto", the default: what MPI says of itself. */
void kadam_setup_gpu_aware(kadam_setup* setup, const char* word);
/* Sets the length of the pieces that messages are cut into, about `bytes` bytes, the same on all ranks. 0,
 * the default: 61440 where kernels run on the host's processors, 4194304 where they run on a device. */
void kadam_setup_piece_bytes(kadam_setup* setup, int64_t bytes);
/* Sets how many seconds a call waits for other ranks while nothing comes or leaves. Then it fails with
 * KADAM_PEER_FAILURE and names the ranks that are missing. 0: it waits for ever. Default: 1800. Other ranks
 * also wait while a rank works between two calls, so that work has to take less. */
void kadam_setup_timeout_seconds(kadam_setup* setup, double seconds);
/* Sets what carries messages, the same on all ranks. word: "mpi", the default; or "tcp": TCP connections that
 * Kadam makes itself, for which MPI only brings the ranks together. With "tcp" kadam_go_on() works with every
 * MPI, and processes can join. kadam_create() then waits for at most 60 seconds until all ranks have
 * connected, and else fails with KADAM_FAILURE. Other ranks must reach this one at its host's only address,
 * or name. The connections are neither encrypted nor authenticated. */
void kadam_setup_wire(kadam_setup* setup, const char* word);
/* value = 1: lets one rank train alone. value = 0, the default: kadam_create() fails with
 * KADAM_INVALID_ARGUMENT where MPI_COMM_WORLD has a single rank and the launcher has started several tasks,
 * each of which would train alone. */
void kadam_setup_allow_alone(kadam_setup* setup, int value);

/* ---- an optimizer ---- */

typedef struct kadam_optimizer kadam_optimizer;

#ifdef KADAM_ENABLE_MPI
/* Makes an optimizer over the ranks of the communicator, of which it makes a duplicate. *optimizer: the new
 * optimizer; NULL if the call fails; an optimizer that it pointed to is not destroyed. kadam_create_fortran()
 * takes Fortran's handle of a communicator.
 *
 * Collective over the communicator. A mistake in the setup fails on all ranks, with KADAM_INVALID_ARGUMENT
 * where it is and with KADAM_PEER_FAILURE on the others; a difference between the setups of ranks with
 * KADAM_INVALID_ARGUMENT on all. An argument that is NULL, a null communicator, and MPI or Kokkos that does
 * not run fail on this rank alone. */
kadam_status kadam_create(const kadam_setup* setup, MPI_Comm communicator, kadam_optimizer** optimizer,
                          kadam_error* error);
kadam_status kadam_create_fortran(const kadam_setup* setup, MPI_Fint communicator,
                                  kadam_optimizer** optimizer, kadam_error* error);
#endif
/* Makes an optimizer of one rank, without MPI: to train alone, or to join other ranks by kadam_join(). */
kadam_status kadam_create_alone(const kadam_setup* setup, kadam_optimizer** optimizer, kadam_error* error);
/* Destroys the optimizer and sets *optimizer to NULL; does nothing if that is NULL already. Call it before
 * Kokkos and MPI end: after Kokkos it fails with KADAM_NOT_READY and leaves *optimizer as it is.
 * Collective. */
kadam_status kadam_destroy(kadam_optimizer** optimizer, kadam_error* error);

/* Sets the stream that kernels are launched on: a cudaStream_t or hipStream_t, which must exist until another
 * is set or the optimizer is destroyed. Default: the stream of Kokkos' default instance. Waits for the stream
 * used before. Fails with KADAM_NOT_BUILT where kernels run on the host. */
kadam_status kadam_set_stream(kadam_optimizer* optimizer, void* stream, kadam_error* error);

/* Formats of numbers. */
typedef enum kadam_format { KADAM_FLOAT32 = 0, KADAM_BFLOAT16 = 1, KADAM_FLOAT16 = 2 } kadam_format;
/* Returns the format that kadam_step() takes gradients in: the one that the option "gradients" names.
 * KADAM_FLOAT32 without an optimizer. */
kadam_format kadam_gradient_format(const kadam_optimizer* optimizer);
/* From now on every call that writes parameters, or `out` of kadam_consensus(), writes them to `model` as
 * well, rounded to 16 bits in this format: KADAM_BFLOAT16 or KADAM_FLOAT16. model: an array with as many
 * elements as the parameters, in the same kind of memory, which must exist until another is set or the
 * optimizer is destroyed. NULL: no model. This call writes nothing to it. In device memory call kadam_wait()
 * before you free the model used until then. */
kadam_status kadam_set_model(kadam_optimizer* optimizer, void* model, kadam_format format,
                             kadam_error* error);

typedef struct kadam_step_result {
  int64_t step; /* number of steps taken so far; a skipped step does not count */
  /* The kind of step: "dense", "warm-up", "compressed", ...; of a skipped step "dense". Valid for ever. */
  const char* phase;
  double learning_rate; /* of this step, before the factors lr_scale; a skipped step would have had it */
  /* Before clipping: root mean square of the ranks' gradient norms; of local_adam and local_muon, unless
   * nonfinite = "each_step", the norm of this rank's own gradient. */
  double gradient_norm;
  double gradient_scale; /* factor by which clipping multiplied the gradient; 1: not clipped */
  int32_t skipped;       /* 1: a gradient was NaN or infinite on some rank, and no rank changed anything */
  int32_t synchronised;  /* 1: parameters are equal on all ranks now; a skipped step leaves this as it was */
  uint32_t raised;       /* all bits given to kadam_raise() on any rank; the same on all ranks */
  /* In the last step of a round of local_adam and local_muon: number of steps of the round that ranks skipped
   * on their own because their gradient was NaN or infinite, summed over all ranks; plus 1 if all ranks
   * dropped the round because the steps of some rank did not stay finite. Else 0. The same on all ranks. Such
   * a step counts in `step`. */
  int64_t skipped_alone;
} kadam_step_result;

/* Takes one step: updates the parameters in place from this rank's own gradient, the mean over its own batch.
 * The gradient has the format of kadam_gradient_format(), which the call cannot check. Both arrays have as
 * many elements as all tensors together, and do not overlap. The parameters must be equal on all ranks before
 * the first step. From step 1, or from the end of the warm-up on, some algorithms only write the parameters
 * and do not read them, so that a change that the program makes to them is lost: zero_one_adam, local_adam,
 * local_muon, divisible_adam, locally_accumulated_adam with step_ahead > 0 and, on several ranks, loco with
 * parameters = "bf16". result may be NULL. Collective.
 *
 * Arrays in host memory may be used again when the call returns. Arrays in device memory may be used by work
 * that is enqueued on the stream afterwards; by other streams and the host after kadam_wait(). A NaN in a
 * gradient is not an error: see `skipped`. A step that refuses its arguments on one rank ends on all ranks,
 * as by kadam_give_up_step(). KADAM_INVALID_ARGUMENT on all ranks: they start from different parameters
 * (local_adam and local_muon by default compare at the first round), or have set different values.
 * KADAM_FAILURE on all ranks: the list "lr" has no entry for this step. */
kadam_status kadam_step(kadam_optimizer* optimizer, float* parameters, const void* gradient,
                        kadam_step_result* result, kadam_error* error);

/* Ends the step on all ranks; a rank that cannot take the step calls this instead of kadam_step(). On the
 * other ranks kadam_step() fails with KADAM_PEER_FAILURE; with local_adam and local_muon by default
 * (nonfinite = "round") only in the next round, which this call then waits for. Nothing can be exchanged
 * afterwards. */
kadam_status kadam_give_up_step(kadam_optimizer* optimizer, kadam_error* error);

/* Sets an option from the next step on: "lr" (for every step, in place of a schedule), "weight_decay" or
 * "clip_norm". All ranks must set the same before the same step; otherwise that step fails on all ranks with
 * KADAM_INVALID_ARGUMENT and changes nothing: set equal values and take it again. (With local_adam and
 * local_muon by default the next round fails, and only a checkpoint helps.) The value holds until it is set
 * again; checkpoints keep it. With zero_one_adam, local_adam and local_muon a new weight decay, and whatever
 * kadam_set_group() sets, holds only after the next synchronisation. KADAM_INVALID_ARGUMENT, with nothing
 * set: another option, a value below 0 or not finite, or one that the algorithm cannot work with. */
kadam_status kadam_set(kadam_optimizer* optimizer, const char* option, double value, kadam_error* error);
/* Sets lr_scale and weight_decay of a parameter group, both in each call, by the same rules. tensors: the
 * pattern that kadam_setup_group() was given. weight_decay: NAN for that of the optimizer.
 * KADAM_INVALID_ARGUMENT, with nothing set, also if no group has this pattern, or if a tensor would begin to
 * move or stop moving: an lr_scale of 0 must stay 0, and one above 0 above 0. To stop all tensors set "lr" to
 * 0; else make the optimizer anew. */
kadam_status kadam_set_group(kadam_optimizer* optimizer, const char* tensors, double lr_scale,
                             double weight_decay, kadam_error* error);

/* Says during the backward pass that elements [begin, end) of the next gradient are final and may be sent.
 * gradient: the beginning of the whole array; the next kadam_step() must be given the same, and until then
 * this rank must make no other collective call. In device memory they are final once the stream has done the
 * work that is enqueued on it now. Only a hint: it has no effect where kernels cannot reach the array. Waits
 * for no other rank. KADAM_INVALID_ARGUMENT: the range lies outside of the gradient, or an earlier call for
 * this step got another array. */
kadam_status kadam_gradient_ready(kadam_optimizer* optimizer, const void* gradient, int64_t begin,
                                  int64_t end, kadam_error* error);
/* Moves on messages that travel in the background, and waits for nothing. Call it every millisecond or so
 * while the gradient is computed. */
kadam_status kadam_progress(kadam_optimizer* optimizer, kadam_error* error);
/* Gives bits to all ranks: each finds them in `raised` of the result of the next step (with local_adam and
 * local_muon by default: of the last step of the round), so that all can stop after the same step. */
kadam_status kadam_raise(kadam_optimizer* optimizer, uint32_t bits, kadam_error* error);
/* Delivers exactly the local steps and residuals that ranks still hold back, and updates the parameters,
 * which are then equal on all ranks. Call it at the end of training. Collective. */
kadam_status kadam_flush(kadam_optimizer* optimizer, float* parameters, kadam_error* error);
/* Writes into `out` the parameters that kadam_flush() would leave, and does not change the state: for
 * evaluation in the middle of training. out: another array, with as many elements as the parameters.
 * Collective. */
kadam_status kadam_consensus(kadam_optimizer* optimizer, const float* parameters, float* out,
                             kadam_error* error);
/* Waits until the stream has done everything that was launched on it, and exchanges of devices inside a node
 * are done. Does not wait for other ranks' calls. KADAM_FAILURE: such an exchange has failed. */
kadam_status kadam_wait(kadam_optimizer* optimizer, kadam_error* error);

/* ---- checkpoints: docs/checkpoints.md ---- */

/* Saves in folder/step-... everything that is needed to go on to the last bit. keep: how many checkpoints
 * stay in the folder, the new one included; 0: all. Checkpoints of later steps in the folder are set aside,
 * under other names. words: a text that kadam_words() returns after the checkpoint was loaded; may be NULL.
 * All ranks must see the folder. Collective. Fails on all ranks, with KADAM_FAILURE where the fault is and
 * KADAM_PEER_FAILURE on the others, though no rank has ended; a NULL argument or keep < 0 fails on this rank
 * alone. The optimizer is then as before. */
kadam_status kadam_save(kadam_optimizer* optimizer, const float* parameters, const char* folder, int keep,
                        const char* words, kadam_error* error);
/* Restore the optimizer and write the parameters: from one checkpoint, the path folder/step-..., or from the
 * newest whole checkpoint in a folder. The number of ranks may differ from that of the run that saved it.
 * *step: number of steps taken; may be NULL. Collective. A NULL argument fails on this rank alone and changes
 * nothing. Otherwise the calls fail on all ranks, as kadam_save() does, kadam_load_newest() also if there are
 * checkpoints and none is whole; the optimizer must then be made anew, except after KADAM_NO_CHECKPOINT,
 * which changes nothing. */
kadam_status kadam_load(kadam_optimizer* optimizer, float* parameters, const char* checkpoint, int64_t* step,
                        kadam_error* error);
kadam_status kadam_load_newest(kadam_optimizer* optimizer, float* parameters, const char* folder,
                               int64_t* step, kadam_error* error);
/* Returns the words that were saved with the checkpoint or snapshot restored last, by kadam_load(),
 * kadam_load_newest(), kadam_go_on(), kadam_admit() or kadam_join(); "" if there are none. Valid until the
 * next of these calls, or kadam_destroy(). */
const char* kadam_words(const kadam_optimizer* optimizer);

/* ---- ranks that fail: docs/checkpoints.md ----
 *
 *   kadam_keep_snapshots(optimizer, parameters, 100, 1, NULL, &error);
 *   ...
 *   status = kadam_step(optimizer, parameters, gradient, &result, &error);
 *   if (status == KADAM_SUCCESS) status = kadam_after_step(optimizer, parameters, NULL, &error);
 *   if (status == KADAM_PEER_FAILURE) status = kadam_go_on(optimizer, parameters, &survivors, &error);
 */

/* Takes a snapshot of the state now, and lets kadam_after_step() take one whenever the number of steps taken
 * is a multiple of `every`. A snapshot lies in the memory of the ranks: each keeps its own part, and sends a
 * copy to another rank. spread: number of steps over which that copy travels, 1 to `every`. Both must be the
 * same on all ranks, which nobody checks; another call begins anew with its values. words: as in
 * kadam_save(). Collective. */
kadam_status kadam_keep_snapshots(kadam_optimizer* optimizer, const float* parameters, int64_t every,
                                  int64_t spread, const char* words, kadam_error* error);
/* Takes a snapshot if one is due, and sends the next pieces of one that travels; does nothing without
 * kadam_keep_snapshots(). Call it after every step. words: of a snapshot that this call takes. Collective. */
kadam_status kadam_after_step(kadam_optimizer* optimizer, const float* parameters, const char* words,
                              kadam_error* error);

/* The ranks and the step of an optimizer after kadam_go_on(), kadam_admit() or kadam_join(). */
typedef struct kadam_survivors {
  int64_t step;  /* number of steps that the optimizer has taken: training goes on with the next one */
  int32_t rank;  /* number of this rank now, from 0 */
  int32_t ranks; /* how many ranks there are now */
  int32_t lost;  /* how many of the ranks that took the snapshot are gone */
} kadam_survivors;

/* After KADAM_PEER_FAILURE: makes the optimizer anew for the ranks that are left, restores the newest whole
 * snapshot and writes the parameters. The program must then distribute its data anew. survivors may be NULL.
 *
 * Collective over the ranks that are left. KADAM_NO_SNAPSHOT, on all of them: no snapshot is whole; the
 * optimizer is made anew, without a state, which kadam_load_newest() can restore. Without
 * kadam_keep_snapshots() the call returns KADAM_NO_SNAPSHOT too, but does not make the optimizer anew.
 * KADAM_PEER_FAILURE: what carries messages survives no failure (see kadam_setup_wire()), or the others have
 * gone on without this rank. *survivors is written in every case but these two.
 *
 * Over TCP it waits for at most 60 seconds for ranks that do not answer: a rank that computes for longer is
 * left out. Over MPI it needs one that tolerates faults: Open MPI 5, under mpirun --with-ft ulfm.
 * kadam_measure_phases() is off afterwards.
 */
kadam_status kadam_go_on(kadam_optimizer* optimizer, float* parameters, kadam_survivors* survivors,
                         kadam_error* error);

/* ---- ranks that come: docs/checkpoints.md ----
 *
 * On ranks that are at work, over TCP and with snapshots:
 *   if (status == KADAM_SUCCESS && kadam_has_newcomers(optimizer))
 *     status = kadam_admit(optimizer, parameters, NULL, &ranks, &error);
 *
 * In a process that joins them, with a setup as theirs:
 *   status = kadam_create_alone(setup, &optimizer, &error);
 *   status = kadam_join(optimizer, parameters, doors, NULL, 100, 1, &ranks, &error);
 */

/* Returns the address at which processes ask this rank to join, "HOST:PORT"; "" over MPI. Valid until the
 * next call of kadam_door() with this optimizer, or kadam_destroy(). */
const char* kadam_door(kadam_optimizer* optimizer);
/* Returns 1 if a process had asked to join when the last snapshot became whole, else 0. The same on all
 * ranks. */
int kadam_has_newcomers(const kadam_optimizer* optimizer);
/* Takes in the processes that ask to join: takes a snapshot now, makes the optimizer anew for the present
 * ranks and, behind them, the newcomers, restores the snapshot, so that no step is lost, and writes the
 * parameters. The program must then distribute its data anew. If no process asks any more, everything stays
 * as it is. words: as in kadam_save(). ranks: may be NULL.
 *
 * Collective. KADAM_PEER_FAILURE: a rank has failed, as in a step; kadam_go_on() goes on. KADAM_NO_SNAPSHOT,
 * on this rank: kadam_keep_snapshots() was not called. */
kadam_status kadam_admit(kadam_optimizer* optimizer, float* parameters, const char* words,
                         kadam_survivors* ranks, kadam_error* error);
/* Joins ranks that train. A process that is not one of them yet calls it, with an optimizer made by
 * kadam_create_alone(). It waits until they call kadam_admit(), at most as long as
 * kadam_setup_timeout_seconds() says; then the optimizer is one of theirs, with their state, and `parameters`
 * holds theirs.
 *
 * doors: kadam_door() of some of the ranks, with spaces between them. host: name or address at which others
 * reach this process; NULL: Kadam finds it out. every, spread: as in their kadam_keep_snapshots(). ranks: may
 * be NULL.
 *
 * KADAM_INVALID_ARGUMENT: the setup differs from theirs; the text says in what. KADAM_FAILURE: none of the
 * ranks lets this process in in time, for 5 seconds none listens at any door, or this process cannot connect
 * to all of them. */
kadam_status kadam_join(kadam_optimizer* optimizer, float* parameters, const char* doors, const char* host,
                        int64_t every, int64_t spread, kadam_survivors* ranks, kadam_error* error);

/* ---- what can be known ---- */

typedef struct kadam_statistics {
  int64_t elements; /* of the flat vector of parameters */
  int64_t steps_taken;
  int64_t steps_skipped;
  uint64_t state_bytes; /* memory of this rank, without parameters and gradient, that a checkpoint saves */
  uint64_t workspace_bytes; /* memory of this rank for messages and partial results */
  /* Bytes that this rank has sent to other ranks: the sum of the next six. Snapshots do not count; the sums
   * begin again at 0 where kadam_go_on(), kadam_admit() or kadam_join() make the optimizer anew. */
  uint64_t sent_bytes;
  uint64_t sent_control_bytes;    /* what ranks agree on: norms, settings, bits of kadam_raise() */
  uint64_t sent_dense_bytes;      /* exact means */
  uint64_t sent_compressed_bytes; /* codes */
  uint64_t sent_sparse_bytes;     /* the largest entries */
  uint64_t sent_background_bytes; /* what travels while the program computes */
  uint64_t sent_node_bytes;       /* inside a node, in two levels */
  /* Seconds that the last step spent in each activity: norms and agreement; making messages; waiting for
   * them; reading them and updating. 0 unless kadam_measure_phases() turned that on. Read them before the
   * next kadam_gradient_ready() or kadam_progress(), which add to them. */
  double check_seconds;
  double encode_seconds;
  double exchange_seconds;
  double decode_seconds;
} kadam_statistics;

/* Writes the figures of this rank to *statistics. Not collective. */
kadam_status kadam_get_statistics(const kadam_optimizer* optimizer, kadam_statistics* statistics,
                                  kadam_error* error);
/* Turns the measurement of these seconds on (1) or off (0, the default). While it is on, every activity of a
 * step ends with a wait for the stream. */
kadam_status kadam_measure_phases(kadam_optimizer* optimizer, int on, kadam_error* error);

/* Figures that say whether compressed training goes well; docs/algorithms/README.md#health says which values
 * are good. NAN where an algorithm, or its present phase, has no such figure. */
typedef struct kadam_health {
  /* Norm of what compression still owes, divided by the norm of what the last exchange delivered. */
  double error_ratio;
  /* Mean square of the gradients now, divided by that at the time when the variance was frozen. */
  double variance_drift;
  /* Where each rank keeps a v of its own: the largest sum of v on a rank, divided by the smallest. */
  double variance_spread;
  /* Fraction of the coordinates sent in the last sparse exchange that several ranks sent: 0 to 1. */
  double support_overlap;
  /* Fraction of the seconds of background exchanges in which this rank computed; differs between ranks. */
  double background_hidden;
  /* Fraction of the coordinates that have no variance and are therefore not trained. */
  double inactive_fraction;
  /* Where a variance is frozen: the largest step of a coordinate, divided by its learning rate. */
  double largest_step;
  /* The tensor of that coordinate, counted from 0 in the order of the setup; -1: no such figure. */
  int64_t largest_step_tensor;
} kadam_health;

/* Writes the figures to *health. Reads the whole state: not for every step. Collective. */
kadam_status kadam_get_health(kadam_optimizer* optimizer, kadam_health* health, kadam_error* error);

#ifdef __cplusplus
}
#endif

#endif
/* NOLINTEND */
