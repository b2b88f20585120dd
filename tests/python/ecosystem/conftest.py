"""Programs of several processes."""

import pytest

MAIN = """
import os, sys, warnings
import torch, torch_acme
import torch.multiprocessing as mp

sys.path.insert(0, FOLDER)  # a spawned process takes the path over
import worker

warnings.simplefilter("ignore")  # torch's, of sparse tensors
os.environ["PYTHONWARNINGS"] = "ignore"  # in the other processes
context = mp.get_context("spawn")
inbox, outbox = context.SimpleQueue(), context.SimpleQueue()

def start(target, *arguments):
    # A daemon ends with this process: what fails here is not waited for by one that waits for more.
    process = context.Process(target=target, args=arguments or (inbox, outbox), daemon=True)
    process.start()
    return process

def end(process):
    process.join()
    assert process.exitcode == 0, process.exitcode

"""


@pytest.fixture
def run_with_worker(run_python, tmp_path):
    """Runs source text, with the names of MAIN and a module `worker` of other source text, whose
    functions the program can spawn."""

    def run(worker: str, source: str):
        (tmp_path / "worker.py").write_text(worker)
        return run_python(f"FOLDER = {str(tmp_path)!r}\n{MAIN}{source}")

    return run
