"""`outback doctor`: what is here of all that a backend needs, what is wrong with it, what to do."""
