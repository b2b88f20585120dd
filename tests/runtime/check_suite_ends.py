"""What the suite says and how it ends where it cannot go on, or has nothing to say.

Run by ctest with two suites as its arguments, on runtimes that are wrong as OUTBACK_TEST_FAULT says
and on one without groups; needs nothing but Python.
"""

import os
import signal
import subprocess
import sys
import time
import unittest

FAULTY, WITHOUT_GROUPS = sys.argv[1:3]
del sys.argv[1:]
FILL = "FillTest.ABigOne"  # one test that fills
WRONG = "the runtime is wrong: it "

# Of a fault, what is told of it: no test runs.
FIRST_ANSWERS = {
    "counts_below_zero": f"device_count: {WRONG}counted -3 devices",
    "counts_none": "device_count: 0 devices: that is a legal answer",
    "counts_too_many": "device_count: 200 devices: PyTorch can number 127",
    "counts_differently": f"device_count: {WRONG}counted 1 devices, and 2 before",
    "without_memory": f"device_info(device 1): {WRONG}made memory_size 0",
    "with_more_than_there_is": "made max_alloc_size 536870913: expected 1 to memory_size",
    "oddly_aligned": "made alignment 96: expected a power of two, at least 64",
    "barely_aligned": "made alignment 32: expected a power of two, at least 64",
    "with_kernels_out_of_reach": "expected OUTBACK_HOST_ADDRESSABLE among them",
    "with_an_endless_name": "left name without an end: expected a null character within 64 bytes",
    "with_a_latin_name": 'made name "Ger\\xe4t": expected UTF-8',
    "with_an_endless_pci_id": "left pci_id without an end",
    "says_nothing_of_count": f"device_count: {WRONG}answered ok and wrote nothing to *count",
    "says_nothing_of_info": f"device_info(device 0): {WRONG}answered ok and wrote nothing to *info",
    "says_nothing_of_error": f"last_error: {WRONG}answered null",
}
# Of a fault, what is told beside the test's name, and with which signal the process ends.
ENDS = {
    "dies_in_a_fill": ("SIGSEGV", -signal.SIGSEGV),
    "aborts_in_a_fill": ("SIGABRT", -signal.SIGABRT),
    "exits_in_a_fill": ("somebody called exit()", 1),
    "quits_in_a_fill": ("the process ended with status 0, by _exit() or as another program", 1),
    "becomes_another_program": ("the process ended with status 0, by _exit() or as another", 1),
    "hangs_in_a_fill": ("no end after 1 s, which is the limit: --time-limit", 1),
}


class SuiteEnds(unittest.TestCase):
    def run_suite(self, *options, fault="none", program=FAULTY, **environment):
        environment = {**os.environ, "OUTBACK_TEST_FAULT": fault, **environment}
        return subprocess.run(
            [program, *options],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=120,
        )

    def test_no_test_runs_after_a_first_answer_that_cannot_be(self):
        for fault, told in FIRST_ANSWERS.items():
            with self.subTest(fault):
                done = self.run_suite(fault=fault)
                self.assertIn(told, done.stdout)
                self.assertRegex(
                    done.stdout,
                    r"runtime suite: 0 passed, 0 unsupported, 0 failed, \d+ not run, since the "
                    r"first contact failed\n$",
                )
                self.assertNotIn("[       OK ]", done.stdout)
                self.assertEqual(done.returncode, 1)

    def test_memory_that_cannot_be_fails_the_test_and_not_the_process(self):
        for fault, told in {
            "says_nothing_of_memory": "answered ok and made *ptr null",
            "allocates_misaligned": "a multiple of 64, the alignment",
            "allocates_nowhere": "expected memory that the CPU reaches",
            "pins_too_little": "expected memory that the CPU reaches",
        }.items():
            with self.subTest(fault):
                tests = "CopyTest.*:MemoryTest.E*:DeviceTest.TheCpu*"
                if fault == "allocates_nowhere":  # whose other slots would believe it
                    tests = "DeviceTest.TheCpu*"
                if fault == "pins_too_little":
                    tests = "HostMemoryTest.*:ThreadTest.*:GraphTest.*:GrowthTest.OfPinned*"
                done = self.run_suite(f"--gtest_filter={tests}", fault=fault)
                self.assertIn(told, done.stdout)
                self.assertEqual(done.returncode, 1, done.stdout)

    def test_a_test_that_ends_the_process_is_named(self):
        for fault, (told, status) in ENDS.items():
            with self.subTest(fault):
                done = self.run_suite(f"--gtest_filter={FILL}", "--time-limit=1", fault=fault)
                self.assertIn(f"runtime suite: {FILL}: ", done.stdout)
                self.assertIn(told, done.stdout)
                self.assertNotEqual(done.returncode, 0)
                if "sanitizer" not in done.stdout.lower():  # which ends it in its own way
                    self.assertEqual(done.returncode, status)

    def test_a_failure_is_one_whatever_the_process_ends_with(self):
        done = self.run_suite(f"--gtest_filter={FILL}", fault="quits_when_all_is_over")
        self.assertIn("0 passed, 0 unsupported, 1 failed", done.stdout)
        self.assertIn("after the tests: the process ended with status 0, and the", done.stdout)
        self.assertEqual(done.returncode, 1)

    def test_a_signal_for_the_suite_is_one_for_its_tests(self):
        for number, said in (
            (signal.SIGTERM, f"{FILL}: the process dies of SIGTERM"),
            (signal.SIGKILL, ""),
        ):
            with self.subTest(number):
                suite = subprocess.Popen(
                    [FAULTY, f"--gtest_filter={FILL}"],
                    env={**os.environ, "OUTBACK_TEST_FAULT": "hangs_in_a_fill"},
                    stdout=subprocess.PIPE,
                    stderr=subprocess.STDOUT,
                    text=True,
                )
                suite.stdout.readline()  # it runs
                # The signal may come at any moment; mostly it meets the test that hangs.
                time.sleep(0.5)
                suite.send_signal(number)
                # At its end nobody has the pipe any more, the process of the tests neither.
                self.assertIn(said, suite.communicate(timeout=60)[0])
                self.assertEqual(suite.returncode, -number)

    def test_a_first_contact_that_ends_the_process_is_named(self):
        done = self.run_suite(fault="dies_of_its_properties")
        self.assertIn("the first contact: device_info(device 1): the process dies of", done.stdout)
        self.assertNotEqual(done.returncode, 0)

    def test_nothing_tested_is_no_success(self):
        done = self.run_suite("--gtest_filter=NoTest.*")
        self.assertIn("0 failed: no test has such a name, so nothing was tested\n", done.stdout)
        self.assertEqual(done.returncode, 1)
        done = self.run_suite("--gtest_filter=StreamTest.*", program=WITHOUT_GROUPS)
        self.assertRegex(done.stdout, r"0 passed, \d+ unsupported, 0 failed: nothing was tested")
        self.assertEqual(done.returncode, 4)

    def test_no_program_is_no_success(self):
        for given, environment in ((["--programs=0"], {}), ([], {"OUTBACK_SUITE_PROGRAMS": "0"})):
            done = self.run_suite("--gtest_filter=ProgramTest.*", *given, **environment)
            self.assertIn("--programs=0: expected a number above 0", done.stdout)
            self.assertEqual(done.returncode, 1)

    def test_what_the_runtime_has_not_got_is_told_in_a_few_lines(self):
        done = self.run_suite("--gtest_filter=S*:E*-ErrorTest.*", program=WITHOUT_GROUPS)
        self.assertRegex(done.stdout, r"\[  SKIPPED \] \d+ tests of what the runtime has not got")
        self.assertRegex(done.stdout, r"\n +needs streams: \d+ tests\n")
        self.assertRegex(done.stdout, r"\n +needs events: \d+ tests\n")
        self.assertLess(len(done.stdout.splitlines()), 12, done.stdout)
        listed = self.run_suite(
            "--gtest_filter=StreamTest.*", "--list-unsupported", program=WITHOUT_GROUPS
        )
        self.assertIn("[UNSUPPORTED] StreamTest.AnIdleStreamIsReady: needs streams", listed.stdout)

    def test_each_test_that_ran_says_how_many_there_are(self):
        done = self.run_suite("--gtest_filter=FillTest.*")
        self.assertRegex(done.stdout, r"\[       OK \] FillTest\.\w+ \(\d+ ms\), 2 of \d+\n")

    def test_statuses_have_their_names(self):
        # device -2 is taken for 0
        done = self.run_suite("--gtest_filter=ErrorTest.ADeviceBelow*", fault="takes_any_device")
        self.assertIn("OUTBACK_OK, expected OUTBACK_INVALID_ARGUMENT", done.stdout)

    def test_the_size_of_big_copies_can_be_chosen(self):
        done = self.run_suite("--size=64K", "--gtest_filter=CopyTest.*:ProgramTest.*:FillTest.*")
        self.assertEqual(done.returncode, 0, done.stdout)
        for wrong in ("--size=12", "--size=many", "--size="):
            refused = self.run_suite(wrong)
            self.assertIn(f"{wrong}: expected bytes, 4096 or more", refused.stdout)
            self.assertEqual(refused.returncode, 1)

    def test_what_basic_slots_do_is_tested_first(self):
        listed = self.run_suite("--gtest_list_tests")
        self.assertEqual(listed.returncode, 0)
        suites = [line for line in listed.stdout.splitlines() if not line.startswith(" ")]
        self.assertEqual(
            suites[:6],
            [f"{it}Test." for it in ("Device", "DeviceState", "Memory", "Copy", "Fill", "Error")],
        )


if __name__ == "__main__":
    unittest.main()
