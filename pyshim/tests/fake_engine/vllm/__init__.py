"""Not vLLM: a package with the names of its modules, and with objects of the shape that memshim serve
reads, for tests of the reader. What it computes is made up. FAKE_ENGINE chooses how it ends."""
