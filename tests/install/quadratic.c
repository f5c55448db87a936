/* SPDX-FileCopyrightText: The Kadam authors */
/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Minimises |x - 1|^2 by the C interface, on one rank, without MPI_Init. */
#include <kadam.h>
#include <math.h>
#include <stdio.h>

enum { elements = 1000 };

int main(void) {
  float x[elements] = {0}, gradient[elements];
  kadam_error error;
  kadam_optimizer* optimizer = NULL;
  if (kadam_kokkos_initialize(1, &error) != KADAM_SUCCESS) return 1;
  kadam_setup* setup = kadam_setup_create("adam");
  kadam_setup_real(setup, "lr", 0.1);
  kadam_setup_tensor(setup, "x", elements);
  kadam_status status = kadam_create_alone(setup, &optimizer, &error);
  kadam_setup_destroy(setup);
  for (int step = 0; step < 300 && status == KADAM_SUCCESS; ++step) {
    for (int i = 0; i < elements; ++i) gradient[i] = 2.0F * (x[i] - 1.0F);
    status = kadam_step(optimizer, x, gradient, NULL, &error);
  }
  if (status != KADAM_SUCCESS) fprintf(stderr, "%s\n", error.text);
  kadam_destroy(&optimizer, NULL);
  kadam_kokkos_finalize(NULL);
  printf("Kadam %s from C: x = %.4f\n", kadam_version(), (double)x[0]);
  return fabsf(x[0] - 1.0F) < 0.01F ? 0 : 1;
}
