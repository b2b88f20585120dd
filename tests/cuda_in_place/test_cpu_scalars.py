"""The table of operators that take CPU tensors without dimensions is what torch.cuda says."""

from write_cpu_scalars import TABLE, table


def test_the_table_is_what_torch_cuda_says(family):
    assert TABLE.read_text() == table(family)


def test_the_table_knows_what_everybody_knows():
    lines = dict(line.split(": ") for line in TABLE.read_text().splitlines())
    assert lines["add.Tensor"] == "other self"
    assert lines["add_.Tensor"] == "-self other"
    assert lines["addmm.default"] == "-self"
