/* SPDX-FileCopyrightText: The Kadam authors */
/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Kadam for C, and for all that calls C.
 *
 *   kadam_setup* setup = kadam_setup_create("onebit_adam");
 *   kadam_setup_real(setup, "lr", 1e-3);
 *   kadam_setup_tensor(setup, "weights", 7840);
 *   kadam_optimizer* optimizer = NULL;
 *   if (kadam_create(setup, MPI_COMM_WORLD, &optimizer, &error) != KADAM_SUCCESS) puts(error.text);
 *   kadam_setup_destroy(setup);
 *   ...
 *   kadam_step(optimizer, parameters, gradient, NULL, &error);
 *   ...
 *   kadam_destroy(&optimizer, NULL);
 *
 * What options exist and what they mean: docs/configuration.md, docs/algorithms/. The library initialises
 * neither MPI nor Kokkos, prints nothing, ends no program and keeps nothing outside of the objects here. An
 * object is used by one thread at a time. Functions with "collective" in their description are called by all
 * ranks of the optimizer's communicator; one that fails on a rank may leave others waiting, unless it says
 * that it fails on all.
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
  KADAM_INVALID_ARGUMENT = 1, /* an option, a size or a pointer is not what it has to be */
  KADAM_NOT_READY = 2,        /* Kokkos is not initialised, or not any more; to initialise it: it has been */
  KADAM_MPI_FAILURE = 3,      /* MPI refused a call */
  KADAM_PEER_FAILURE = 4,     /* another rank failed; the reason is there */
  KADAM_FAILURE = 5,          /* a file, a checkpoint or a state could not be written, read or used */
  KADAM_NO_CHECKPOINT = 6,    /* kadam_load_newest: there is none at all */
  KADAM_OUT_OF_MEMORY = 7,
  KADAM_NOT_BUILT = 8,  /* this library was built without it */
  KADAM_NO_SNAPSHOT = 9 /* kadam_go_on: none that is whole is left */
} kadam_status;

enum { KADAM_ERROR_LENGTH = 1024 };

/* What went wrong, in words: the last argument of most functions, filled in by every call. NULL if nobody
 * asks. */
typedef struct kadam_error {
  kadam_status status;
  char text[KADAM_ERROR_LENGTH]; /* ends with a zero; longer texts are cut */
} kadam_error;

/* ---- library ---- */

/* As "0.1.0". */
const char* kadam_version(void);
/* Where kernels run, as Kokkos names it: "OpenMP", "Cuda", "HIP", "Serial". */
const char* kadam_execution_space(void);

/* Kokkos, for programs that do not use it themselves: once, after MPI_Init, and before MPI_Finalize.
 * threads: of this rank; 0: as OMP_NUM_THREADS and Kokkos have it. */
kadam_status kadam_kokkos_initialize(int threads, kadam_error* error);
kadam_status kadam_kokkos_finalize(kadam_error* error);

/* ---- what to make ---- */

/* The description of an optimizer. These functions do not fail: kadam_create() says what is wrong with it. */
typedef struct kadam_setup kadam_setup;

/* NULL if memory ran out. All other functions accept that NULL; kadam_create() reports it. */
kadam_setup* kadam_setup_create(const char* optimizer);
void kadam_setup_destroy(kadam_setup* setup);

/* An option by name; the last value counts. Where a number of steps may be "auto", that is a text. */
void kadam_setup_real(kadam_setup* setup, const char* option, double value);
void kadam_setup_integer(kadam_setup* setup, const char* option, int64_t value);
void kadam_setup_flag(kadam_setup* setup, const char* option, int value);
void kadam_setup_text(kadam_setup* setup, const char* option, const char* value);
void kadam_setup_reals(kadam_setup* setup, const char* option, int count, const double* values);

/* The next tensor of the flat vector of parameters. */
void kadam_setup_tensor(kadam_setup* setup, const char* name, int64_t elements);
/* The same with its extents, the last one varying fastest: optimizers that treat matrices as such see
 * shape[0] rows. spectral: 0 for embeddings and output layers, which muon leaves to Adam; else 1. */
void kadam_setup_shaped_tensor(kadam_setup* setup, const char* name, int dimensions, const int64_t* shape,
                               int spectral);
/* Tensors whose names fit a pattern (* stands for any characters; the first group that fits counts) have
 * another learning rate and weight decay (NAN: the optimizer's), and are exchanged as an exact mean if dense
 * is not 0. */
void kadam_setup_group(kadam_setup* setup, const char* tensors, double lr_scale, double weight_decay,
                       int dense);

typedef enum kadam_memory {
  KADAM_MEMORY_HOST = 0,  /* where kernels run on a device, every call copies there and back */
  KADAM_MEMORY_DEVICE = 1 /* that of the execution space: nothing is copied */
} kadam_memory;
/* Where all arrays live that are given to the optimizer. Default: host. */
void kadam_setup_memory(kadam_setup* setup, kadam_memory memory);

/* How to exchange; the same on all ranks. ranks_per_node: 1, the default, is one level; 0 two levels with
 * those that share memory, or so many consecutive ranks in a node. gpu_aware: "auto", "on", "off".
 * piece_bytes: messages are cut into pieces of about this length; 0, the default: 61440 where kernels run on
 * the host's processors, 4194304 where they run on a device. */
void kadam_setup_ranks_per_node(kadam_setup* setup, int ranks);
void kadam_setup_gpu_aware(kadam_setup* setup, const char* word);
void kadam_setup_piece_bytes(kadam_setup* setup, int64_t bytes);
/* How long a call waits for other ranks while nothing comes or leaves; then it fails and names those that are
 * missing. 0: for ever. Default: 1800. */
void kadam_setup_timeout_seconds(kadam_setup* setup, double seconds);
/* "mpi", the default, or "tcp": messages travel by TCP connections of Kadam's own, and MPI only brings the
 * ranks together. Then kadam_go_on() works with every MPI. The same on all ranks. */
void kadam_setup_wire(kadam_setup* setup, const char* word);
/* 1: one rank is enough. Else kadam_create() fails where MPI has a single rank and the launcher has started
 * several tasks: each would train alone. */
void kadam_setup_allow_alone(kadam_setup* setup, int value);

/* ---- an optimizer ---- */

typedef struct kadam_optimizer kadam_optimizer;

#ifdef KADAM_ENABLE_MPI
/* Collective over the communicator, of which it keeps a duplicate. A setup that is wrong, or differs between
 * ranks, fails on all. kadam_create_fortran takes the communicator as Fortran has it. */
kadam_status kadam_create(const kadam_setup* setup, MPI_Comm communicator, kadam_optimizer** optimizer,
                          kadam_error* error);
kadam_status kadam_create_fortran(const kadam_setup* setup, MPI_Fint communicator,
                                  kadam_optimizer** optimizer, kadam_error* error);
#endif
/* On one rank, without MPI. */
kadam_status kadam_create_alone(const kadam_setup* setup, kadam_optimizer** optimizer, kadam_error* error);
/* Collective. Writes NULL; of NULL it does nothing. Before Kokkos and MPI end. */
kadam_status kadam_destroy(kadam_optimizer** optimizer, kadam_error* error);

/* The stream that kernels are launched on: a cudaStream_t or hipStream_t, that of the default instance unless
 * told. Fails where kernels run on the host. */
kadam_status kadam_set_stream(kadam_optimizer* optimizer, void* stream, kadam_error* error);

typedef enum kadam_format { KADAM_FLOAT32 = 0, KADAM_BFLOAT16 = 1, KADAM_FLOAT16 = 2 } kadam_format;
/* From now on every call that writes parameters writes them there as well, rounded to 16 bits. NULL: nowhere.
 */
kadam_status kadam_set_model(kadam_optimizer* optimizer, void* model, kadam_format format,
                             kadam_error* error);

typedef struct kadam_step_result {
  int64_t step;      /* steps taken so far; a skipped one does not count */
  const char* phase; /* "dense", "warm-up", "compressed", ...; valid for ever */
  double learning_rate;
  double gradient_norm;  /* root mean square of the ranks' gradient norms, before clipping */
  double gradient_scale; /* factor that clipping put on the gradient */
  int32_t skipped;       /* a gradient was NaN or infinite on some rank: nothing was changed anywhere */
  int32_t synchronised;  /* parameters are equal on all ranks now; a skipped step leaves this as it was */
  uint32_t raised;       /* bits given to kadam_raise() on any rank: the same on all */
  /* Steps that ranks have skipped each for itself since they last told each other, all ranks together: of
   * local_adam and local_muon. Such a step counts; the same on all ranks. */
  int64_t skipped_alone;
} kadam_step_result;

/* One step: parameters are updated from this rank's gradient, in the format that the option "gradients" names
 * (float unless told). Both have as many elements as all tensors together. Collective.
 *
 * Arrays in host memory are written when it returns; those in device memory when the stream has come there,
 * see kadam_wait(). result may be NULL. A NaN is no error: see skipped. */
kadam_status kadam_step(kadam_optimizer* optimizer, float* parameters, const void* gradient,
                        kadam_step_result* result, kadam_error* error);

/* Instead of kadam_step(), for a rank that cannot take it: ends the step on all ranks, whose call fails (of
 * local_adam and local_muon in the next round, which this call then waits for). Nothing can be exchanged
 * afterwards. What kadam_step() itself refuses, it ends so. */
kadam_status kadam_give_up_step(kadam_optimizer* optimizer, kadam_error* error);

/* Sets an option from the next step on: "lr" (of every step, in place of a schedule), "weight_decay" or
 * "clip_norm"; the same on all ranks before the same step, which fails on all otherwise (of local_adam and
 * local_muon the next round). It holds until it is set again; checkpoints keep it. */
kadam_status kadam_set(kadam_optimizer* optimizer, const char* option, double value, kadam_error* error);
/* The same of a parameter group, by the pattern that kadam_setup_group() was given. weight_decay: NAN for the
 * optimizer's. */
kadam_status kadam_set_group(kadam_optimizer* optimizer, const char* tensors, double lr_scale,
                             double weight_decay, kadam_error* error);

/* During the backward pass: elements [begin, end) of the next gradient are final and may be sent. Only a
 * hint, for arrays that kernels can reach; the next kadam_step() has to be given the same gradient. Waits for
 * no other rank. */
kadam_status kadam_gradient_ready(kadam_optimizer* optimizer, const void* gradient, int64_t begin,
                                  int64_t end, kadam_error* error);
/* Moves on what travels in the background; now and then during the computation of a gradient. */
kadam_status kadam_progress(kadam_optimizer* optimizer, kadam_error* error);
/* Bits that all ranks find in the result of the next step: so that all stop after the same one. */
kadam_status kadam_raise(kadam_optimizer* optimizer, uint32_t bits, kadam_error* error);
/* Delivers exactly what ranks hold back, local steps and residuals; parameters are then equal on all ranks.
 * At the end of training. Collective. */
kadam_status kadam_flush(kadam_optimizer* optimizer, float* parameters, kadam_error* error);
/* Writes the parameters that kadam_flush() would leave into out, and changes nothing else. Collective. */
kadam_status kadam_consensus(kadam_optimizer* optimizer, const float* parameters, float* out,
                             kadam_error* error);
/* Waits until the stream has done all that was launched. */
kadam_status kadam_wait(kadam_optimizer* optimizer, kadam_error* error);

/* ---- checkpoints: docs/checkpoints.md ---- */

/* Saves all that is needed to go on to the last bit, in folder/step-..., and keeps so many checkpoints (0:
 * all). words: of the program, to go on with; may be NULL. Collective, fails on all; then nothing has
 * changed. */
kadam_status kadam_save(kadam_optimizer* optimizer, const float* parameters, const char* folder, int keep,
                        const char* words, kadam_error* error);
/* Goes on from a checkpoint, or from the newest whole one in a folder, on any number of ranks. step may be
 * NULL. Collective, fails on all. After a failure the optimizer is to be made anew; KADAM_NO_CHECKPOINT
 * changed nothing. */
kadam_status kadam_load(kadam_optimizer* optimizer, float* parameters, const char* checkpoint, int64_t* step,
                        kadam_error* error);
kadam_status kadam_load_newest(kadam_optimizer* optimizer, float* parameters, const char* folder,
                               int64_t* step, kadam_error* error);
/* What was given to kadam_save(), after kadam_load() or kadam_load_newest(), or for the snapshot that
 * kadam_go_on(), kadam_admit() or kadam_join() has restored; else "". Valid until the next call of one of
 * them. */
const char* kadam_words(const kadam_optimizer* optimizer);

/* ---- ranks that fail: docs/checkpoints.md ----
 *
 *   kadam_keep_snapshots(optimizer, parameters, 100, 1, NULL, &error);
 *   ...
 *   status = kadam_step(optimizer, parameters, gradient, &result, &error);
 *   if (status == KADAM_SUCCESS) status = kadam_after_step(optimizer, parameters, NULL, &error);
 *   if (status == KADAM_PEER_FAILURE) status = kadam_go_on(optimizer, parameters, &survivors, &error);
 */

/* Takes a snapshot of the state into the memory of the ranks, now and every so many steps from now on. It
 * travels to the rank that keeps it over `spread` steps, 1 to `every`. words: as of kadam_save(). Collective.
 */
kadam_status kadam_keep_snapshots(kadam_optimizer* optimizer, const float* parameters, int64_t every,
                                  int64_t spread, const char* words, kadam_error* error);
/* To be called after every step: takes a snapshot when one is due, and moves on one that travels. Does
 * nothing without kadam_keep_snapshots(). Collective. */
kadam_status kadam_after_step(kadam_optimizer* optimizer, const float* parameters, const char* words,
                              kadam_error* error);

/* Who is there, and where they stand. */
typedef struct kadam_survivors {
  int64_t step; /* that the optimizer has taken: training goes on with the next */
  int32_t rank; /* this one, now */
  int32_t ranks;
  int32_t lost; /* ranks of the snapshot that are no more */
} kadam_survivors;

/* After KADAM_PEER_FAILURE: makes the optimizer anew for the ranks that are left, and goes on from the newest
 * snapshot that is whole. Data are to be dealt anew. survivors may be NULL.
 *
 * Collective over those who are left. KADAM_NO_SNAPSHOT, on all of them: the optimizer is made anew, and goes
 * on with kadam_load_newest(). KADAM_PEER_FAILURE: over this wire others cannot go on (kadam_setup_wire()),
 * or they have gone on without this rank. */
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

/* Where processes ask this rank to join, "HOST:PORT"; "" over MPI. Valid until the next call of it. */
const char* kadam_door(kadam_optimizer* optimizer);
/* 1: somebody had asked when the last snapshot was whole; else 0. The same on all ranks. */
int kadam_has_newcomers(const kadam_optimizer* optimizer);
/* Takes in those who ask: takes a snapshot now, makes the optimizer anew for these ranks and behind them the
 * newcomers, and restores it: no step is lost. Data are to be dealt anew. Where nobody is left who asks, all
 * is as before. words: as of kadam_save(). ranks, which may be NULL, says who is there now.
 *
 * Collective. KADAM_PEER_FAILURE: as after a step. */
kadam_status kadam_admit(kadam_optimizer* optimizer, float* parameters, const char* words,
                         kadam_survivors* ranks, kadam_error* error);
/* Of a process that is not one of the ranks yet: joins them when they next call kadam_admit(), and has their
 * parameters and state then. doors: kadam_door() of some of them, with spaces between; host: where others
 * reach this process, a name or an address, NULL: found out. every, spread: as theirs. Waits as
 * kadam_setup_timeout_seconds() says.
 *
 * KADAM_INVALID_ARGUMENT: the setup is not theirs, and the text says in what. KADAM_FAILURE: none of them
 * lets it in. */
kadam_status kadam_join(kadam_optimizer* optimizer, float* parameters, const char* doors, const char* host,
                        int64_t every, int64_t spread, kadam_survivors* ranks, kadam_error* error);

/* ---- what can be known ---- */

typedef struct kadam_statistics {
  int64_t elements;
  int64_t steps_taken;
  int64_t steps_skipped;
  uint64_t state_bytes;     /* held by this rank beside parameters and gradient: what a checkpoint saves */
  uint64_t workspace_bytes; /* messages and partial results, beside state_bytes */
  uint64_t sent_bytes;      /* by this rank to others, all in all; of this: */
  uint64_t sent_control_bytes;
  uint64_t sent_dense_bytes;
  uint64_t sent_compressed_bytes;
  uint64_t sent_sparse_bytes;
  uint64_t sent_background_bytes;
  uint64_t sent_node_bytes; /* inside a node, with two levels */
  /* Of the last step, if kadam_measure_phases() asked for it. */
  double check_seconds;
  double encode_seconds;
  double exchange_seconds;
  double decode_seconds;
} kadam_statistics;

kadam_status kadam_get_statistics(const kadam_optimizer* optimizer, kadam_statistics* statistics,
                                  kadam_error* error);
/* Waits for the stream after every phase if on is not 0. */
kadam_status kadam_measure_phases(kadam_optimizer* optimizer, int on, kadam_error* error);

/* NAN where an algorithm, or its present phase, has no such figure. docs/algorithms/ says what is good. */
typedef struct kadam_health {
  double error_ratio;     /* |what compression still owes| / |what the last exchange delivered| */
  double variance_drift;  /* mean square of the gradients now, over that when the variance was frozen */
  double variance_spread; /* largest over smallest sum of v among ranks, where each keeps its own */
  double support_overlap; /* of the coordinates that were sent last, those that several ranks sent: 0 to 1 */
  double background_hidden;    /* of background seconds, those in which this rank computed; differs by rank */
  double inactive_fraction;    /* of the coordinates: without variance, so not trained */
  double largest_step;         /* of a coordinate, over its learning rate, where a variance is frozen */
  int64_t largest_step_tensor; /* where that is: of the tensors, as they were added, from 0; -1 without one */
} kadam_health;

/* Reads the whole state: not for every step. Collective. */
kadam_status kadam_get_health(kadam_optimizer* optimizer, kadam_health* health, kadam_error* error);

#ifdef __cplusplus
}
#endif

#endif
/* NOLINTEND */
