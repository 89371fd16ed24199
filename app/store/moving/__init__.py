"""A whole store read and written row by row, whatever holds it: what `thinkledger copy` is made of.

`ends.held` reads one, `ends.opened` writes another; `filling` says what is done to that before and after its rows.
"""
