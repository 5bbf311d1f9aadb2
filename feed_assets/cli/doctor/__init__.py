"""`feed-assets doctor`: is everything as it should be, and if not, what to do. One file per concern.

Looks only: starts nothing, repairs nothing, needs no network but loopback, and works when the settings do not.
"""
