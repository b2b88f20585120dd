// What every test builds on, before the first of them: answers that can be checked without touching
// memory. Where one is wrong no test runs, since all would fail, or crash, for that reason.
#pragma once

#include <gtest/gtest.h>

#include <string>

namespace outback::suite {

/// What is wrong with the answers that the runtime gives first, with the slot, the device and the
/// value; "" if nothing is.
std::string first_contact_problem();

class first_contact : public testing::Environment {
 public:
  void SetUp() override;
};

}  // namespace outback::suite
