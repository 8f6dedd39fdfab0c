"""What commands share: options, output, properties, completion of names, signals, and what is said of waits."""
