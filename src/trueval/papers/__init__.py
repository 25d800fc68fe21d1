"""Published experiments on evaluation, rerun with the public building blocks of this library."""
