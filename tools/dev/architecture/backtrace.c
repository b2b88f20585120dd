// Writes the addresses of the calling thread's frames, innermost first, when a timer fires.
//
// backtrace_after() is called by ways_probe.py, which then makes the call whose way is wanted. The
// call is slow on purpose, so that the timer finds it in the middle.
#include <execinfo.h>
#include <signal.h>
#include <sys/time.h>
#include <unistd.h>

enum { max_frames = 256 };

static int to = -1;

static void write_frames(int number) {
  (void)number;
  void* frames[max_frames];
  const int count = backtrace(frames, max_frames);
  if (write(to, frames, (size_t)count * sizeof(void*)) < 0) _exit(1);
}

// 0, or -1 with errno. `file` stays the caller's, and takes one list of addresses.
int backtrace_after(int milliseconds, int file) {
  void* first[1];
  backtrace(first, 1);  // loads the unwinder, which no signal handler may
  to = file;
  const struct sigaction action = {.sa_handler = write_frames, .sa_flags = SA_RESTART};
  const struct itimerval when = {.it_value = {milliseconds / 1000, milliseconds % 1000 * 1000L}};
  return sigaction(SIGALRM, &action, 0) != 0 ? -1 : setitimer(ITIMER_REAL, &when, 0);
}
