"""The dashboard: pages rendered by the server, their JSON twins, and what keeps strangers out.

Shield   headers on every answer, the Host check, cross-origin writes refused    outermost, whatever happens inside
  Gate   a session cookie or a bearer token                                      before any route
    Litestar   one function of the stations, shown                               pages and JSON
"""
