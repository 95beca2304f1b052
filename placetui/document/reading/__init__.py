"""From text to values with positions: the tree, what its scalars mean, and what is wrong with it."""
