"""What a program leaves behind that runs through the layers of its environment.

Run by ctest with the program as its argument; needs nothing but Python.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

PROGRAM = sys.argv.pop(1)
WORK = ["mem_alloc", "mem_fill", "mem_copy", "mem_free"]


class LayersProgram(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def run_program(self, how, code=0, **variables):
        variables = {f"OUTBACK_{name.upper()}": str(value) for name, value in variables.items()}
        ran = subprocess.run(
            [PROGRAM, how],
            env={**os.environ, **variables},
            capture_output=True,
            text=True,
            timeout=120,
        )
        if code is not None:
            self.assertEqual(ran.returncode, code, ran.stderr)
        return ran

    def chrome(self, how, code=0, **variables):
        path = self.folder / "calls.json"
        self.run_program(how, code, trace=path, **variables)
        return json.loads(path.read_text())

    def test_a_chrome_trace_has_one_event_for_each_call(self):
        events = self.chrome("plain")
        self.assertEqual([e["name"] for e in events], WORK)
        for event in events:
            self.assertEqual(event["ph"], "X")
            self.assertGreaterEqual(event["dur"], 0)
            self.assertEqual(event["args"]["status"], "ok")
        alloc, fill, copy, free = events
        self.assertEqual(alloc["args"]["device"], 0)
        self.assertEqual(alloc["args"]["size"], 64)
        self.assertEqual(alloc["args"]["ptr"], free["args"]["ptr"])
        self.assertEqual(fill["args"]["stream"], "null")
        self.assertEqual((copy["args"]["dst_device"], copy["args"]["src_device"]), (-1, 0))
        self.assertEqual(len({e["tid"] for e in events}), 1)
        ends = [e["ts"] + e["dur"] for e in events]
        for end, following in zip(ends, events[1:], strict=False):
            self.assertLessEqual(end, following["ts"] + 0.002)

    def test_threads_are_told_apart_and_nothing_is_lost(self):
        events = self.chrome("threads")
        self.assertEqual(len(events), 4 + 3 * 500 * 4)
        counts = {}
        for event in events:
            counts[event["tid"]] = counts.get(event["tid"], 0) + 1
        self.assertEqual(sorted(counts.values()), [4, 2000, 2000, 2000])

    def test_strange_texts_are_escaped(self):
        [event] = self.chrome("strange")
        self.assertEqual(event["args"]["status"], "internal")
        self.assertEqual(event["args"]["error"], '"quoted" \\ \n\x01 café \ufffd')

    def test_a_trace_is_valid_after_an_abnormal_end(self):
        for how, code in (("abort", -6), ("kill", 9)):
            with self.subTest(how):
                events = self.chrome(how, code)
                self.assertEqual([e["name"] for e in events], [*WORK, "device_sync"])
                self.assertEqual(events[-1]["args"]["status"], "invalid_argument")
                self.assertIn("no device 77", events[-1]["args"]["error"])

    def test_calls_after_main_are_recorded(self):
        self.assertEqual([e["name"] for e in self.chrome("at_exit")], WORK * 2)

    def test_a_forked_child_has_a_trace_of_its_own(self):
        path = self.folder / "calls.json"
        child = int(self.run_program("fork", trace=path).stdout)
        self.assertEqual([e["name"] for e in json.loads(path.read_text())], [*WORK, "mem_alloc"])
        own = json.loads((self.folder / f"calls.{child}.json").read_text())
        self.assertEqual([e["name"] for e in own], ["device_count"])
        self.assertEqual(own[0]["pid"], child)

    def test_a_text_trace_has_one_line_for_each_call(self):
        path = self.folder / "calls.txt"
        self.run_program("kill", code=9, trace=path)
        head, *lines = path.read_text().splitlines()
        self.assertTrue(head.startswith("# "))
        address = "0x[0-9a-f]+"
        for line, want in zip(
            lines,
            [
                rf"mem_alloc\(device=0, size=64\) = ok \(ptr={address}\)",
                rf"mem_fill\(device=0, ptr={address}, size=64, pattern={address}, pattern_size=1, "
                r"stream=null\) = ok",
                rf"mem_copy\(dst={address}, dst_device=-1, src={address}, src_device=0, size=64, "
                r"stream=null\) = ok",
                rf"mem_free\(device=0, ptr={address}\) = ok",
                r"device_sync\(device=77\) = invalid_argument: there is no device 77: they are 0 "
                r"to 1",
            ],
            strict=True,
        ):
            self.assertRegex(line, rf"^\d+\.\d{{6}} \d+ {want}, \d+\.\d{{3}} us$")

    def test_a_text_trace_keeps_a_strange_text_in_one_line(self):
        path = self.folder / "calls.txt"
        self.run_program("strange", trace=path)
        [line] = path.read_bytes().splitlines()[1:]
        self.assertIn(b'"quoted" \\ \\x0a\\x01 caf\xc3\xa9 \\xff', line)

    def test_a_trace_may_go_where_nothing_is_rewritten(self):
        ran = self.run_program("plain", trace="/dev/stderr")
        self.assertEqual(len(re.findall(r" = ok", ran.stderr)), 4, ran.stderr)

    def test_a_trace_on_stderr_takes_nothing_away_and_a_child_writes_there_too(self):
        log = self.folder / "log"
        log.write_text("before\n")
        with log.open("a") as stderr:
            env = {**os.environ, "OUTBACK_TRACE": "/dev/stderr"}
            subprocess.run([PROGRAM, "fork"], env=env, stderr=stderr, check=True, timeout=120)
        text = log.read_text()
        self.assertTrue(text.startswith("before\n# outback trace"), text)
        self.assertEqual(len(re.findall(" device_count", text)), 1, text)
        self.assertEqual(len(re.findall(" mem_alloc", text)), 2, text)

    def test_a_forked_childs_trace_is_where_its_parents_is(self):
        env = {**os.environ, "OUTBACK_TRACE": "calls.json"}
        ran = subprocess.run(
            [PROGRAM, "fork elsewhere"],
            env=env,
            cwd=self.folder,
            stdout=subprocess.PIPE,
            text=True,
            check=True,
            timeout=120,
        )
        own = self.folder / f"calls.{int(ran.stdout)}.json"
        self.assertEqual([e["name"] for e in json.loads(own.read_text())], ["device_count"])

    def test_a_program_with_other_rights_than_its_user_reads_no_variable(self):
        if os.geteuid() != 0:
            self.skipTest("needs root, to give a program another user's rights")
        program = self.folder / "program"
        shutil.copy(PROGRAM, program)
        os.chown(program, 54321, 54321)
        program.chmod(0o4755)
        self.folder.chmod(0o777)  # so that a trace could be written there
        env = {**os.environ, "ASAN_OPTIONS": "detect_leaks=0"}
        ran = subprocess.run([program, "rights"], env=env, capture_output=True, text=True)
        if ran.stdout != "1\n":
            self.skipTest("needs a folder for temporary files that is mounted without nosuid")
        wanted = {"TRACE": str(self.folder / "calls.txt"), "VALIDATE": "1", "FAULTS": "what?"}
        for how in ("plain", "leak"):
            env |= {f"OUTBACK_{name}": value for name, value in wanted.items()}
            ran = subprocess.run([program, how], env=env, capture_output=True, text=True)
            self.assertEqual((ran.returncode, ran.stderr), (0, ""))
        self.assertEqual(os.listdir(self.folder), ["program"])

    def test_leaks_are_told_at_exit(self):
        ran = self.run_program("leak", validate=1)
        self.assertRegex(
            ran.stderr,
            r"^outback: never freed or destroyed:\n"
            r"  1 allocation of memory of device 1, 100 bytes:\n"
            r"    0x[0-9a-f]+, 100 bytes, object 2\n$",
        )

    def test_a_forked_child_does_not_tell_its_parents_leaks(self):
        self.assertEqual(self.run_program("fork", validate=1).stderr.count("never freed"), 1)

    def test_a_forked_child_ends_whatever_other_threads_did_at_the_fork(self):
        self.run_program("busy", validate=1)

    def test_nothing_is_told_where_nothing_leaks_or_nobody_asked(self):
        self.assertEqual(self.run_program("plain", validate=1).stderr, "")
        self.assertEqual(self.run_program("leak").stderr, "")

    def test_a_wrong_value_is_refused(self):
        ran = self.run_program("plain", code=3, faults="mem_aloc:1=internal")
        self.assertIn("refused: OUTBACK_FAULTS: ", ran.stderr)
        self.assertIn('"mem_aloc:1=internal", character 1', ran.stderr)

    def test_faults_of_the_environment_happen(self):
        events = self.chrome("plain", faults="mem_fill:1=out_of_memory")
        statuses = [e["args"]["status"] for e in events]
        self.assertEqual(statuses, ["ok", "out_of_memory", "ok", "ok"])
        text = "injected fault: mem_fill, call 1: out_of_memory"
        self.assertEqual(events[1]["args"]["error"], text)


if __name__ == "__main__":
    unittest.main()
