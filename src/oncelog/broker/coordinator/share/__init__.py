"""Share groups at their coordinators (KIP-932): members and targets, and the stored state of share partitions."""
