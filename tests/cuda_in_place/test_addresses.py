"""Which words of a kernel's parameters are addresses."""

import families
from stand_in import Work, differences, parameter_types, pointers, table


def kernel(name: str, addresses: str, grid: str = "1x1x1") -> Work:
    return Work.of(f"kernel\tnow\t0\t0\t{grid}\t128x1x1\t0\t{name}\t{addresses}")


def test_the_types_of_parameters_are_read_from_a_kernels_name():
    lambdas = "f()::{lambda(float, g<int, 2>)#1}"
    assert parameter_types(f"void k<4, {lambdas}>(int, {lambdas}, std::array<char*, 2ul>)") == [
        "int",
        lambdas,
        "std::array<char*, 2ul>",
    ]
    assert parameter_types("triton_poi_fused_0") == []


def test_a_word_that_is_not_always_an_address_is_none():
    one, other = "void k<1>(Closure)", "void k<2>(Closure)"
    these = [kernel(one, "0.0=0:1+0 0.8=0:1+512"), kernel(other, "0.0=0:1+0")]
    those = [kernel(one, "0.0=0:1+0 0.8=0:1+9000"), kernel(other, "0.0=0:1+0")]
    assert differences(these, those) == []
    assert differences(these[:1], those[:1]) != []
    those[1] = kernel(other, "0.0=0:1+512")
    assert differences(these, those) == [f"1: {other}: 0.0: 0:1+0 and 0:1+512"]


def test_a_table_has_as_many_addresses_as_there_are_tensors():
    name = "void multi_tensor_apply_kernel<M<2>, F>(TensorListMetadata<2>, F)"
    real = "0.0=0:1+0 0.8=0:1+512 0.3584=0:1+1024 0.3592=0:1+1536"
    launch = kernel(name, f"{real} 0.16=0:1+4096", "2x1x1")
    assert table(launch) == ["0.0", "0.8", "0.3584", "0.3592"]
    assert differences([launch], [kernel(name, f"{real} 0.16=0:1+8192", "2x1x1")]) == []
    moved = real.replace("1536", "2048")
    assert differences([launch], [kernel(name, f"{moved} 0.16=0:1+4096", "2x1x1")]) != []
    less = real.replace(" 0.3592=0:1+1536", "")
    assert differences([launch], [kernel(name, less, "2x1x1")]) != []


def test_allocations_are_counted_where_they_are_named():
    work = [kernel("f", "0.0=0:7+8 1.0=0:3+0"), kernel("g", "0.0=0:3+16")]
    where = pointers(work)
    first, second = families.renumbered(work, where)
    assert first.addresses == {"0.0": "memory 1+8", "1.0": "memory 2+0"}
    assert second.addresses == {"0.0": "memory 2+16"}


def test_what_was_on_the_stack_names_no_allocation():
    work = [kernel("f", "0.0=0:7+8 0.16=0:2+0"), kernel("f", "0.0=0:3+0")]
    first, second = families.renumbered(work, pointers(work))
    assert first.addresses == {"0.0": "memory 1+8"}
    assert second.addresses == {"0.0": "memory 2+0"}
