"""What the process group refuses before anything is sent: one process may do it alone."""

import pytest

pytestmark = pytest.mark.turns_on_memory


def test_refusals_name_the_operation_and_what_to_do(run_ranks):
    run_ranks(
        """
        import warnings
        warnings.simplefilter("ignore")

        def refused(call, *words):
            try:
                call()
            except (ValueError, RuntimeError) as error:
                for word in (f"of group default_pg (rank {rank} of 2)", *words):
                    assert word in str(error), (word, str(error))
            else:
                raise AssertionError(words)

        def of(*shape, **how):
            return torch.ones(*shape, device="acme:0", **how)

        other = torch.ones(2, device="acme:1")
        if rank == 0:
            refused(lambda: dist.all_gather([of(2), other], of(2)), "all_gather", "acme:1")
            refused(lambda: dist.all_gather([of(2), torch.ones(2)], of(2)), "acme:0 and cpu")
            refused(lambda: dist.all_reduce(other), "is on acme:1", "bound to acme:0", "device_id")
            refused(lambda: dist.send(of(4, 4)[:, ::2], 1), "send", "[4, 2]", "contiguous()")
            refused(lambda: dist.all_reduce(of(4, 4)[::2]), "contiguous()")
            refused(lambda: dist.all_gather([of(2, 3), of(2, 3)], of(3, 2).t()), "contiguous()")
            group = dist.group.WORLD._get_backend(torch.device("acme"))
            refused(lambda: group.broadcast(of(2, 2).to_sparse(), 0), "broadcast", "sparse")
            refused(lambda: dist.all_reduce(of(2, dtype=torch.int16)), "all_reduce", "Short")
            refused(lambda: dist.reduce(of(2), 0, op=dist.ReduceOp.BAND), "BAND", "integers")
            refused(
                lambda: dist.reduce_scatter_tensor(
                    of(1), of(2), op=dist._make_nccl_premul_sum(2.0)
                ),
                "PREMUL_SUM",
            )
            refused(lambda: dist.all_gather_into_tensor(of(3), of(2)), "3 elements", "have 4")
            refused(lambda: dist.reduce_scatter_tensor(of(2), of(5)), "5 elements", "have 4")
            def together():
                with dist._coalescing_manager():
                    dist.reduce_scatter_tensor(of(2), of(4))
                    dist.reduce_scatter_tensor(of(2), of(1))

            refused(together, "1 elements", "have 4")
            exchange = dist.all_to_all_single
            refused(lambda: exchange(of(5), of(5)), "5 rows", "each of 2 ranks")
            refused(lambda: exchange(of(4), of(4), [5, -1], [5, -1]), "a split size is -1")
            refused(lambda: exchange(of(4), of(4), [1, 1], [1, 1]), "2 together", "4 rows")
            refused(lambda: exchange(of(4), of(4), [4], [4]), "1 split sizes", "each of 2 ranks")
            refused(lambda: exchange(of(8, 3), of(4, 3)), "itself 6 elements", "receive 12")
            uneven = [1, 3], [3, 1]
            refused(lambda: exchange(of(4), of(4), *uneven), "itself 3 elements", "receive 1")
            # Gloo would wait for such a rank until the timeout.
            refused(lambda: dist.send(of(2), 9), "there is no rank 9", "0 to 1")
            refused(lambda: dist.recv(of(2), 2), "there is no rank 2", "0 to 1")
            for rooted in (dist.broadcast, dist.reduce):
                refused(lambda rooted=rooted: rooted(of(2), 7), "there is no rank 7")
            mixed = [of(2), of(2, dtype=torch.float64)]
            refused(lambda: group.allreduce_coalesced(mixed), "dtypes Float and Double")
        # Nothing was sent: the processes still agree on what comes next.
        x = of(2)
        dist.all_reduce(x)
        assert x.tolist() == [2, 2]
        """,
        group="device_id=torch.device('acme:0')",
    )


@pytest.mark.parametrize("dtype", ["float32", "int16", "complex64"])
def test_a_result_of_another_shape_is_refused(run_ranks, dtype):
    """As Gloo does, which compares the shapes: also where there are as many elements. Of
    reduce_scatter it prints its refusal too, which a test of ranks takes for a fault."""
    run_ranks(
        f"""
        def of(*shape):
            return torch.ones(shape, dtype=torch.{dtype}, device="acme")

        def refused(call):
            try:
                call()
            except dist.DistBackendError as error:
                assert "size" in str(error), error
            else:
                raise AssertionError

        refused(lambda: dist.all_gather([of(3, 2), of(3, 2)], of(2, 3)))
        refused(lambda: dist.all_gather([of(2, 3), of(6)], of(2, 3)))
        refused(lambda: dist.all_gather([of(1), of(1)], of()))
        refused(lambda: dist.all_to_all([of(6), of(6)], [of(2, 3), of(2, 3)]))
        if rank == 0:  # the root alone compares
            refused(lambda: dist.gather(of(2, 3), [of(3, 2), of(3, 2)], 0))
            refused(lambda: dist.scatter(of(2, 3), [of(3, 2), of(3, 2)], 0))
        """
    )


def test_a_stream_that_is_captured_is_refused(run_ranks, captures):
    run_ranks(
        """
        x = torch.ones(2, device="acme")
        dist.all_reduce(x)
        graph = torch.acme.CUDAGraph()
        try:
            with torch.acme.graph(graph):
                dist.all_reduce(x)
        except RuntimeError as error:
            assert "is captured for a graph" in str(error), error
        else:
            raise AssertionError
        dist.all_reduce(x)
        assert x.tolist() == [4, 4]
        """
    )
