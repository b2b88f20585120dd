"""Runs entries in processes of their own, so that whatever ends a process is a result.

`supervisor` (no torch) gives each `process` a `plan`: the entries that it is to run. In it `worker`
opens the plan's source, which knows what the entries are, and tells on a pipe what becomes of each.
Most are forks of `fork_server`, whose other end is `forked`. A *source* is a module with a function
`open(settings, without, say)`: PyTorch's samples are one, the suites of checks are another.
"""
