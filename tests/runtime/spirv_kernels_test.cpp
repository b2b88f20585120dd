// What the runtimes read of a SPIR-V module: names, kinds of parameters, and their sizes.
#include "backend_template/runtimes/spirv_kernels.hpp"

#include <gmock/gmock.h>

#include <cstring>

#include "outback/runtime_error.hpp"
#include "tests/fakes/level_zero/spirv_source.hpp"

namespace outback {
namespace {

using software_ze::parameter;
using testing::HasSubstr;
using sort = spirv_parameter::sort;

std::vector<spirv_kernel> read(const std::string& bytes) {
  return spirv_kernels(bytes.data(), bytes.size());
}

std::string problem(const std::string& bytes) {
  try {
    read(bytes);
  } catch (const invalid_argument& error) {
    return error.what();
  }
  return "";
}

void expect_parameters(const spirv_kernel& of, const std::vector<spirv_parameter>& expected) {
  ASSERT_EQ(of.parameters.size(), expected.size()) << of.name;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(of.parameters[i].is, expected[i].is) << of.name << ", parameter " << i;
    EXPECT_EQ(of.parameters[i].size, expected[i].size) << of.name << ", parameter " << i;
  }
}

class assembler {
 public:
  assembler& add(uint16_t code, const std::vector<uint32_t>& operands) {
    words_.push_back(uint32_t(1 + operands.size()) << 16 | code);
    words_.insert(words_.end(), operands.begin(), operands.end());
    return *this;
  }
  std::string bytes() const {
    return std::string(reinterpret_cast<const char*>(words_.data()), words_.size() * 4);
  }

 private:
  std::vector<uint32_t> words_ = {0x07230203, 0x00010200, 0, 100, 0};
};

TEST(SpirvKernelsTest, NamesAndParameters) {
  const auto kernels = read(software_ze::spirv_of(
      {{"", {}},
       {"four", {parameter::memory, parameter::number, parameter::pair, parameter::wide}},
       {"local memory", {parameter::number, parameter::local}}}));
  ASSERT_EQ(kernels.size(), 3u);
  EXPECT_EQ(kernels[0].name, "");
  EXPECT_EQ(kernels[1].name, "four");
  EXPECT_EQ(kernels[2].name, "local memory");
  expect_parameters(kernels[0], {});
  expect_parameters(kernels[1],
                    {{sort::memory, 8}, {sort::value, 4}, {sort::value, 16}, {sort::value, 8}});
  expect_parameters(kernels[2], {{sort::value, 4}, {sort::local, 0}});
}

TEST(SpirvKernelsTest, SizesOfTypes) {
  assembler module;
  module.add(14, {2, 2});        // OpMemoryModel
  module.add(15, {6, 50, 'k'});  // OpEntryPoint
  module.add(71, {9, 10});       // OpDecorate %9 CPacked
  module.add(21, {1, 8, 0});     // a char
  module.add(21, {2, 32, 0});    // an int
  module.add(22, {3, 64});       // a double
  module.add(23, {4, 2, 3});     // an int3
  module.add(43, {2, 5, 7});     // the constant 7
  module.add(28, {6, 3, 5});     // an array of 7 doubles
  module.add(30, {7, 1, 3, 1});  // a struct of char, double, char
  module.add(30, {8, 7, 6, 1});  // one of that, the array, a char
  module.add(30, {9, 1, 3, 1});  // char, double, char, packed
  module.add(32, {10, 7, 8});    // pointers to structs that are passed by value
  module.add(32, {11, 7, 9});
  module.add(4417, {12, 5});   // an untyped pointer to global memory
  module.add(32, {13, 0, 2});  // a pointer to constant memory
  module.add(26, {14});        // a sampler
  module.add(30, {15, 14});    // a struct that is not measured
  module.add(32, {16, 7, 15});
  module.add(33, {20, 30, 1, 2, 3, 4, 10, 11, 12, 13, 14, 16});
  module.add(54, {30, 50, 0, 20}).add(56, {});
  const auto kernels = read(module.bytes());
  ASSERT_EQ(kernels.size(), 1u);
  expect_parameters(kernels[0], {{sort::value, 1},
                                 {sort::value, 4},
                                 {sort::value, 8},
                                 {sort::value, 16},
                                 {sort::value, 24 + 56 + 8},
                                 {sort::value, 10},
                                 {sort::memory, 8},
                                 {sort::memory, 8},
                                 {sort::other, 0},
                                 {sort::value, 0}});
}

TEST(SpirvKernelsTest, WrongBytes) {
  EXPECT_THAT(problem(""), HasSubstr("0x07230203"));
  EXPECT_THAT(problem("\x07\x23\x02\x03 and more of it"), HasSubstr("byte order"));
  const std::string whole = software_ze::spirv_of({{"k", {parameter::number}}});
  EXPECT_EQ(problem(whole), "");
  for (std::size_t size = 4; size < whole.size(); ++size) {
    EXPECT_NE(problem(whole.substr(0, size)), "") << size << " of " << whole.size() << " bytes";
  }
  EXPECT_EQ(problem(assembler().add(14, {2, 2}).bytes()), "the SPIR-V module has no kernel");
  EXPECT_THAT(problem(assembler().add(14, {2, 2}).add(15, {6}).bytes()), HasSubstr("too short"));
  EXPECT_THAT(problem(assembler().bytes() + std::string(4, '\0')), HasSubstr("no length"));
}

// Nothing that is written over a module makes the reader read beyond it.
TEST(SpirvKernelsTest, AnyOtherWordIsReadOrRefused) {
  const std::string whole = software_ze::spirv_of({{"k", {parameter::pair, parameter::local}}});
  for (std::size_t at = 4; at < whole.size(); at += 4) {
    for (const uint32_t word : {0u, 1u, 0xffffu, 0x10000u, 0xffffffffu, 0x0002001eu, 0x7fff0021u}) {
      std::string changed = whole;
      std::memcpy(&changed[at], &word, sizeof(word));
      problem(changed);
    }
  }
}

}  // namespace
}  // namespace outback
