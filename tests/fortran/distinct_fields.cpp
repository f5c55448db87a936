// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cstddef>
#include <kadam.h>

/// The structs of kadam.h with 1, 2, 3 ... in their fields, by name, and their sizes: what Fortran has to
/// find in fields of the same names.
extern "C" {

void test_fill_statistics(kadam_statistics* of) {
  of->elements = 1;
  of->steps_taken = 2;
  of->steps_skipped = 3;
  of->state_bytes = 4;
  of->workspace_bytes = 5;
  of->sent_bytes = 6;
  of->sent_control_bytes = 7;
  of->sent_dense_bytes = 8;
  of->sent_compressed_bytes = 9;
  of->sent_sparse_bytes = 10;
  of->sent_background_bytes = 11;
  of->sent_node_bytes = 12;
  of->check_seconds = 13.0;
  of->encode_seconds = 14.0;
  of->exchange_seconds = 15.0;
  of->decode_seconds = 16.0;
}

void test_fill_health(kadam_health* of) {
  of->error_ratio = 1.0;
  of->variance_drift = 2.0;
  of->variance_spread = 3.0;
  of->support_overlap = 4.0;
  of->background_hidden = 5.0;
  of->inactive_fraction = 6.0;
  of->largest_step = 7.0;
  of->largest_step_tensor = 8;
}

void test_fill_survivors(kadam_survivors* of) {
  of->step = 1;
  of->rank = 2;
  of->ranks = 3;
  of->lost = 4;
}

void test_fill_result(kadam_step_result* of) {
  of->step = 1;
  of->phase = "two";
  of->learning_rate = 3.0;
  of->gradient_norm = 4.0;
  of->gradient_scale = 5.0;
  of->skipped = 6;
  of->synchronised = 7;
  of->raised = 8;
  of->skipped_alone = 9;
}

void test_fill_error(kadam_error* of) {
  of->status = KADAM_NO_CHECKPOINT;
  for (int i = 0; i < KADAM_ERROR_LENGTH; ++i) of->text[i] = 'x';
  of->text[KADAM_ERROR_LENGTH - 1] = '\0';
}

/// As mistake_in_structs() asks for them.
std::size_t test_size_of(int number) {
  const std::size_t sizes[] = {sizeof(kadam_statistics), sizeof(kadam_health), sizeof(kadam_step_result),
                               sizeof(kadam_error), sizeof(kadam_survivors)};
  return sizes[number - 1];
}

/// In the order of kadam.h, those of kadam_status first.
int test_constant(int number) {
  const int constants[] = {
      KADAM_SUCCESS,       KADAM_INVALID_ARGUMENT, KADAM_NOT_READY,     KADAM_MPI_FAILURE, KADAM_PEER_FAILURE,
      KADAM_FAILURE,       KADAM_NO_CHECKPOINT,    KADAM_OUT_OF_MEMORY, KADAM_NOT_BUILT,   KADAM_ERROR_LENGTH,
      KADAM_MEMORY_DEVICE, KADAM_BFLOAT16,         KADAM_FLOAT16,       KADAM_NO_SNAPSHOT};
  return constants[number - 1];
}
}
