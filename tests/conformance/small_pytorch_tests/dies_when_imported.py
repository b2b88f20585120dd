"""Ends the process that imports it, where there is a backend."""

import os

import torch

if torch._C._get_privateuse1_backend_name() != "privateuseone":
    os.abort()
