// A program that samples itself at every millisecond of processor time.
//
//     c++ -O2 -g -fno-omit-frame-pointer sampled.cc -o sampled
//     ./sampled samples.txt
//
// The handler of the timer's signal follows the frame pointers and stores addresses, which
// are written at the end together with the mappings in /proc. samples_to_trace.py converts
// them to a Fuchsia trace, which `gsym trace` symbolizes.

#include <signal.h>
#include <sys/time.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <string>
#include <unordered_map>
#include <vector>

namespace sampler {

constexpr int kMostFrames = 64;
constexpr int kMostSamples = 20000;
constexpr int kPeriodMicroseconds = 1000;
constexpr uintptr_t kStackSize = 8u << 20;

struct Sample {
  uint64_t nanoseconds;
  int count;
  uintptr_t frames[kMostFrames];
};

// Reserved in advance: a signal handler cannot allocate memory.
Sample samples[kMostSamples];
volatile int taken = 0;

void take(int, siginfo_t *, void *context) {
  if (taken == kMostSamples) return;
  const mcontext_t &machine = static_cast<ucontext_t *>(context)->uc_mcontext;
#if defined(__x86_64__)
  const uintptr_t pc = machine.gregs[REG_RIP], stack = machine.gregs[REG_RSP];
  uintptr_t frame = machine.gregs[REG_RBP];
#elif defined(__aarch64__)
  const uintptr_t pc = machine.pc, stack = machine.sp;
  uintptr_t frame = machine.regs[29];
#else
#error "the registers of this processor are not known here"
#endif
  Sample &sample = samples[taken];
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  sample.nanoseconds = uint64_t(now.tv_sec) * 1000000000 + uint64_t(now.tv_nsec);
  sample.frames[0] = pc;
  int count = 1;
  // Code without frame pointers uses the register otherwise: it must point up the stack.
  while (count < kMostFrames && frame % sizeof(uintptr_t) == 0 && frame >= stack &&
         frame - stack < kStackSize) {
    const uintptr_t *link = reinterpret_cast<const uintptr_t *>(frame);
    if (link[1] == 0) break;
    sample.frames[count++] = link[1];
    if (link[0] <= frame) break;
    frame = link[0];
  }
  sample.count = count;
  taken = taken + 1;
}

void start() {
  struct sigaction action = {};
  action.sa_sigaction = take;
  action.sa_flags = SA_SIGINFO | SA_RESTART;
  sigaction(SIGPROF, &action, nullptr);
  const timeval period = {0, kPeriodMicroseconds};
  const itimerval timer = {period, period};
  setitimer(ITIMER_PROF, &timer, nullptr);
}

bool stop(const char *path) {
  const itimerval none = {};
  setitimer(ITIMER_PROF, &none, nullptr);
  FILE *out = std::fopen(path, "w");
  FILE *maps = std::fopen("/proc/self/maps", "r");
  if (out == nullptr || maps == nullptr) {
    std::perror(out == nullptr ? path : "/proc/self/maps");
    return false;
  }
  std::fprintf(out, "process %d sampled\n", int(getpid()));
  for (int index = 0; index < taken; ++index) {
    const Sample &sample = samples[index];
    std::fprintf(out, "sample %llu", static_cast<unsigned long long>(sample.nanoseconds));
    for (int frame = 0; frame < sample.count; ++frame) {
      std::fprintf(out, " %#zx", size_t(sample.frames[frame]));
    }
    std::fputc('\n', out);
  }
  char line[4096];
  while (std::fgets(line, sizeof line, maps) != nullptr) std::fprintf(out, "map %s", line);
  std::fclose(maps);
  return std::fclose(out) == 0;
}

}  // namespace sampler

// Code to be sampled: inlined calls, recursion, templates, a library.

inline uint64_t mix(uint64_t value) {
  value ^= value >> 33;
  return value * 0xff51afd7ed558ccdULL;
}

__attribute__((noinline)) uint64_t hash_all(const std::vector<uint64_t> &values) {
  uint64_t sum = 0;
  for (int round = 0; round < 20; ++round) {
    for (uint64_t value : values) sum += mix(value + sum);
  }
  return sum;
}

__attribute__((noinline)) int fibonacci(int number) {
  return number < 2 ? number : fibonacci(number - 1) + fibonacci(number - 2);
}

template <typename Key>
__attribute__((noinline)) size_t count_words(const std::vector<Key> &words) {
  std::unordered_map<Key, int> counts;
  for (const Key &word : words) ++counts[word];
  return counts.size();
}

struct Work {
  std::vector<uint64_t> values;
  std::vector<std::string> words;

  __attribute__((noinline)) uint64_t run(int round) {
    std::sort(values.begin(), values.end(),
              [round](uint64_t a, uint64_t b) { return mix(a + round) < mix(b + round); });
    return hash_all(values) + uint64_t(fibonacci(26)) + count_words(words);
  }
};

int main(int argc, char **argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: %s FILE\n", argv[0]);
    return 2;
  }
  Work work;
  for (int index = 0; index < 20000; ++index) {
    work.values.push_back(mix(index));
    work.words.push_back("word " + std::to_string(mix(index) % 5000));
  }
  sampler::start();
  uint64_t sum = 0;
  for (int round = 0; round < 400; ++round) sum += work.run(round);
  if (!sampler::stop(argv[1])) return 1;
  std::printf("%d samples, sum %llx\n", sampler::taken, static_cast<unsigned long long>(sum));
  return 0;
}
