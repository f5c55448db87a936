// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/c_api/guarded.hpp>
#include <kadam/c_api/optimizer.hpp>
#include <kadam/config.hpp>

#ifdef KADAM_ENABLE_CHECKPOINT
#include <kadam/checkpoint/checkpoint.hpp>
#endif

using kadam::c_api::Failure;
using kadam::c_api::guarded;
using kadam::c_api::required;
using kadam::c_api::usable;

#ifdef KADAM_ENABLE_CHECKPOINT

namespace {

constexpr const char* words_key = "words";

/// Restores by read(optimizer, parameters), which returns what it has restored; nothing if there is no
/// checkpoint.
template <class Read>
kadam_status load(const char* call, kadam_optimizer* optimizer, float* parameters, int64_t* step,
                  kadam_error* error, const Read& read) {
  return guarded(call, error, [&] {
    kadam_optimizer& of = usable(optimizer);
    const kadam::Parameters own = of.in(parameters);
    const std::optional<kadam::checkpoint::Restored> restored = read(of, own);
    if (!restored) throw Failure(KADAM_NO_CHECKPOINT, "there is no checkpoint in this folder");
    of.give_back(own, parameters);
    of.words = kadam::c_api::words_of(restored->program);
    if (step != nullptr) *step = restored->step;
  });
}

}  // namespace

namespace kadam::c_api {

checkpoint::ProgramState program_of(const char* words) {
  checkpoint::ProgramState program;
  if (words != nullptr) program[words_key] = words;
  return program;
}

std::string words_of(const checkpoint::ProgramState& program) {
  const auto words = program.find(words_key);
  return words == program.end() ? std::string() : words->second;
}

}  // namespace kadam::c_api

kadam_status kadam_save(kadam_optimizer* optimizer, const float* parameters, const char* folder, int keep,
                        const char* words, kadam_error* error) {
  return guarded(__func__, error, [&] {
    kadam_optimizer& of = usable(optimizer);
    const std::filesystem::path path = &required(folder, "the folder");
    if (keep < 0) {
      throw std::invalid_argument("kadam_save: expected to keep 0 (all) or more checkpoints, got " +
                                  std::to_string(keep));
    }
    // save() only reads them.
    const kadam::Parameters own = of.in(const_cast<float*>(parameters));
    kadam::checkpoint::save(of.exec, *of.optimizer, own.master(), path, kadam::c_api::program_of(words),
                            keep);
  });
}

kadam_status kadam_load(kadam_optimizer* optimizer, float* parameters, const char* checkpoint, int64_t* step,
                        kadam_error* error) {
  return load(__func__, optimizer, parameters, step, error,
              [&](kadam_optimizer& of, const kadam::Parameters& own) {
                return std::optional(kadam::checkpoint::restore(
                    of.exec, *of.optimizer, own, &required(checkpoint, "the path of the checkpoint")));
              });
}

kadam_status kadam_load_newest(kadam_optimizer* optimizer, float* parameters, const char* folder,
                               int64_t* step, kadam_error* error) {
  return load(__func__, optimizer, parameters, step, error,
              [&](kadam_optimizer& of, const kadam::Parameters& own) {
                return kadam::checkpoint::restore_newest(of.exec, *of.optimizer, own,
                                                         &required(folder, "the folder"));
              });
}

#else

kadam_status kadam_save(kadam_optimizer* /*optimizer*/, const float* /*parameters*/, const char* /*folder*/,
                        int /*keep*/, const char* /*words*/, kadam_error* error) {
  return kadam::c_api::without_checkpoints(__func__, error);
}

kadam_status kadam_load(kadam_optimizer* /*optimizer*/, float* /*parameters*/, const char* /*checkpoint*/,
                        int64_t* /*step*/, kadam_error* error) {
  return kadam::c_api::without_checkpoints(__func__, error);
}

kadam_status kadam_load_newest(kadam_optimizer* /*optimizer*/, float* /*parameters*/, const char* /*folder*/,
                               int64_t* /*step*/, kadam_error* error) {
  return kadam::c_api::without_checkpoints(__func__, error);
}

#endif

const char* kadam_words(const kadam_optimizer* optimizer) {
  return optimizer == nullptr ? "" : optimizer->words.c_str();
}
