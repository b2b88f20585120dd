"""Defects of backend_template/module: torch.<name>."""

from mutation.mutant import Mutant

MUTANTS = (
    Mutant(
        name="a_nested_context_goes_back_too_far",
        breaks="Leaving torch.acme.device(1) inside of itself goes back to where the outer one "
        "began.",
        file="backend_template/module/contexts.cpp",
        old="    core::set_device_unchecked(previous_.back());",
        new="    core::set_device_unchecked(previous_.front());",
        found_by="tests/python/test_device_module.py::"
        "test_the_context_restores_after_an_error_and_when_nested",
    ),
    Mutant(
        name="blocking_and_interprocess_are_swapped",
        breaks="Event(blocking=True) makes an event for other processes.",
        file="backend_template/module/event_type.cpp",
        old="                                     &enable_timing, &blocking, &interprocess, "
        "&external)) {",
        new="                                     &enable_timing, &interprocess, &blocking, "
        "&external)) {",
        found_by="tests/python/streams/test_events.py::test_the_arguments_come_in_torch_cudas_order",
    ),
    Mutant(
        name="every_state_goes_to_the_first_device",
        breaks="set_rng_state_all() gives the first device all states, one after another.",
        file="backend_template/module/_outback/random.py",
        old="        set_rng_state(state, device)",
        new="        set_rng_state(state, 0)",
        found_by="tests/python/random/test_random.py::test_all_states",
    ),
    Mutant(
        name="a_convolution_is_believed_contiguous",
        breaks="torch.compile refuses programs that convolve in channels_last.",
        file="backend_template/module/_outback/compile/__init__.py",
        old="    fake_tensors.register()\n",
        new="",
        found_by="tests/python/ops/test_fake_tensors.py::"
        "test_a_compiled_network_in_channels_last_trains",
    ),
    Mutant(
        name="the_earlier_seed_wins",
        breaks="Of manual_seed and manual_seed_all that wait for the start, the first one holds.",
        file="backend_template/module/_outback/lazy_calls.py",
        old="[*others, *seeds.values()]",
        new="[*others, *reversed(seeds.values())]",
        found_by="tests/python/module/test_lazy_calls.py::"
        "test_the_last_seed_of_each_kind_comes_last",
    ),
    Mutant(
        name="flex_attention_is_fused_with_what_follows",
        breaks="A compiled function fails if it uses the result of flex_attention.",
        file="backend_template/module/_outback/compile/in_place.py",
        old="        if isinstance(template, CppFlexAttentionTemplate):\n",
        new="        if template is None:\n",
        found_by="tests/python/compiled/test_flex_attention.py::test_it_is_compiled",
    ),
    Mutant(
        name="a_compiled_logsumexp_keeps_its_precision",
        breaks="The gradients of a compiled flex_attention in float64 are not numbers.",
        file="backend_template/module/_outback/compile/inductor_flex_attention.py",
        old="return result if result is None else lowering.to_dtype(result, fake.dtype)",
        new="return result",
        found_by="tests/python/compiled/test_flex_attention.py::test_it_is_compiled",
    ),
    Mutant(
        name="a_sent_tensor_forgets_its_gradient",
        breaks="A tensor that requires grad arrives in another process as one that does not.",
        file="backend_template/module/_outback/reducers.py",
        old="    return tensor.requires_grad_() if requires_grad else tensor",
        new="    return tensor",
        found_by="tests/python/ecosystem/test_multiprocessing.py::test_what_is_kept",
    ),
    Mutant(
        name="the_interpreter_ends_under_a_replay",
        breaks="A process that ends while a graph runs an operator in Python crashes.",
        file="backend_template/module/at_exit.cpp",
        old="  core::host_program::wait_for_all(std::chrono::steady_clock::now() + kForReplays);\n",
        new="",
        found_by="tests/python/graphs/test_gil.py::test_a_process_ends_after_its_replays",
    ),
    Mutant(
        name="the_interpreter_ends_under_a_group",
        breaks="A thread of Gloo's drops a tensor after the interpreter's end: std::terminate.",
        file="backend_template/distributed/bindings.cpp",
        old="    await_idle_threads(deadline);\n",
        new="",
        found_by="tests/python/distributed/test_endings.py::"
        "test_a_process_ends_after_its_threads_have_dropped_their_tensors",
    ),
    Mutant(
        name="what_raised_has_run",
        breaks="The race finder takes an operator that raised for one that used its tensors.",
        file="backend_template/module/_outback/sanitizer.py",
        old="        except BaseException:  # an operator that has not run has used nothing",
        new="        except RaceError:",
        found_by="tests/python/races/test_race_finder.py::"
        "test_an_operator_that_raised_has_used_nothing",
    ),
    Mutant(
        name="an_expanded_tensor_is_scattered",
        breaks="Ranks get what lies behind a number that stands for many: the derivative of a "
        "gather is wrong without a word.",
        file="backend_template/distributed/collectives.cpp",
        old="each.detach().contiguous()",
        new="each.detach()",
        found_by="tests/python/distributed/test_work.py::"
        "test_gradients_of_a_gather_may_be_expanded",
    ),
)
