"""How much of the machine the tests take."""

# Two programs at a time with one thread of torch each; more would wait for one another.
WORKERS = 2
ONE_THREAD = {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
# Most of the C++ tests' time is waiting, for work that is late on purpose.
CPP_WORKERS = 4 * WORKERS
