"""The attack suite: what hostile neighbours and hard days do to members, clients and their files.

Each test plays somebody who means harm, or a machine that fails, and asserts that the others notice nothing:
members live and answer a good client within its usual time, their memory stays bounded, and their file
descriptors come back to their number. The test command runs a sample, ``make attack`` all of it (marker
``attack``). All traffic stays on loopback and Unix sockets, and every campaign has a number of blows and a
limit of time.

``wiretap`` is a proxy that reads and alters what goes through it, ``fort`` a cluster under attack with a good
client in it, ``frames`` makes what somebody might send.
"""
