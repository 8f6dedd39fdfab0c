"""Share groups at the partitions' leader (KIP-932): who has acquired which records, and the sessions of ShareFetch."""
