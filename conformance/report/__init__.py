"""What a run is told as: in the terminal, as JUnit's XML, as a page, as a badge."""
