"""Pictures that answer questions: one definition each, for pages, notebooks and papers."""
