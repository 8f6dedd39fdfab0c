"""Raw clients: sockets, frames and batches written by hand, so that oncelog's own codecs cannot hide their faults."""
