"""The wire: one table of the API's operations, with the structs of their queries, bodies and answers.

Server, `workbell.Client`, agent program, OpenAPI page, reference and the dashboard's types come from it. A module holds
one resource: its structs, then its operations.
"""
