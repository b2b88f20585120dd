"""The command `outback wheel`: one wheel of a project for several releases of torch."""
