// Runs a fuzz target without libFuzzer: all files of a folder, then random bytes for some seconds.
//   target FOLDER SECONDS SEED
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

int main(int count, char** arguments) {
  if (count != 4) return std::fprintf(stderr, "usage: %s FOLDER SECONDS SEED\n", arguments[0]), 2;
  std::vector<std::vector<uint8_t>> inputs{{}};
  for (const auto& entry : std::filesystem::directory_iterator(arguments[1])) {
    std::ifstream file(entry.path(), std::ios::binary);
    inputs.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  }
  for (const auto& input : inputs) LLVMFuzzerTestOneInput(input.data(), input.size());
  std::mt19937_64 random(std::strtoull(arguments[3], nullptr, 10));
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(std::atof(arguments[2]));
  size_t runs = inputs.size();
  for (; std::chrono::steady_clock::now() < end; ++runs) {
    std::vector<uint8_t> bytes =
        random() % 2 ? inputs[random() % inputs.size()] : std::vector<uint8_t>(random() % 2000);
    for (uint8_t& byte : bytes)
      if (random() % 4 == 0 || byte == 0) byte = static_cast<uint8_t>(random());
    LLVMFuzzerTestOneInput(bytes.data(), bytes.size());
  }
  std::fprintf(stderr, "Done %zu runs\n", runs);
}
