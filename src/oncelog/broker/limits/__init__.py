"""What requests and answers may take: memory, rates by quota, and how much a caller may create or delete."""
