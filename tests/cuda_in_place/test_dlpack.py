"""Other libraries take a device with CUDA's kernels for CUDA's: kDLCUDA, with the twin's index."""


def test_a_tensor_is_exported_as_cuda_s_and_shares_its_memory(on_device):
    on_device("""
        from torch.utils.dlpack import DLDeviceType

        x = torch.arange(6.0).acme().view(2, 3)[:, 1:]
        assert x.__dlpack_device__() == (DLDeviceType.kDLCUDA, 0)
        for taken in (torch.from_dlpack(x), torch.from_dlpack(x.__dlpack__(stream=1))):
            assert taken.device == torch.device("cuda:0")
            assert (taken.shape, taken.stride()) == (x.shape, x.stride())
            assert taken.data_ptr() == x.data_ptr()
        taken.fill_(7)  # a fill that the stand-in makes
        back = torch.acme.from_cuda(taken)
        assert back.device == x.device and back.data_ptr() == x.data_ptr()
        # By its own name too: where torch.from_dlpack goes from device to device, it copies.
        ours = torch.from_dlpack(x.__dlpack__(dl_device=(DLDeviceType.kDLExtDev, 0)))
        assert ours.device == x.device and ours.data_ptr() == x.data_ptr()
        assert torch.from_dlpack(x, device="acme").device == x.device
        on_host = torch.from_dlpack(x, device="cpu")
        assert on_host.device.type == "cpu"
        del x, back, ours, on_host
        assert torch.cuda.memory_allocated() == 512  # of the allocator's least size
        del taken
        assert torch.cuda.memory_allocated() == 0
    """)


def test_the_consumer_s_stream_waits_as_for_torch_cuda(on_device, on_cuda):
    program = """
        import torch

        x = torch.ones(1000).to("{device}")
        consumer = torch.cuda.Stream()
        with torch.cuda.stream(torch.cuda.Stream()):
            y = x * 2
            capsule = y.__dlpack__(stream=consumer.cuda_stream)
            with torch.cuda.stream(consumer):
                torch.from_dlpack(capsule) * 3
    """
    ours = on_device(program.format(device="acme"))
    theirs = on_cuda(program.format(device="cuda"))
    assert ours.kernels == theirs.kernels
    assert [each.stream for each in ours.work] == [each.stream for each in theirs.work]


def test_what_a_capsule_cannot_say_is_refused_as_by_torch_cuda(on_device):
    on_device("""
        def refused(x, **more):
            try:
                x.__dlpack__(**more)
            except Exception as error:
                return type(error), str(error)

        for make in (
            lambda device: torch.ones(2, device=device, requires_grad=True),
            lambda device: torch.ones(2, dtype=torch.complex64, device=device).conj(),
            lambda device: torch.ones(2, 2, device="cpu").to_sparse().to(device),
        ):
            assert refused(make("acme")) == refused(make("cuda")) is not None
        x, y = torch.ones(2, device="acme"), torch.ones(2, device="cuda")
        assert refused(x, stream=2) == refused(y, stream=2) is not None
        assert refused(x, stream="x") == refused(y, stream="x") is not None
    """)
