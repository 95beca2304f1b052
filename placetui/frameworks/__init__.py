"""One package per RL framework, behind the protocol of `base`; everything else asks the `registry`."""
