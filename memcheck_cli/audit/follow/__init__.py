"""Following a test file without running it: values, names, calls and statements, as far as they can be told."""
