"""Control flow inside programs: `scan`, `while_loop`, `fori_loop`, `cond`, `switch`.

One folder per primitive, each with all its columns; the public functions are in the folders'
``__init__.py``. What the three share: `functions` traces a user's function into a body, `carry`
settles the types of carried values, `programs` rewires bodies without tracing them again.
"""
