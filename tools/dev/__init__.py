"""What ./dev does, a concept a module. Standard library only: nothing is installed when it runs."""
