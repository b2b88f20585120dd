// The generator's state, its layout, and the numbers that a CPU kernel draws from it.
#include "backend_template/core/interfaces/generator.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <c10/util/Exception.h>

#include <array>
#include <cstring>

#include "tests/core/test_backend.h"

namespace outback::test {
namespace {

class GeneratorTest : public BackendTest {};

at::Generator fresh(int device, uint64_t seed) {
  at::Generator made = at::make_generator<core::generator>(static_cast<c10::DeviceIndex>(device));
  made.set_current_seed(seed);
  return made;
}

TEST_F(GeneratorTest, StateIsSeedThenOffset) {
  at::Generator generator = fresh(1, 42);
  generator.set_offset(8);
  const at::Tensor state = generator.get_state();
  ASSERT_EQ(state.numel(), 16);
  std::array<uint64_t, 2> words;
  std::memcpy(words.data(), state.const_data_ptr(), 16);
  EXPECT_EQ(words[0], 42u);
  EXPECT_EQ(words[1], 8u);
  at::Generator other = fresh(1, 1);
  other.set_state(state);
  EXPECT_EQ(other.current_seed(), 42u);
  EXPECT_EQ(other.get_offset(), 8u);
}

TEST_F(GeneratorTest, AStateOfTheWrongSizeOrOffsetIsRefused) {
  at::Generator generator = fresh(0, 3);
  EXPECT_THROW(generator.set_state(at::empty({17}, at::kByte)), c10::Error);
  EXPECT_THROW(generator.set_offset(2), c10::Error);
  EXPECT_EQ(generator.current_seed(), 3u);
}

TEST_F(GeneratorTest, AdvanceMovesInFours) {
  at::Generator generator = fresh(0, 3);
  auto* impl = at::check_generator<core::generator>(generator);
  EXPECT_EQ(impl->advance(1).offset, 0u);
  EXPECT_EQ(impl->advance(5).offset, 4u);
  EXPECT_EQ(impl->get_offset(), 12u);
}

TEST_F(GeneratorTest, ShadowsOfOnePositionAgreeAndNextOnesDiffer) {
  at::Generator first = fresh(0, 7);
  at::Generator second = fresh(0, 7);
  const uint64_t a = core::shadow_generator(first, 0).current_seed();
  EXPECT_EQ(core::shadow_generator(second, 0).current_seed(), a);
  EXPECT_NE(core::shadow_generator(first, 0).current_seed(), a);
  EXPECT_EQ(core::shadow_generator(first, 0).device(), at::Device(at::kCPU));
}

TEST_F(GeneratorTest, ACopyContinuesFromTheSamePlace) {
  at::Generator generator = fresh(1, 5);
  core::shadow_generator(generator, 1);
  at::Generator copy = generator.clone();
  EXPECT_EQ(copy.get_offset(), generator.get_offset());
  EXPECT_EQ(core::shadow_generator(copy, 1).current_seed(),
            core::shadow_generator(generator, 1).current_seed());
}

TEST_F(GeneratorTest, EachDeviceHasItsOwnDefault) {
  EXPECT_EQ(core::default_generator(1).device(), device(1));
  EXPECT_NE(core::default_generator(0), core::default_generator(1));
  EXPECT_THROW(core::default_generator(2), c10::AcceleratorError);
}

}  // namespace
}  // namespace outback::test
