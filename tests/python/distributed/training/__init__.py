"""Forms of distributed training. Each has to have the losses of one process that trains alone."""
