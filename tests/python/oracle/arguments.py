"""The arguments that the calls are drawn from, as Python expressions."""

HERE = ["None", '"acme"', 'torch.device("acme")']
FIRST = ["0", '"acme:0"', 'torch.device("acme", 0)', "torch.device(0)"]
SECOND = ["1", '"acme:1"', 'torch.device("acme:1")', "torch.device(1)", "numpy.int64(1)"]
ELSEWHERE = [
    '"cpu"',
    '"cuda"',
    '"cuda:1"',
    '"meta"',
    'torch.device("cpu")',
    'torch.device("cuda", 1)',
]
NO_DEVICE = [
    '""',
    '"acme:"',
    '"acme:x"',
    '"acme:-1"',
    '"acme:01"',
    '"acme:1 "',
    '"acmes"',
    '"ACME"',
]
OUT_OF_RANGE = [
    "2",
    "99",
    "127",
    "128",
    "256",
    "300",
    "10**40",
    "-1",
    "-128",
    "-300",
    '"acme:2"',
    '"acme:127"',
    '"acme:128"',
    '"acme:256"',
    '"acme:99999999999999999999"',
    'torch.device("acme", 99)',
]
WRONG_TYPE = [
    "True",
    "False",
    "1.0",
    "[0]",
    "()",
    'b"acme"',
    "torch.float32",
    "torch.tensor([0, 1])",
    "numpy.float64(1)",
    "numpy.True_",
]
ODD = ["torch.tensor(1)", '"privateuseone:1"', '"acme:\\ud800"']

DEVICES = HERE + FIRST + SECOND
REFUSED = ELSEWHERE + NO_DEVICE + OUT_OF_RANGE + WRONG_TYPE + ODD

BOOLS = ["True", "False"]
NO_BOOLS = ["None", "0", "1", "[]", '"yes"', "numpy.True_", "torch.tensor(True)"]
