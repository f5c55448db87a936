// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <launch/commands.hpp>

#include <algorithm>
#include <array>
#include <csignal>
#include <fcntl.h>
#include <filesystem>
#include <optional>
#include <spawn.h>
#include <string_view>
#include <sys/wait.h>
#include <system_error>
#include <thread>
#include <unistd.h>

extern "C" char** environ;  // NOLINT(readability-redundant-declaration): not every unistd.h has it

namespace kadam::launch {
namespace {

namespace fs = std::filesystem;

std::string beside_this_program(const std::string& name) {
  std::error_code none;
  const fs::path beside = fs::read_symlink("/proc/self/exe", none).parent_path() / name;
  return !none && fs::exists(beside, none) ? beside.string() : name;
}

/// For the exec functions: pointers to the texts, then a null.
std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

std::vector<std::string> environment_without_ranks() {
  constexpr std::array<std::string_view, 6> launchers = {"OMPI_", "PMIX_", "PMI_",
                                                         "PRTE_", "ORTE_", "MPICH_"};
  std::vector<std::string> variables;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string_view text = *variable;
    if (std::none_of(launchers.begin(), launchers.end(), [&](auto name) { return text.starts_with(name); }))
      variables.emplace_back(text);
  }
  return variables;
}

/// The process in a group of its own, without signals that this program blocks. fork() is not for ranks:
/// memory that a network card knows must not be copied.
std::optional<pid_t> start(std::vector<std::string> words) {
  words.front() = beside_this_program(words.front());
  std::vector<std::string> variables = environment_without_ranks();
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  for (const int stream : {STDOUT_FILENO, STDERR_FILENO})
    posix_spawn_file_actions_addopen(&files, stream, "/dev/null", O_WRONLY, 0);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t no_signals;
  sigemptyset(&no_signals);
  posix_spawnattr_setsigmask(&attributes, &no_signals);
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP);
  pid_t process = 0;
  const int error = posix_spawnp(&process, words.front().c_str(), &files, &attributes,
                                 pointers_to(words).data(), pointers_to(variables).data());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&files);
  return error == 0 ? std::optional(process) : std::nullopt;
}

}  // namespace

bool run_quietly(const std::vector<std::string>& words, std::chrono::milliseconds longest) {
  const std::optional<pid_t> process = start(words);
  if (!process) return false;
  const auto end = std::chrono::steady_clock::now() + longest;
  int status = 0;
  pid_t ended = 0;
  while ((ended = waitpid(*process, &status, WNOHANG)) == 0 && std::chrono::steady_clock::now() < end)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  if (ended == 0) {
    kill(-*process, SIGKILL);
    waitpid(*process, &status, 0);
  }
  return ended == *process && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

std::string shell_word(const std::string& text) {
  const std::string harmless = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=./:,@%";
  if (!text.empty() && text.find_first_not_of(harmless) == std::string::npos) return text;
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

}  // namespace kadam::launch
