"""Graphs, processes, equations. What a library refuses is tested too, so that it is noticed
when it no longer does."""

import pytest
import torch
from torch.nn import functional

from .comparing import agrees, trained


def ring(nodes=24):
    geometric = pytest.importorskip("torch_geometric")
    start = torch.arange(nodes)
    edges = torch.stack([torch.cat([start, start]), torch.cat([start + 1, start + 5]) % nodes])
    return geometric.data.Data(
        x=torch.randn(nodes, 8), edge_index=edges, y=torch.randint(3, (nodes,))
    )


@pytest.mark.parametrize("name", ["GCNConv", "GATv2Conv", "SAGEConv", "TransformerConv"])
def test_convolutions_of_geometric_train(name):
    nn = pytest.importorskip("torch_geometric.nn")

    def program(on):
        graph = ring().to(on)
        convolution = getattr(nn, name)
        model = nn.Sequential(
            "x, edges",
            [
                (convolution(8, 16), "x, edges -> x"),
                torch.nn.ReLU(),
                (convolution(16, 3), "x, edges -> x"),
            ],
        ).to(on)
        return trained(
            model, lambda m: functional.cross_entropy(m(graph.x, graph.edge_index), graph.y)
        )

    agrees(program)


def test_batches_of_geometric_train():
    nn = pytest.importorskip("torch_geometric.nn")
    loader = pytest.importorskip("torch_geometric.loader")

    def program(on):
        model = nn.GIN(8, 16, 2, 3).to(on)
        graphs = [ring(nodes) for nodes in (6, 9, 12, 15)]
        losses = []
        for batch in loader.DataLoader(graphs, batch_size=2):
            batch = batch.to(on)
            losses += trained(
                model,
                lambda m, batch=batch: (
                    nn.global_mean_pool(m(batch.x, batch.edge_index), batch.batch).square().mean()
                ),
            )
        return losses

    agrees(program)


def test_neighbours_of_geometric_need_their_library():
    loader = pytest.importorskip("torch_geometric.loader")
    with pytest.raises(ImportError, match="pyg-lib"):
        next(iter(loader.NeighborLoader(ring(), [2, 2], batch_size=4)))


def test_exact_process_of_gpytorch_trains():
    gpytorch = pytest.importorskip("gpytorch")

    class Process(gpytorch.models.ExactGP):
        def __init__(self, data, values, likelihood):
            super().__init__(data, values, likelihood)
            self.mean = gpytorch.means.ConstantMean()
            self.covariance = gpytorch.kernels.ScaleKernel(gpytorch.kernels.RBFKernel())

        def forward(self, data):
            return gpytorch.distributions.MultivariateNormal(self.mean(data), self.covariance(data))

    def program(on):
        data = torch.linspace(0, 1, 30).to(on)
        values = torch.sin(data * 6)
        likelihood = gpytorch.likelihoods.GaussianLikelihood().to(on)
        model = Process(data, values, likelihood).to(on)
        objective = gpytorch.mlls.ExactMarginalLogLikelihood(likelihood, model)
        losses = trained(model, lambda m: -objective(m(data), values))
        model.eval()
        likelihood.eval()
        with torch.no_grad():
            predicted = likelihood(model(torch.linspace(0, 1, 7).to(on)))
        return losses, predicted.mean, predicted.variance

    agrees(program, rtol=1e-3, atol=1e-4)


def test_variational_inference_of_pyro():
    pyro = pytest.importorskip("pyro")
    distributions = pyro.distributions

    def program(on):
        pyro.clear_param_store()
        data = (torch.randn(20) + 3).to(on)

        def model():
            zero, one = torch.zeros((), device=on), torch.ones((), device=on)
            mean = pyro.sample("mean", distributions.Normal(zero, 10 * one))
            spread = pyro.sample("spread", distributions.Gamma(2 * one, one))
            with pyro.plate("data", len(data)):
                pyro.sample("seen", distributions.Normal(mean, spread), obs=data)

        guide = pyro.infer.autoguide.AutoDelta(
            model,
            init_loc_fn=pyro.infer.autoguide.init_to_value(
                values={"mean": torch.ones((), device=on), "spread": torch.ones((), device=on)}
            ),
        )
        inference = pyro.infer.SVI(
            model, guide, pyro.optim.Adam({"lr": 0.05}), pyro.infer.Trace_ELBO()
        )
        losses = [inference.step() for _ in range(20)]
        return losses, guide()

    agrees(program)


def test_sampler_of_pyro():
    pyro = pytest.importorskip("pyro")
    one = torch.ones((), device="acme")
    data = (torch.randn(50) + 3).to("acme")

    def model():
        mean = pyro.sample("mean", pyro.distributions.Normal(0 * one, 10 * one))
        with pyro.plate("data", len(data)):
            pyro.sample("seen", pyro.distributions.Normal(mean, one), obs=data)

    pyro.set_rng_seed(0)
    chain = pyro.infer.MCMC(
        pyro.infer.NUTS(model), num_samples=100, warmup_steps=50, disable_progbar=True
    )
    chain.run()
    samples = chain.get_samples()["mean"]
    assert samples.device.type == "acme"
    assert abs(samples.mean() - data.mean()) < 0.1
    assert 0.07 < samples.std() < 0.25


def test_odes_of_torchdiffeq():
    torchdiffeq = pytest.importorskip("torchdiffeq")

    class Field(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = torch.nn.Linear(2, 2)

        def forward(self, t, y):
            return torch.tanh(self.inner(y)) * torch.cos(t)

    def program(on):
        field, start = Field().to(on), torch.randn(4, 2).to(on)
        times = torch.linspace(0, 1, 3).to(on)
        results = []
        for solve in (torchdiffeq.odeint, torchdiffeq.odeint_adjoint):
            for method in ("dopri5", "rk4", "implicit_adams"):
                path = solve(field, start, times, method=method)
                results.append((path, torch.autograd.grad(path.sum(), list(field.parameters()))))
        return results

    agrees(program, rtol=1e-3, atol=1e-4)


def test_tensor_product_of_e3nn_trains():
    o3 = pytest.importorskip("e3nn.o3")

    def program(on):
        entering, edges = o3.Irreps("4x0e + 2x1o"), o3.Irreps.spherical_harmonics(2)
        model = o3.FullyConnectedTensorProduct(entering, edges, "3x0e + 2x1o").to(on)
        data, places = entering.randn(5, -1).to(on), torch.randn(5, 3).to(on)
        harmonics = o3.spherical_harmonics(edges, places, True)
        losses = trained(model, lambda m: m(data, harmonics).square().mean())
        return losses, harmonics

    agrees(program)


def test_rotations_of_e3nn_stay_on_the_cpu():
    o3 = pytest.importorskip("e3nn.o3")
    with pytest.raises(RuntimeError, match="same device"):
        o3.wigner_D(1, *torch.rand(3).to("acme"))
