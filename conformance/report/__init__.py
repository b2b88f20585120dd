"""What becomes of a document: the terminal, JUnit, a page of HTML, a badge."""
