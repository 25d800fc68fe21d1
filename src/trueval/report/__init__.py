"""What a person reads: tables for the terminal and for papers, and JSON for programs."""
