"""Scalar functions: registry entries and kernels, one module per area."""
