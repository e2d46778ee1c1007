"""Recordings of sensor arrays: reading them strictly, judging their health, finding them in data sets.

Private: import the public names from `unmixnet`.
"""
