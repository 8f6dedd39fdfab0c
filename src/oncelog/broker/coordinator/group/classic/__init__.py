"""Groups of the classic protocol: state, rules, protocol and answers."""
