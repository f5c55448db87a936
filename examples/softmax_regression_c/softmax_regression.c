/* SPDX-FileCopyrightText: The Kadam authors */
/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Softmax regression on Fashion-MNIST from C: every rank trains on its share of the images.
 *
 *   mpirun -n 4 softmax_regression [FOLDER [OPTIMIZER [CHECKPOINTS]]]
 *
 * FOLDER has the IDX files, compressed or not. With CHECKPOINTS the run is saved there half-way and at its
 * end, and goes on from the newest checkpoint that it finds. */
#include <mpi.h>
#include <zlib.h>

#include <kadam.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { pixels = 784, classes = 10, weights = pixels * classes, elements = weights + classes };
enum { batch = 32, steps = 600, held_out = 2000 };

static void require(int holds, const char* what) {
  if (holds) return;
  fprintf(stderr, "softmax_regression: %s\n", what);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

static void require_readable(int holds, const char* path) {
  if (holds) return;
  fprintf(stderr, "softmax_regression: %s: cannot be read, or is too short\n", path);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

static void succeed(kadam_status status, const kadam_error* error) {
  require(status == KADAM_SUCCESS, error->text);
}

/* ---- images: zlib reads compressed and plain files alike ---- */

typedef struct images {
  int count;
  unsigned char* pixel;
  unsigned char* label;
} images;

/* What is behind the header of an IDX file. */
static unsigned char* read_idx(const char* folder, const char* name, int header, size_t bytes) {
  char path[4096];
  snprintf(path, sizeof path, "%s/%s.gz", folder, name);
  gzFile file = gzopen(path, "rb");
  if (file == NULL) {
    snprintf(path, sizeof path, "%s/%s", folder, name);
    file = gzopen(path, "rb");
  }
  require_readable(file != NULL, path);
  unsigned char skipped[16];
  unsigned char* data = malloc(bytes);
  require(data != NULL, "out of memory");
  require_readable(gzread(file, skipped, (unsigned)header) == header, path);
  require_readable(gzread(file, data, (unsigned)bytes) == (int)bytes, path);
  gzclose(file);
  return data;
}

static images read_images(const char* folder, const char* prefix, int count) {
  char name[64];
  images set = {count, NULL, NULL};
  snprintf(name, sizeof name, "%s-images-idx3-ubyte", prefix);
  set.pixel = read_idx(folder, name, 16, (size_t)count * pixels);
  snprintf(name, sizeof name, "%s-labels-idx1-ubyte", prefix);
  set.label = read_idx(folder, name, 8, (size_t)count);
  return set;
}

static void free_images(images* set) {
  free(set->pixel);
  free(set->label);
}

/* ---- model: p = softmax(W x + b); W lies class by class ---- */

static void probabilities(const float* parameters, const unsigned char* pixel, float* p) {
  float largest = -INFINITY, sum = 0.0F;
  for (int c = 0; c < classes; ++c) {
    p[c] = parameters[weights + c];
    for (int i = 0; i < pixels; ++i) p[c] += parameters[c * pixels + i] * ((float)pixel[i] / 255.0F);
    largest = fmaxf(largest, p[c]);
  }
  for (int c = 0; c < classes; ++c) sum += p[c] = expf(p[c] - largest);
  for (int c = 0; c < classes; ++c) p[c] /= sum;
}

/* The mean loss of some images, and its gradient. */
static float loss_of(const float* parameters, const images* set, const int* chosen, int count,
                     float* gradient) {
  float loss = 0.0F, p[classes];
  memset(gradient, 0, elements * sizeof *gradient);
  for (int k = 0; k < count; ++k) {
    const unsigned char* pixel = set->pixel + (size_t)chosen[k] * pixels;
    const int label = set->label[chosen[k]];
    probabilities(parameters, pixel, p);
    loss -= logf(fmaxf(p[label], 1e-30F)) / (float)count;
    p[label] -= 1.0F;
    for (int c = 0; c < classes; ++c) {
      const float factor = p[c] / (float)count;
      gradient[weights + c] += factor;
      for (int i = 0; i < pixels; ++i) gradient[c * pixels + i] += factor * ((float)pixel[i] / 255.0F);
    }
  }
  return loss;
}

static float accuracy_of(const float* parameters, const images* set) {
  int right = 0;
  float p[classes];
  for (int k = 0; k < set->count; ++k) {
    int best = 0;
    probabilities(parameters, set->pixel + (size_t)k * pixels, p);
    for (int c = 1; c < classes; ++c)
      if (p[c] > p[best]) best = c;
    right += best == set->label[k];
  }
  return (float)right / (float)set->count;
}

/* The same images in step t on this rank in every run: there is no state to save. */
static void choose(int step, int rank, int ranks, int count, int* chosen) {
  unsigned long long state =
      1442695040888963407ULL + 6364136223846793005ULL * (unsigned long long)(step * ranks + rank);
  for (int k = 0; k < batch; ++k) {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    chosen[k] = (int)((state >> 33) % (unsigned long long)count);
  }
}

/* ---- optimizer ---- */

static kadam_optimizer* create(const char* name, int warm_up) {
  kadam_error error;
  kadam_optimizer* optimizer = NULL;
  kadam_setup* setup = kadam_setup_create(name);
  kadam_setup_real(setup, "lr", 2e-3);
  if (warm_up > 0) kadam_setup_integer(setup, "warmup_steps", warm_up);
  kadam_setup_tensor(setup, "weights", weights);
  kadam_setup_tensor(setup, "bias", classes);
  /* Ten numbers are not worth compressing. */
  kadam_setup_group(setup, "bias", 1.0, NAN, 1);
  succeed(kadam_create(setup, MPI_COMM_WORLD, &optimizer, &error), &error);
  kadam_setup_destroy(setup);
  return optimizer;
}

/* The steps that were taken already. */
static int go_on(kadam_optimizer* optimizer, float* parameters, const char* folder) {
  kadam_error error;
  int64_t step = 0;
  const kadam_status status = kadam_load_newest(optimizer, parameters, folder, &step, &error);
  if (status != KADAM_NO_CHECKPOINT) succeed(status, &error);
  return (int)step;
}

/* The steps that it took. */
static int train(kadam_optimizer* optimizer, float* parameters, const images* set, int rank, int ranks,
                 const char* checkpoints) {
  kadam_error error;
  kadam_step_result result;
  int chosen[batch];
  float* gradient = malloc(elements * sizeof *gradient);
  require(gradient != NULL, "out of memory");
  const int first = checkpoints ? go_on(optimizer, parameters, checkpoints) : 0;
  for (int step = first; step < steps; ++step) {
    choose(step, rank, ranks, set->count, chosen);
    float loss = loss_of(parameters, set, chosen, batch, gradient);
    succeed(kadam_step(optimizer, parameters, gradient, &result, &error), &error);
    if ((step + 1) % 100 == 0) {
      MPI_Allreduce(MPI_IN_PLACE, &loss, 1, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
      if (rank == 0)
        printf("step %3d  %-10s loss %.3f\n", step + 1, result.phase, (double)(loss / (float)ranks));
    }
    if (checkpoints && (step + 1) % (steps / 2) == 0)
      succeed(kadam_save(optimizer, parameters, checkpoints, 2, NULL, &error), &error);
  }
  succeed(kadam_flush(optimizer, parameters, &error), &error);
  free(gradient);
  return steps - first;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const char* folder = argc > 1 ? argv[1] : "/usr/share/datasets/fashion-mnist";
  const char* name = argc > 2 ? argv[2] : "onebit_adam";
  const int has_warm_up = strcmp(name, "onebit_adam") == 0 || strcmp(name, "apmsqueeze") == 0;

  kadam_error error;
  succeed(kadam_kokkos_initialize(0, &error), &error);
  images training = read_images(folder, "train", 20000), test = read_images(folder, "t10k", held_out);
  float* parameters = calloc(elements, sizeof *parameters);
  require(parameters != NULL, "out of memory");
  kadam_optimizer* optimizer = create(name, has_warm_up ? steps / 6 : 0);
  const int taken = train(optimizer, parameters, &training, rank, ranks, argc > 3 ? argv[3] : NULL);

  kadam_statistics statistics;
  succeed(kadam_get_statistics(optimizer, &statistics, &error), &error);
  if (rank == 0) {
    printf("%s on %d ranks: %.1f %% of %d held-out images are right\n", name, ranks,
           100.0 * (double)accuracy_of(parameters, &test), held_out);
    if (taken > 0) {
      printf("%.0f B sent per step; the gradient has %d B\n", (double)statistics.sent_bytes / taken,
             (int)(elements * sizeof(float)));
    }
  }
  succeed(kadam_destroy(&optimizer, &error), &error);
  free(parameters);
  free_images(&training);
  free_images(&test);
  succeed(kadam_kokkos_finalize(&error), &error);
  MPI_Finalize();
  return 0;
}
