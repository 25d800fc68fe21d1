"""Numbers, tables and pages as text: terminal, Markdown, LaTeX and HTML. Knows nothing of what the numbers mean."""
