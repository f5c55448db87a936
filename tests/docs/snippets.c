/* SPDX-FileCopyrightText: The Kadam authors */
/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What pages show in C, in a program that does what they say. */
#include <kadam.h>

#include <math.h>
#include <stdio.h>

enum { elements = 1000 };

static kadam_optimizer* make_adam(void) {
  kadam_optimizer* optimizer = NULL;
  kadam_error error;
  kadam_setup* setup = kadam_setup_create("adam");
  kadam_setup_real(setup, "lr", 0.01);
  kadam_setup_tensor(setup, "weights", elements);
  if (kadam_create(setup, MPI_COMM_WORLD, &optimizer, &error) != KADAM_SUCCESS) fprintf(stderr, "%s\n", error.text);
  kadam_setup_destroy(setup);
  return optimizer;
}

static void take_step(kadam_optimizer* optimizer, float* parameters, const float* gradient) {
  kadam_error error;
  if (kadam_step(optimizer, parameters, gradient, NULL, &error) != KADAM_SUCCESS) fprintf(stderr, "%s\n", error.text);
}

int main(int argc, char** argv) {
  static float parameters[elements];
  static float gradient[elements];
  for (int i = 0; i < elements; ++i) gradient[i] = 3.0F;
  MPI_Init(&argc, &argv);
  int is_right = kadam_kokkos_initialize(1, NULL) == KADAM_SUCCESS;
  kadam_optimizer* optimizer = make_adam();
  take_step(optimizer, parameters, gradient);
  /* Adam's first step has the length of the learning rate, whatever the gradient is. */
  is_right = is_right && fabsf(parameters[elements - 1] + 0.01F) < 1e-6F;
  kadam_destroy(&optimizer, NULL);
  kadam_kokkos_finalize(NULL);
  MPI_Finalize();
  return is_right ? 0 : 1;
}
